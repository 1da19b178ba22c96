// SPDX-License-Identifier: MIT
#include "run/sentinel.h"

#include <math.h>

#include "system/timer.h"

#define RISE_SECONDS  0.5  // by when the clock of a device that has idled is what it was
#define AGREEMENT     0.02 // two readings of one machine at one speed: 0.5% usually, on idle cores
#define MOST_READINGS 8    // 10 ms each: other work that lasts longer is there

typedef struct reading {
    double gflops, gbytes_per_s; // 0: could not be timed
} reading;

// A worker's first one compiles its kernel.
static bool read_once(bench_run *r, bool has_memory, reading *now)
{
    char reason[BENCH_REASON_TEXT];
    json_t *reply = NULL;
    bench_process *husk = &r->runners[0].process;
    const double limit = husk->pid == r->sentinel_pid ? r->options->max_time : r->options->compile_time;
    r->sentinel_pid = husk->pid;
    if (bench_process_call(husk, json_pack("{s:s, s:b}", "do", "sentinel", "memory", has_memory), limit, &reply,
                           reason) != BENCH_REPLY_OK)
        return false;
    now->gflops = json_number_value(json_object_get(reply, "gflops"));
    now->gbytes_per_s = has_memory ? json_number_value(json_object_get(reply, "gbytes_per_s")) : 0;
    json_decref(reply);
    return now->gflops > 0;
}

// The clocks of GPUs fall while the host verifies what they have computed, or has a rival's turn.
static bool has_risen(const bench_run *r, double best, uint64_t start)
{
    return best >= (1 - BENCH_SENTINEL_DISTURBED) * r->peaks.fma_gflops ||
           (double)(bench_now_ns() - start) * 1e-9 > RISE_SECONDS;
}

// The best rate that a second reading confirms. Where none does, the second best: what interrupts only makes slower,
// and one reading by itself proves nothing. Zeros: it could not be timed.
static reading read_sentinel(bench_run *r)
{
    const json_t *device = json_object_get(r->runners[0].hello, "device");
    const bool is_cpu = json_is_true(json_object_get(json_object_get(device, "traits"), "is_cpu"));
    const uint64_t start = bench_now_ns();
    double best = 0, second = 0, memory = 0;
    for (int i = 0;
         i < 2 || (i < MOST_READINGS && second < (1 - AGREEMENT) * best) || (!is_cpu && !has_risen(r, best, start));
         i++) {
        reading now;
        if (!read_once(r, i == 0 || !is_cpu, &now))
            return (reading){0, 0};
        memory = fmax(memory, now.gbytes_per_s);
        second = fmax(second, fmin(best, now.gflops));
        best = fmax(best, now.gflops);
    }
    if (second > r->peaks.fma_gflops)
        r->peaks.fma_gflops = second;
    return (reading){second, memory};
}

// Against the fastest copy so far: a first one may have been the slow one.
static void watch_memory(bench_run *r, double memory)
{
    if (memory > r->memory_rate)
        r->memory_rate = memory;
    if (memory > 0 && r->memory_rate / memory - 1 > r->worst_memory_drift[r->device])
        r->worst_memory_drift[r->device] = r->memory_rate / memory - 1;
}

// Has the machine become slower?
static reading watch_drift(bench_run *r, bench_row *row)
{
    const reading now = read_sentinel(r);
    if (now.gflops <= 0)
        return now;
    watch_memory(r, now.gbytes_per_s);
    if (r->sentinel_gflops <= 0)
        r->sentinel_gflops = now.gflops;
    const double drift = r->sentinel_gflops / now.gflops - 1;
    if (fabs(drift) > fabs(row->sentinel_drift))
        row->sentinel_drift = drift;
    if (fabs(drift) > fabs(r->worst_drift[r->device]))
        r->worst_drift[r->device] = drift;
    return now;
}

void bench_sentinel_round(bench_run *r, bench_row *row, const bench_measure_options *options)
{
    const reading none = {0, 0};
    const bench_entrant *husk = &row->entrants[0];
    const size_t samples = husk->samples.count;
    const double began = bench_run_elapsed(r);
    const reading before = bench_runner_process_revive(&r->runners[0]) ? watch_drift(r, row) : none;
    bench_measure_row(row, options);
    // A worker that was ended is started anew when it is needed.
    const reading after = before.gflops > 0 && r->runners[0].process.pid ? watch_drift(r, row) : none;
    const bench_sentinel sentinel = {
        .before_gflops = before.gflops,
        .after_gflops = after.gflops,
        .before_gbytes_per_s = before.gbytes_per_s,
        .after_gbytes_per_s = after.gbytes_per_s,
        .at = r->clock_begins + (began + bench_run_elapsed(r)) / 2,
        .samples = husk->samples.count - samples,
        .process = husk->parts.count ? husk->parts.values[husk->parts.count - 1].number : 0,
    };
    bench_sentinels_add(&row->sentinels, &sentinel);
}

bool bench_sentinel_was_disturbed(const bench_run *r, const bench_row *row)
{
    if (!row->sentinels.count)
        return false;
    const bench_sentinel *last = &row->sentinels.values[row->sentinels.count - 1];
    const double usual = (1 - BENCH_SENTINEL_DISTURBED) * r->peaks.fma_gflops;
    return row->entrants[0].state == BENCH_STATE_OK && last->before_gflops > 0 && last->after_gflops > 0 &&
           (last->before_gflops < usual || last->after_gflops < usual);
}
