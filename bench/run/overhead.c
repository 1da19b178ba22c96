// SPDX-License-Identifier: MIT
#include "run/overhead.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include <husk/opencl.h>

#include "cases/data.h"
#include "cases/op.h"
#include "cases/ops.h"
#include "cases/parse.h"
#include "cli/take_stdout.h"
#include "common/stats.h"
#include "common/text.h"
#include "measure/row.h"
#include "os/interrupt.h"
#include "os/output.h"
#include "os/steps.h"
#include "os/terminal.h"
#include "os/timer.h"
#include "run/run.h"
#include "worker/tape.h"

#define CALLS         50  // in a batch
#define ROUNDS        41  // batches of each kind
#define USUAL_SECONDS 0.4 // a case, its programs compiled before

// So small that the kernels are over before the next batch: only the host's side is of interest.
static const char *const cases[] = {
    "gemm m=8 n=8 k=8",        "conv c=4 h=8 w=8 k=8 r=3 s=3 pad=1", "pool kind=max c=4 h=8 w=8 r=2 s=2",
    "softmax outer=4 axis=16", "activation count=64 act=relu",       "rnn cell=lstm t=1 b=1 input=8 hidden=8",
};
enum { CASES = sizeof cases / sizeof *cases };

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

json_t *bench_overhead_ask(bench_contestant *husk, double seconds, char reason[BENCH_REASON_TEXT])
{
    json_t *all = json_array();
    bench_steps steps;
    bool good = true;
    bench_steps_begin(&steps, CASES, CASES * USUAL_SECONDS);
    for (size_t i = 0; i < CASES && good; i++) {
        json_t *reply = NULL;
        bench_steps_next(&steps, USUAL_SECONDS, "what a call costs: %s", cases[i]);
        const bench_reply status = bench_process_call(
            &husk->process, json_pack("{s:s, s:s}", "do", "overhead", "case", cases[i]), seconds, &reply, reason);
        good = bench_state_of_reply(status, reply, reason) == BENCH_STATE_OK;
        json_array_extend(all, json_object_get(reply, "overhead"));
        json_decref(reply);
    }
    bench_steps_end(&steps);
    if (good)
        return all;
    json_decref(all);
    return NULL;
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

static void print_table(const json_t *overhead)
{
    size_t longest = 4;
    for (size_t i = 0; i < CASES; i++)
        longest = strlen(cases[i]) > longest ? strlen(cases[i]) : longest;
    const int width = bench_name_width(longest, 43);
    bench_print_name("case", width);
    printf("  %8s  %9s  %9s  %9s\n", "launches", "immediate", "bare", "overhead");
    for (size_t i = 0; i < json_array_size(overhead); i++) {
        const json_t *one = json_array_get(overhead, i);
        bench_print_name(json_string_value(json_object_get(one, "case")), width);
        printf("  %8.0f  %6.2f us  %6.2f us  %6.2f us\n", number_of(one, "launches"),
               1e-3 * number_of(one, "immediate_ns"), 1e-3 * number_of(one, "bare_ns"),
               1e-3 * number_of(one, "overhead_ns"));
    }
}

void bench_overhead_print(const json_t *overhead, bool all)
{
    if (all)
        print_table(overhead);
    const char *which = "";
    double largest = bench_overhead_largest(overhead, &which);
    if (!isnan(largest))
        bench_print(2, "immediate calls: at most %.2f us more than the bare enqueue of the same kernels (%s)\n",
                    1e-3 * largest, which);
}

// What was measured on one device goes to the list; on several, each line says which it is of.
static int measure_device(const bench_options *options, const char *wish, json_t *list)
{
    char reason[BENCH_REASON_TEXT] = "";
    bench_contestant husk;
    int code = bench_open_husk(&husk, wish, options->max_time);
    const json_t *device = json_object_get(husk.hello, "device");
    json_t *overhead = code == BENCH_EXIT_OK ? bench_overhead_ask(&husk, options->compile_time, reason) : NULL, *one;
    size_t i;
    if (bench_interrupted) {
        code = bench_interrupted_exit();
    } else if (code == BENCH_EXIT_OK && !overhead) {
        fprintf(stderr, "clbench: the overhead could not be measured: %s\nclbench doctor looks for why.\n", reason);
        code = BENCH_EXIT_ERROR;
    }
    if (overhead && !options->json) {
        bench_print(2, "%s%s\n", json_array_size(list) ? "\n" : "", json_string_value(json_object_get(device, "name")));
        bench_overhead_print(overhead, true);
        fflush(stdout);
    }
    json_array_foreach(overhead, i, one)
    {
        json_object_set(one, "device", json_object_get(device, "name"));
        json_array_append(list, one);
    }
    json_decref(overhead);
    bench_contestant_stop(&husk);
    return code;
}

static bool write_json(const json_t *list, const char *path)
{
    bench_writing writing;
    FILE *file = bench_output_open(&writing, path);
    if (file) {
        json_dumpf(list, file, JSON_INDENT(1));
        fputc('\n', file);
    }
    return file && bench_output_close(&writing, path);
}

int bench_command_overhead(const bench_options *given)
{
    char buffer[64], stdout_path[32] = "";
    bench_options options = *given;
    json_t *list = json_array();
    int code = BENCH_EXIT_OK;
    if (options.json) { // nothing else on stdout, warnings about GPUs neither
        options.json_path = "-";
        bench_output_take_stdout(&options, stdout_path);
    }
    bench_progress_start(options.quiet);
    bench_catch_interrupt();
    bench_expand_devices(&options);
    const size_t devices = options.device_count ? options.device_count : 1;
    for (size_t i = 0; i < devices && !bench_interrupted; i++) {
        const int answer = measure_device(&options, bench_device_wish(&options, i, buffer), list);
        code = code == BENCH_EXIT_OK ? answer : code;
    }
    if (options.json && json_array_size(list) && !write_json(list, options.json_path))
        code = BENCH_EXIT_ERROR;
    json_decref(list);
    return bench_interrupted ? bench_interrupted_exit() : code;
}
