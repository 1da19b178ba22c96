// SPDX-License-Identifier: MIT
#include "worker/timing.h"

#include "common/stats.h"
#include "system/timer.h"

#define SAMPLE_NS    10000000u // a sample lasts at least 10 ms
#define SAMPLE_TICKS 1000u     // or so many steps of the clock
#define MOST_SAMPLES 1000      // of one request: more come only from one that does nothing

static bench_answer time_batch(bench_worker *w, void *state, int64_t batch, uint64_t *ns)
{
    uint64_t start = bench_now_ns();
    bench_answer answer = w->runner->run_batch(state, batch, w->reason);
    *ns = bench_now_ns() - start;
    return answer;
}

static uint64_t long_enough(const bench_worker *w)
{
    return SAMPLE_TICKS * w->tick_ns > SAMPLE_NS ? SAMPLE_TICKS * w->tick_ns : SAMPLE_NS;
}

// Double the batch until it lasts long enough for the clock and for the launch of one to drown.
static bench_answer find_batch(bench_worker *w, void *state, int64_t *batch)
{
    uint64_t enough = long_enough(w), ns = 0;
    bench_answer answer = BENCH_OK;
    for (*batch = 1; answer == BENCH_OK && *batch < BENCH_LONGEST_BATCH; *batch *= 2) {
        answer = time_batch(w, state, *batch, &ns);
        if (ns >= enough && answer == BENCH_OK) // once more: a hiccup must not end it
            answer = time_batch(w, state, *batch, &ns);
        if (ns >= enough)
            break;
    }
    return answer;
}

json_t *bench_worker_warm(bench_worker *w, json_t *request)
{
    json_t *reply = NULL;
    void *state = bench_worker_slot(w, request, &reply);
    if (!state)
        return reply;
    int64_t runs = json_integer_value(json_object_get(request, "runs")), batch = 1;
    uint64_t wanted = (uint64_t)json_integer_value(json_object_get(request, "ns"));
    uint64_t limit = (uint64_t)json_integer_value(json_object_get(request, "limit_ns"));
    uint64_t start = bench_now_ns(), ns = 0;
    uint64_t shortest = UINT64_MAX;
    // What is timed has to write its output itself: nothing of the verified run is left in it.
    bench_answer answer =
        json_is_true(json_object_get(request, "reset")) ? w->runner->reset(state, w->reason) : BENCH_OK;
    for (int64_t i = 0; i < runs && answer == BENCH_OK && (i == 0 || bench_now_ns() - start < limit); i++) {
        answer = time_batch(w, state, 1, &ns);
        shortest = ns < shortest ? ns : shortest;
    }
    // A single run that lasts long enough is a sample: nothing to search for.
    if (answer == BENCH_OK && (runs == 0 || shortest < long_enough(w)))
        answer = find_batch(w, state, &batch);
    double group[5], before = 0;
    bool settled = false;
    int in_group = 0;
    while (answer == BENCH_OK && bench_now_ns() - start < limit && !(settled && bench_now_ns() - start >= wanted)) {
        answer = time_batch(w, state, batch, &ns);
        group[in_group++] = (double)ns;
        if (in_group < 5)
            continue;
        double median = bench_median(group, 5);
        settled = before > 0 && median < 1.02 * before && before < 1.02 * median;
        before = median;
        in_group = 0;
    }
    reply = bench_worker_answer(answer, w->reason);
    json_object_set_new(reply, "batch", json_integer(batch));
    json_object_set_new(reply, "settled", json_boolean(settled));
    return reply;
}

json_t *bench_worker_sample(bench_worker *w, json_t *request)
{
    json_t *reply = NULL;
    void *state = bench_worker_slot(w, request, &reply);
    if (!state)
        return reply;
    int64_t batch = json_integer_value(json_object_get(request, "batch"));
    uint64_t wanted = (uint64_t)json_integer_value(json_object_get(request, "ns"));
    int64_t least = json_integer_value(json_object_get(request, "least"));
    bool single = json_is_true(json_object_get(request, "latency"));
    json_t *samples = json_array();
    bench_answer answer = BENCH_OK;
    const uint64_t busy = bench_process_cpu_ns();
    uint64_t start = bench_now_ns(), ns = 0;
    batch = batch < 1 ? 1 : batch;
    for (int64_t i = 0; answer == BENCH_OK && i < MOST_SAMPLES && (i < least || bench_now_ns() - start < wanted); i++) {
        answer = time_batch(w, state, batch, &ns);
        json_array_append_new(samples, json_real((double)ns / (double)batch));
    }
    const uint64_t spent = bench_now_ns() - start, used = bench_process_cpu_ns() - busy;
    double singles[15], latency = 0;
    size_t count = 0;
    start = bench_now_ns();
    while (single && batch > 1 && answer == BENCH_OK && count < 15 &&
           (count < 3 || bench_now_ns() - start < 20000000u)) {
        uint64_t before = bench_now_ns();
        answer = w->runner->run(state, w->reason);
        singles[count++] = (double)(bench_now_ns() - before);
    }
    if (single && batch == 1) // a sample is a single launch
        singles[count++] = json_number_value(json_array_get(samples, 0));
    latency = count ? bench_median(singles, count) : 0;
    reply = bench_worker_answer(answer, w->reason);
    json_object_set_new(reply, "samples", samples);
    json_object_set_new(reply, "spent_ns", json_integer((json_int_t)spent));
    json_object_set_new(reply, "busy_ns", json_integer((json_int_t)used));
    if (single)
        json_object_set_new(reply, "latency_ns", json_real(latency));
    return reply;
}
