// SPDX-License-Identifier: MIT
#include "worker/kernel_requests.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/text.h"
#include "spec/read.h"
#include "worker/kernel_expected.h"
#include "worker/session.h"
#include "worker/simulator_log.h"

struct bench_described {
    bench_description description;
    bench_kernel_launcher launcher;
    bool has_launcher;
    bool is_simulator;
    bench_point point;
};

typedef struct bench_described described;

static void end(described *d)
{
    if (d->has_launcher)
        bench_kernel_launcher_end(&d->launcher);
    bench_description_free(&d->description);
    free(d);
}

static json_t *describe(bench_husk_session *session, const json_t *request)
{
    char reason[BENCH_REASON_TEXT] = "";
    const char *path = json_string_value(json_object_get(request, "path"));
    if (session->described)
        end(session->described);
    described *d = session->described = calloc(1, sizeof *d);
    session->end_described = end;
    if (!d)
        return bench_worker_answer(BENCH_ERROR, "host memory does not suffice");
    if (!path || !bench_description_read(path, &d->description, reason))
        return bench_worker_answer(BENCH_ERROR, path ? reason : "the request has no path");
    // A simulator looks at each access itself, and would take bands for memory of the kernel's.
    d->is_simulator = husk_context_traits(session->context)->device_class == HUSK_DEVICE_SIMULATOR;
    husk_error error;
    if (!d->is_simulator && husk_context_set_guards(session->context, HUSK_GUARD_BYTES, &error) != HUSK_OK)
        return bench_worker_answer(BENCH_ERROR, error.text);
    d->has_launcher = bench_kernel_launcher_begin(&d->launcher, session->context, !d->is_simulator, reason);
    d->launcher.description = &d->description;
    return bench_worker_answer(d->has_launcher ? BENCH_OK : BENCH_ERROR, reason);
}

static bool read_numbers(const json_t *array, size_t count, int64_t *numbers)
{
    if (json_array_size(array) != count)
        return false;
    for (size_t i = 0; i < count; i++)
        numbers[i] = json_integer_value(json_array_get(array, i));
    return true;
}

// The request's point; false: reason.
static bool take_point(described *d, const json_t *request, char reason[BENCH_REASON_TEXT])
{
    int64_t config[BENCH_MOST_CONFIGS], size[BENCH_MOST_SIZES];
    const json_int_t number = json_integer_value(json_object_get(request, "spec"));
    if (!d || !d->has_launcher || number < 0 || number >= d->description.count)
        return bench_explain(reason, BENCH_REASON_TEXT, "the request is of no kernel that was described");
    const bench_spec *spec = d->description.specs[number];
    if (!read_numbers(json_object_get(request, "config"), (size_t)spec->config_count, config) ||
        !read_numbers(json_object_get(request, "size"), (size_t)spec->sizes.names, size))
        return bench_explain(reason, BENCH_REASON_TEXT, "the request lacks parameters or sizes");
    return bench_point_set(&d->point, spec, config, size, reason);
}

static json_t *compile(described *d, const json_t *request)
{
    char reason[BENCH_REASON_TEXT] = "", *log = NULL;
    if (!take_point(d, request, reason))
        return bench_worker_answer(BENCH_ERROR, reason);
    bench_worker_say("compiling the kernel");
    const bench_answer answer = bench_kernel_compile(&d->launcher, &d->point, &log, reason);
    json_t *reply = bench_worker_answer(answer, reason);
    bench_worker_put_text(reply, "log", log);
    free(log);
    return reply;
}

// ---- checking ----

typedef struct checking {
    bench_kernel_job job;
    uint64_t seed;
    int64_t repeats;
    const char *stage;
    bench_judgement judgement;
    char reason[BENCH_REASON_TEXT];
} checking;

static bool is_output(const bench_buffer *buffer)
{
    return buffer->access == BENCH_ACCESS_OUT || buffer->access == BENCH_ACCESS_INOUT;
}

static bool may_differ(const bench_spec *spec, int buffer)
{
    for (int i = 0; i < spec->expectation_count; i++) {
        const bench_expectation *expectation = &spec->expectations[i];
        if (expectation->buffer == buffer && expectation->any_order)
            return true;
    }
    return false;
}

// Copies of what a run has left, to compare another one's with.
static bool keep(const checking *c, void *kept[BENCH_MOST_BUFFERS])
{
    for (int i = 0; i < c->job.point->spec->buffer_count; i++) {
        kept[i] = malloc(c->job.buffers[i].bytes);
        if (!kept[i])
            return false;
        memcpy(kept[i], c->job.buffers[i].after, c->job.buffers[i].bytes);
    }
    return true;
}

// Poison differs between runs; what was not written is that.
static bool is_poison(const bench_kernel_buffer *buffer, size_t at, size_t bytes)
{
    return !memcmp((const char *)buffer->before + at * bytes, (const char *)buffer->after + at * bytes, bytes);
}

static void compare_runs(checking *c, void *const kept[BENCH_MOST_BUFFERS], int64_t run)
{
    const bench_spec *spec = c->job.point->spec;
    for (int i = 0; i < spec->buffer_count && c->judgement.is_right; i++) {
        const bench_kernel_buffer *buffer = &c->job.buffers[i];
        const size_t bytes = bench_element_bytes(spec->buffers[i].element);
        if (!is_output(&spec->buffers[i]) || may_differ(spec, i) || !memcmp(kept[i], buffer->after, buffer->bytes))
            continue;
        const bool has_poison = spec->buffers[i].generator.filling == BENCH_FILL_POISON;
        for (size_t at = 0; at < buffer->bytes / bytes; at++) {
            const char *first = (const char *)kept[i] + at * bytes, *now = (const char *)buffer->after + at * bytes;
            if (!memcmp(first, now, bytes) || (has_poison && is_poison(buffer, at, bytes)))
                continue;
            c->judgement.is_right = false;
            snprintf(c->judgement.text, sizeof c->judgement.text,
                     "%s[%zu] is %.9g after the first run and %.9g after run %" PRId64
                     ", of the same inputs; where the order of sums may differ, say `in any order`",
                     spec->symbols.items[spec->buffers[i].symbol].name, at,
                     bench_element_load(spec->buffers[i].element, kept[i], (int64_t)at),
                     bench_element_load(spec->buffers[i].element, buffer->after, (int64_t)at), run);
            break;
        }
    }
}

static bench_answer run_once(checking *c, int which)
{
    char found[BENCH_REASON_TEXT] = "";
    bench_answer answer = bench_kernel_reset(&c->job, which, c->reason);
    if (answer == BENCH_OK)
        answer = bench_kernel_run(&c->job, which, c->reason);
    if (answer == BENCH_OK)
        answer = bench_kernel_read(&c->job, c->reason);
    if (answer == BENCH_OK)
        answer = bench_kernel_guards(&c->job, found, c->reason);
    if (answer == BENCH_OK && !bench_kernel_judge(&c->job, c->seed, &c->judgement, c->reason))
        answer = BENCH_ERROR;
    // It is said beside what else is wrong, which may be its consequence.
    if (answer == BENCH_OK && found[0]) {
        char text[BENCH_REASON_TEXT];
        snprintf(text, sizeof text, "it wrote beside a buffer: %.500s%s%.400s", found,
                 c->judgement.is_right ? "" : "; and ", c->judgement.is_right ? "" : c->judgement.text);
        snprintf(c->judgement.text, sizeof c->judgement.text, "%s", text);
        c->judgement.is_right = false;
    }
    return answer;
}

// Once, and again from other poison: the same bits.
static bench_answer run_repeatedly(checking *c)
{
    void *kept[BENCH_MOST_BUFFERS] = {NULL};
    bench_answer answer = run_once(c, 0);
    if (answer == BENCH_OK && c->judgement.is_right && !keep(c, kept)) {
        snprintf(c->reason, sizeof c->reason, "host memory does not suffice");
        answer = BENCH_ERROR;
    }
    const bench_judgement first = c->judgement;
    for (int64_t run = 2; run <= c->repeats && answer == BENCH_OK && c->judgement.is_right; run++) {
        answer = run_once(c, (int)(run & 1) ? 0 : 1);
        if (answer == BENCH_OK && c->judgement.is_right)
            compare_runs(c, kept, run);
    }
    if (c->judgement.is_right)
        c->judgement = first;
    for (int i = 0; i < BENCH_MOST_BUFFERS; i++)
        free(kept[i]);
    return answer;
}

// A kernel whose work-group the driver chooses has to be right in any: single work-items, and the largest that fits.
static bench_answer vary_groups(checking *c)
{
    bench_answer answer = BENCH_OK;
    const bench_judgement first = c->judgement;
    for (int i = 0; i < c->job.point->spec->step_count && answer == BENCH_OK; i++) {
        bench_kernel_step *step = &c->job.steps[i];
        size_t most = 1;
        if (step->has_local)
            continue;
        clGetKernelWorkGroupInfo(step->kernel, c->job.launcher->device, CL_KERNEL_WORK_GROUP_SIZE, sizeof most, &most,
                                 NULL);
        size_t larger = 1;
        while (2 * larger <= most && step->global[0] % (2 * larger) == 0)
            larger *= 2;
        const size_t sizes[] = {1, larger};
        step->has_local = true;
        for (int k = 0; k < 2 && answer == BENCH_OK && c->judgement.is_right; k++) {
            if (k == 1 && larger == 1)
                break;
            step->local[0] = sizes[k];
            step->local[1] = step->local[2] = 1;
            answer = run_once(c, k);
            if (answer == BENCH_OK && !c->judgement.is_right) {
                char text[BENCH_REASON_TEXT];
                snprintf(text, sizeof text,
                         "right in the work-groups that the driver chose, and in those of %zu: %.800s", sizes[k],
                         c->judgement.text);
                snprintf(c->judgement.text, sizeof c->judgement.text, "%s", text);
            }
        }
        step->has_local = false;
        // A size that the device refuses for this kernel says nothing of it.
        if (answer == BENCH_UNSUPPORTED)
            answer = BENCH_OK;
    }
    if (c->judgement.is_right)
        c->judgement = first;
    return answer;
}

static double finite_or(double value, double otherwise)
{
    return isfinite(value) ? value : otherwise;
}

static void put_judgement(json_t *reply, const bench_judgement *judgement)
{
    json_object_set_new(reply, "pass", json_boolean(judgement->is_right));
    json_object_set_new(reply, "inconclusive",
                        json_boolean(judgement->is_right && (judgement->is_inconclusive || !judgement->checked)));
    json_object_set_new(reply, "checked", json_integer((json_int_t)judgement->checked));
    json_object_set_new(reply, "of", json_integer((json_int_t)judgement->of));
    json_object_set_new(reply, "max_error", json_real(finite_or(judgement->max_error, -1)));
    json_object_set_new(reply, "bound", json_real(finite_or(judgement->bound, -1)));
    json_object_set_new(reply, "max_ratio", json_real(finite_or(judgement->max_ratio, -1)));
    bench_worker_put_text(reply, "text", judgement->text);
    bench_worker_put_text(reply, "by", judgement->by[0] ? judgement->by : NULL);
}

static json_t *check(described *d, const json_t *request)
{
    static checking c;
    memset(&c, 0, sizeof c);
    if (!take_point(d, request, c.reason))
        return bench_worker_answer(BENCH_ERROR, c.reason);
    c.seed = (uint64_t)json_integer_value(json_object_get(request, "seed"));
    c.repeats = json_integer_value(json_object_get(request, "repeat"));
    bench_simulator_log simulator = {.path = NULL};
    if (d->is_simulator)
        bench_simulator_log_begin(&simulator);
    bench_worker_say("compiling the kernel");
    char *log = NULL;
    c.stage = "compile";
    bench_answer answer = bench_kernel_compile(&d->launcher, &d->point, &log, c.reason);
    if (answer == BENCH_OK) {
        bench_worker_say("preparing the kernel's buffers");
        c.stage = "prepare";
        answer = bench_kernel_job_begin(&c.job, &d->launcher, &d->point, c.seed, c.reason);
        if (answer == BENCH_OK) {
            bench_worker_say("running the kernel");
            c.stage = "run";
            answer = run_repeatedly(&c);
        }
        if (answer == BENCH_OK && c.judgement.is_right)
            answer = vary_groups(&c);
        bench_kernel_job_end(&c.job);
    }
    json_t *reply = bench_worker_answer(answer, c.reason);
    json_object_set_new(reply, "stage", json_string(c.stage));
    bench_worker_put_text(reply, "log", log);
    free(log);
    if (d->is_simulator)
        json_object_set_new(reply, "findings", bench_simulator_log_take(&simulator));
    if (answer == BENCH_OK)
        put_judgement(reply, &c.judgement);
    return reply;
}

json_t *bench_kernel_request(bench_husk_session *session, const char *what, json_t *request)
{
    if (!strcmp(what, "describe"))
        return describe(session, request);
    if (!strcmp(what, "compile_kernel"))
        return compile(session->described, request);
    if (!strcmp(what, "check_kernel"))
        return check(session->described, request);
    return NULL;
}
