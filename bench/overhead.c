// SPDX-License-Identifier: MIT
#include "overhead.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include <husk/opencl.h>

#include "data.h"
#include "measure.h"
#include "op.h"
#include "run.h"
#include "stats.h"
#include "tape.h"
#include "text.h"
#include "timer.h"

#define CALLS  50 // in a batch
#define ROUNDS 41 // batches of each kind

// So small that the kernels are over before the next batch: only the host's side is of interest.
static const char *const cases[] = {
    "gemm m=8 n=8 k=8",        "conv c=4 h=8 w=8 k=8 r=3 s=3 pad=1", "pool kind=max c=4 h=8 w=8 r=2 s=2",
    "softmax outer=4 axis=16", "activation count=64 act=relu",       "rnn cell=lstm t=1 b=1 input=8 hidden=8",
};

// One batch behind a user event, in nanoseconds a call; negative when OpenCL or the library refuses something.
static double time_batch(bench_husk_job *job, const bench_tape *tape)
{
    cl_int code;
    cl_command_queue queue = husk_queue_opencl(job->queue);
    cl_event gate = clCreateUserEvent(husk_context_opencl(job->context), &code);
    if (!gate)
        return -1;
    const bench_op *op = bench_op_get(job->c->op);
    bool good = clEnqueueBarrierWithWaitList(queue, 1, &gate, NULL) == CL_SUCCESS;
    uint64_t start = bench_now_ns();
    for (int i = 0; good && i < CALLS; i++)
        good = tape ? bench_tape_play(tape) : op->husk_enqueue(job, job->sets) == HUSK_OK;
    uint64_t spent = bench_now_ns() - start;
    good = clSetUserEventStatus(gate, CL_COMPLETE) == CL_SUCCESS && good;
    clReleaseEvent(gate);
    good = husk_queue_finish(job->queue) == HUSK_OK && good;
    return good ? (double)spent / CALLS : -1;
}

static json_t *measure_job(bench_husk_job *job, char reason[BENCH_REASON_TEXT])
{
    const bench_op *op = bench_op_get(job->c->op);
    bench_tape *tape = NULL;
    double immediate[ROUNDS], bare[ROUNDS], difference[ROUNDS];
    bool good = true;
    for (int i = 0; i < 2 && good; i++) // the second call finds its plan
        good = op->husk_enqueue(job, job->sets) == HUSK_OK;
    if (good) {
        tape = bench_tape_record();
        good = op->husk_enqueue(job, job->sets) == HUSK_OK;
        good = bench_tape_stop(tape) && good && husk_queue_finish(job->queue) == HUSK_OK;
    }
    for (int i = -2; i < ROUNDS && good; i++) { // two of each to warm up
        double first = time_batch(job, i % 2 ? tape : NULL), second = time_batch(job, i % 2 ? NULL : tape);
        good = first >= 0 && second >= 0;
        if (i < 0)
            continue;
        immediate[i] = i % 2 ? second : first;
        bare[i] = i % 2 ? first : second;
        difference[i] = immediate[i] - bare[i];
    }
    json_t *result = NULL;
    if (good)
        result =
            json_pack("{s:s, s:I, s:f, s:f, s:f}", "case", job->c->canonical, "launches",
                      (json_int_t)bench_tape_launches(tape), "immediate_ns", bench_median(immediate, ROUNDS),
                      "bare_ns", bench_median(bare, ROUNDS), "overhead_ns", bench_median(difference, ROUNDS));
    else
        bench_explain(reason, BENCH_REASON_TEXT, "%s: %.800s", job->c->canonical,
                      husk_queue_error(job->queue)->text);
    bench_tape_free(tape);
    return result;
}

static json_t *measure_case(bench_husk_session *session, const char *line, char reason[BENCH_REASON_TEXT])
{
    bench_case c;
    bench_data data;
    void *state = NULL;
    json_t *result = NULL;
    const bench_prepare_options options = {0};
    if (!bench_case_parse(line, &c, reason) || !bench_data_make(&c, &data, reason))
        return NULL;
    if (bench_contender_husk.prepare(session, &c, &data, &options, &state, reason) == BENCH_OK) {
        result = measure_job(bench_husk_job_of(state), reason);
        bench_contender_husk.release(state);
    }
    bench_data_free(&c, &data);
    return result;
}

json_t *bench_overhead_measure(bench_husk_session *session, char reason[BENCH_REASON_TEXT])
{
    json_t *all = json_array();
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        json_t *one = measure_case(session, cases[i], reason);
        if (!one) {
            json_decref(all);
            return NULL;
        }
        json_array_append_new(all, one);
    }
    return all;
}

static double number_of(const json_t *object, const char *key)
{
    return json_number_value(json_object_get(object, key));
}

double bench_overhead_largest(const json_t *overhead, const char **which)
{
    double largest = NAN;
    for (size_t i = 0; i < json_array_size(overhead); i++) {
        const json_t *one = json_array_get(overhead, i);
        if (number_of(one, "overhead_ns") <= largest)
            continue;
        largest = number_of(one, "overhead_ns");
        if (which)
            *which = json_string_value(json_object_get(one, "case"));
    }
    return largest;
}

void bench_overhead_print(const json_t *overhead, bool all)
{
    if (all)
        printf("%-48s %8s %10s %10s %10s\n", "case", "launches", "immediate", "bare", "overhead");
    for (size_t i = 0; all && i < json_array_size(overhead); i++) {
        const json_t *one = json_array_get(overhead, i);
        printf("%-48s %8.0f %7.2f us %7.2f us %7.2f us\n", json_string_value(json_object_get(one, "case")),
               number_of(one, "launches"), 1e-3 * number_of(one, "immediate_ns"),
               1e-3 * number_of(one, "bare_ns"), 1e-3 * number_of(one, "overhead_ns"));
    }
    const char *which = "";
    double largest = bench_overhead_largest(overhead, &which);
    if (!isnan(largest))
        printf("immediate calls: at most %.2f us more than the bare enqueue of the same kernels (%s)\n",
               1e-3 * largest, which);
}

int bench_command_overhead(const bench_options *options)
{
    char buffer[64], reason[BENCH_REASON_TEXT] = "";
    bench_contestant husk;
    json_t *reply = NULL;
    int code = bench_open_husk(&husk, bench_device_wish(options, 0, buffer));
    if (code == BENCH_EXIT_OK) {
        bench_reply status =
            bench_process_call(&husk.process, json_pack("{s:s}", "do", "overhead"), 300, &reply, reason);
        if (bench_state_of_reply(status, reply, reason) != BENCH_STATE_OK) {
            fprintf(stderr, "clbench: the overhead could not be measured: %s\n", reason);
            code = BENCH_EXIT_ERROR;
        }
    }
    const json_t *overhead = json_object_get(reply, "overhead");
    if (code == BENCH_EXIT_OK && options->json) {
        json_dumpf(overhead, stdout, JSON_INDENT(1));
        putchar('\n');
    } else if (code == BENCH_EXIT_OK) {
        bench_overhead_print(overhead, true);
    }
    json_decref(reply);
    bench_contestant_stop(&husk);
    return code;
}
