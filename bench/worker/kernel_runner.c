// SPDX-License-Identifier: MIT
#include "worker/kernel_runner.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/compiler_log.h"
#include "common/json.h"
#include "spec/operator_case.h"
#include "system/timer.h"
#include "worker/described.h"
#include "worker/kernel_check.h"
#include "worker/session.h"

#define RUNS_ON 4

// What failed on the device may have taken the context with it: the next kernel gets a new one.
static bench_answer lost_if_failed(bench_answer answer)
{
    return answer == BENCH_ERROR ? BENCH_LOST : answer;
}

// A kernel at a point: a job for each set of operands, through which timed runs rotate.
typedef struct kernel_state {
    bench_described *described;
    bench_kernel_job *jobs;
    bench_point *points;
    int64_t copies, last; // last: whose turn it was
    uint64_t seed, build_ns, builds;
    double flops;      // as described; 0: not said
    bool has_compiled;
    char configuration[BENCH_POINT_TEXT];
} kernel_state;

static bench_answer kernel_open(const bench_open_options *options, void **session, char reason[BENCH_REASON_TEXT])
{
    return bench_runner_husk.open(options, session, reason);
}

static void kernel_close(void *session)
{
    bench_runner_husk.close(session);
}

static void kernel_version(void *session, char *text, size_t size)
{
    const bench_husk_session *s = session;
    const husk_device_traits *traits = husk_context_traits(s->context);
    snprintf(text, size, "%s, driver %s", traits->name, traits->driver_version);
}

static void kernel_release(void *state)
{
    kernel_state *s = state;
    for (int64_t i = 0; i < s->copies; i++) {
        if (s->jobs[i].launcher)
            bench_kernel_job_end(&s->jobs[i]);
    }
    free(s->jobs);
    free(s->points);
    free(s);
}

static void kernel_details(void *state, bench_details *details)
{
    const kernel_state *s = state;
    const bench_spec *spec = s->points[0].spec;
    *details = (bench_details){.variant = spec->name,
                               .configuration = s->configuration[0] ? s->configuration : NULL,
                               .executed_flops = s->flops,
                               .build_ns = s->build_ns,
                               .builds = s->builds,
                               .on_device = true};
    for (int i = 0; i < spec->buffer_count; i++) {
        if (spec->buffers[i].access == BENCH_ACCESS_SCRATCH)
            details->workspace += s->jobs[0].buffers[i].bytes;
    }
}

static bench_answer kernel_run_batch(void *state, int64_t count, char reason[BENCH_REASON_TEXT])
{
    kernel_state *s = state;
    bench_answer answer = BENCH_OK;
    for (int64_t i = 0; i < count && answer == BENCH_OK; i++) {
        s->last = (s->last + 1) % s->copies;
        answer = bench_kernel_enqueue(&s->jobs[s->last], reason);
    }
    return lost_if_failed(answer == BENCH_OK ? bench_kernel_finish(&s->described->launcher, reason) : answer);
}

static bench_answer kernel_run(void *state, char reason[BENCH_REASON_TEXT])
{
    return kernel_run_batch(state, 1, reason);
}

static bench_answer kernel_reset(void *state, char reason[BENCH_REASON_TEXT])
{
    kernel_state *s = state;
    bench_answer answer = BENCH_OK;
    for (int64_t i = 0; i < s->copies && answer == BENCH_OK; i++)
        answer = bench_kernel_reset(&s->jobs[i], 0, reason);
    return answer;
}

// ---- requests ----

static bench_answer begin_jobs(kernel_state *s, const json_t *point, char reason[BENCH_REASON_TEXT])
{
    bench_answer answer = BENCH_OK;
    for (int64_t i = 0; i < s->copies && answer == BENCH_OK; i++) {
        if (!bench_described_point(s->described, point, &s->points[i], reason))
            return BENCH_ERROR;
        answer = bench_kernel_job_begin(&s->jobs[i], &s->described->launcher, &s->points[i], s->seed, reason);
    }
    return answer;
}

// The compiler's first error says more than that there was one.
static void tell_compiler(const char *log, char reason[BENCH_REASON_TEXT])
{
    const bench_log_message message = bench_log_first_error(log);
    const size_t length = strlen(reason);
    if (message.line)
        bench_append(reason, BENCH_REASON_TEXT, ", line %d", message.line);
    if (message.text[0])
        snprintf(reason + strlen(reason), BENCH_REASON_TEXT - strlen(reason), ": %s", message.text);
    if (strlen(reason) == length && log)
        bench_append(reason, BENCH_REASON_TEXT, ", and the compiler does not say why");
}

static bench_answer prepare(kernel_state *s, const json_t *point, char reason[BENCH_REASON_TEXT])
{
    char *log = NULL;
    bench_point *first = &s->points[0];
    if (!bench_described_point(s->described, point, first, reason) ||
        (first->spec->flops.count && !bench_spec_operator(first->spec) &&
         !bench_point_real(first, &first->spec->flops, &s->flops, reason)))
        return BENCH_ERROR;
    bench_worker_say("compiling the kernel");
    const uint64_t start = bench_now_ns(), before = s->described->launcher.programs.built;
    bench_answer answer = bench_kernel_compile(&s->described->launcher, first, &log, reason);
    s->build_ns = bench_now_ns() - start;
    s->builds = s->described->launcher.programs.built - before;
    s->has_compiled = answer == BENCH_OK;
    if (answer == BENCH_ERROR)
        tell_compiler(log, reason);
    free(log);
    snprintf(s->configuration, sizeof s->configuration, "%s", bench_text_of(point, "configuration"));
    bench_worker_say("preparing the kernel's buffers");
    if (answer == BENCH_OK)
        answer = begin_jobs(s, point, reason);
    return answer == BENCH_OK ? kernel_reset(s, reason) : answer;
}

static void release_all(bench_worker *w)
{
    for (size_t i = 0; i < BENCH_SLOTS; i++) {
        if (w->slots[i])
            kernel_release(w->slots[i]);
        w->slots[i] = NULL;
    }
}

// The description, which is kept while requests are of it: what is prepared belongs to it.
static bench_described *take_description(bench_worker *w, const char *path, char reason[BENCH_REASON_TEXT])
{
    bench_husk_session *session = w->session;
    bench_described *there = session->described;
    if (there && there->has_launcher && !strcmp(there->description.path, path))
        return there;
    release_all(w);
    return bench_described_read(session, path, reason);
}

static kernel_state *make_state(int64_t copies)
{
    kernel_state *s = calloc(1, sizeof *s);
    if (!s)
        return NULL;
    s->copies = copies > 1 ? copies : 1;
    s->jobs = calloc((size_t)s->copies, sizeof *s->jobs);
    s->points = calloc((size_t)s->copies, sizeof *s->points);
    if (s->jobs && s->points)
        return s;
    free(s->jobs);
    free(s->points);
    free(s);
    return NULL;
}

static json_t *serve_prepare(bench_worker *w, json_t *request)
{
    const json_t *point = json_object_get(request, "kernel");
    const json_int_t slot = json_integer_value(json_object_get(request, "slot"));
    if (slot < 0 || slot >= BENCH_SLOTS || !point)
        return bench_worker_answer(BENCH_ERROR, "no such slot, or no kernel");
    if (w->slots[slot])
        kernel_release(w->slots[slot]);
    w->slots[slot] = NULL;
    bench_described *described = take_description(w, bench_text_of(point, "path"), w->reason);
    if (described && described->is_simulator)
        return bench_worker_answer(BENCH_UNSUPPORTED,
                                   "a simulator's times mean nothing; what it finds is clbench verify's business");
    kernel_state *s = described ? make_state(json_integer_value(json_object_get(request, "copies"))) : NULL;
    if (!s)
        return bench_worker_answer(BENCH_ERROR, described ? "host memory does not suffice" : w->reason);
    s->described = described;
    s->seed = (uint64_t)json_integer_value(json_object_get(point, "seed"));
    const uint64_t start = bench_now_ns();
    bench_answer answer = prepare(s, point, w->reason);
    const uint64_t prepared = bench_now_ns();
    const bool runs = answer == BENCH_OK && !json_is_false(json_object_get(request, "run"));
    if (runs) {
        bench_worker_say("running for the first time");
        answer = kernel_run(s, w->reason);
    }
    json_t *reply = bench_worker_answer(answer, w->reason);
    if (answer != BENCH_OK) {
        json_object_set_new(reply, "stage", json_string(s->has_compiled ? "run" : "compile"));
        kernel_release(s);
        return reply;
    }
    w->slots[slot] = s;
    bench_worker_put_details(w, s, reply);
    json_object_set_new(reply, "prepare_ns", json_integer((json_int_t)(prepared - start)));
    json_object_set_new(reply, "first_ns", json_integer((json_int_t)(bench_now_ns() - prepared)));
    return reply;
}

// Whether a run finds what the run before has left, and builds upon it.
static bool builds_upon_itself(const bench_spec *spec)
{
    for (int i = 0; i < spec->buffer_count; i++) {
        if (spec->buffers[i].access == BENCH_ACCESS_INOUT && !spec->buffers[i].is_restored)
            return true;
    }
    return false;
}

// Timed runs follow each other: one that needs its buffers as they were writes elsewhere by then, or ends here.
static bench_answer run_on(kernel_state *s, bench_judgement *judgement, char reason[BENCH_REASON_TEXT])
{
    char found[BENCH_REASON_TEXT] = "";
    bench_worker_say("running on what the run before has left (inout restored puts a buffer back)");
    bench_answer answer = bench_kernel_reset(&s->jobs[0], 0, reason);
    for (int i = 0; i < RUNS_ON && answer == BENCH_OK && !found[0]; i++) {
        answer = bench_kernel_enqueue(&s->jobs[0], reason);
        if (answer == BENCH_OK)
            answer = bench_kernel_finish(&s->described->launcher, reason);
        if (answer == BENCH_OK)
            answer = bench_kernel_guards(&s->jobs[0], found, reason);
    }
    if (answer == BENCH_OK && found[0]) {
        judgement->is_right = false;
        judgement->is_beside = true;
        snprintf(judgement->text, sizeof judgement->text,
                 "right by itself, and a run on what the run before has left wrote beside a buffer: %.500s; write "
                 "inout restored, if it needs a buffer as it was",
                 found);
    }
    return answer;
}

#define RESULTS "results"
#define GUARDS  "guards"

static json_t *serve_verify(bench_worker *w, json_t *request)
{
    json_t *reply = NULL;
    kernel_state *s = bench_worker_slot(w, request, &reply);
    if (!s)
        return reply;
    bench_judgement judgement;
    const bench_spec *spec = s->points[0].spec;
    bench_worker_say("verifying the kernel");
    bench_answer answer = bench_kernel_check(&s->jobs[0], s->seed, 2, &judgement, w->reason);
    if (answer == BENCH_OK && judgement.is_right && builds_upon_itself(spec))
        answer = run_on(s, &judgement, w->reason);
    reply = bench_worker_answer(lost_if_failed(answer), w->reason);
    if (answer != BENCH_OK)
        return reply;
    bench_kernel_put_judgement(reply, &judgement);
    // Nothing is compared where nothing is expected, and that is no lack of the check's.
    if (!bench_spec_compares(spec))
        json_object_set_new(reply, "inconclusive", json_false());
    json_object_set_new(reply, "repeats", json_string(builds_upon_itself(spec) ? GUARDS : RESULTS));
    json_object_set_new(reply, "guards", json_string(judgement.is_beside ? "touched" : "intact"));
    return reply;
}

// The last run that was timed.
static json_t *serve_check(bench_worker *w, json_t *request)
{
    json_t *reply = NULL;
    kernel_state *s = bench_worker_slot(w, request, &reply);
    if (!s)
        return reply;
    bench_judgement judgement;
    const bool with_results = !strcmp(bench_text_of(request, "repeats"), RESULTS);
    const bench_answer answer =
        bench_kernel_check_last(&s->jobs[s->last], s->seed, with_results, &judgement, w->reason);
    reply = bench_worker_answer(lost_if_failed(answer), w->reason);
    json_object_set_new(reply, "pass", json_boolean(answer == BENCH_OK && judgement.is_right));
    bench_worker_put_text(reply, "text", answer == BENCH_OK ? judgement.text : NULL);
    return reply;
}

static json_t *kernel_serve(bench_worker *w, const char *what, json_t *request)
{
    if (!strcmp(what, "prepare"))
        return serve_prepare(w, request);
    if (!strcmp(what, "verify"))
        return serve_verify(w, request);
    return strcmp(what, "check") ? NULL : serve_check(w, request);
}

const bench_runner bench_runner_kernel = {
    .name = "kernel",
    .description = "kernels of your own, described in files",
    .open = kernel_open,
    .close = kernel_close,
    .version = kernel_version,
    .serve = kernel_serve,
    .release = kernel_release,
    .details = kernel_details,
    .run = kernel_run,
    .run_batch = kernel_run_batch,
    .reset = kernel_reset,
};
