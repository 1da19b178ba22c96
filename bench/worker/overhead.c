// SPDX-License-Identifier: MIT
#include "worker/overhead.h"

#include <string.h>

#include <husk/opencl.h>

#include "cases/data.h"
#include "cases/ops.h"
#include "cases/parse.h"
#include "common/stats.h"
#include "system/timer.h"
#include "worker/tape.h"

#define CALLS         50  // in a batch
#define ROUNDS        41  // batches of each kind

// So small that the kernels are over before the next batch: only the host's side is of interest.
static const char *const cases[] = {
    "gemm m=8 n=8 k=8",        "conv c=4 h=8 w=8 k=8 r=3 s=3 pad=1", "pool kind=max c=4 h=8 w=8 r=2 s=2",
    "softmax outer=4 axis=16", "activation count=64 act=relu",       "rnn cell=lstm t=1 b=1 input=8 hidden=8",
};
enum { CASES = sizeof cases / sizeof *cases };

const char *bench_overhead_case(size_t index)
{
    return index < CASES ? cases[index] : NULL;
}

// PoCL's device without threads runs kernels in the thread that finishes the queue, so it needs no gate; and commands
// behind a gate make PoCL 3.1 wait for itself in clSetUserEventStatus. It calls that device basic, or, from 6.0 on,
// cpu-minimal; whatever the name, it has one compute unit. One that has a thread does without a gate, too.
static bool needs_gate(const husk_context *context)
{
    const husk_device_traits *traits = husk_context_traits(context);
    return !strstr(traits->platform_name, "Portable Computing Language") || traits->compute_units > 1;
}

// One batch behind a user event, in nanoseconds a call; negative when OpenCL or the library refuses something.
static double time_batch(bench_husk_job *job, const bench_tape *tape)
{
    cl_int code;
    cl_command_queue queue = husk_queue_opencl(job->queue);
    const bool is_gated = needs_gate(job->context);
    cl_event gate = is_gated ? clCreateUserEvent(husk_context_opencl(job->context), &code) : NULL;
    if (is_gated && !gate)
        return -1;
    const bench_op *op = bench_op_get(job->c->op);
    bool good = !is_gated || clEnqueueBarrierWithWaitList(queue, 1, &gate, NULL) == CL_SUCCESS;
    uint64_t start = bench_now_ns();
    for (int i = 0; good && i < CALLS; i++)
        good = tape ? bench_tape_play(tape) : op->husk_enqueue(job, job->sets) == HUSK_OK;
    uint64_t spent = bench_now_ns() - start;
    if (is_gated) {
        good = clSetUserEventStatus(gate, CL_COMPLETE) == CL_SUCCESS && good;
        clReleaseEvent(gate);
    }
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
        result = json_pack("{s:s, s:I, s:f, s:f, s:f}", "case", job->c->canonical, "launches",
                           (json_int_t)bench_tape_launches(tape), "immediate_ns", bench_median(immediate, ROUNDS),
                           "bare_ns", bench_median(bare, ROUNDS), "overhead_ns", bench_median(difference, ROUNDS));
    else
        bench_explain(reason, BENCH_REASON_TEXT, "%s: %.800s", job->c->canonical, husk_queue_error(job->queue)->text);
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
    if (bench_runner_husk.prepare(session, &c, &data, &options, &state, reason) == BENCH_OK) {
        result = measure_job(bench_husk_job_of(state), reason);
        bench_runner_husk.release(state);
    }
    bench_data_free(&c, &data);
    return result;
}

json_t *bench_overhead_measure(bench_husk_session *session, const char *line, char reason[BENCH_REASON_TEXT])
{
    json_t *all = json_array();
    for (size_t i = 0; i < (line ? 1 : CASES); i++) {
        json_t *one = measure_case(session, line ? line : cases[i], reason);
        if (!one) {
            json_decref(all);
            return NULL;
        }
        json_array_append_new(all, one);
    }
    return all;
}
