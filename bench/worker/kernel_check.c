// SPDX-License-Identifier: MIT
#include "worker/kernel_check.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/text.h"
#include "worker/kernel_expected.h"
#include "worker/session.h"

// What a check is at.
typedef struct checking {
    bench_kernel_job *job;
    uint64_t seed;
    int64_t repeats;
    bench_judgement *judgement;
    char *reason;
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
    for (int i = 0; i < c->job->point->spec->buffer_count; i++) {
        kept[i] = malloc(c->job->buffers[i].bytes);
        if (!kept[i])
            return false;
        memcpy(kept[i], c->job->buffers[i].after, c->job->buffers[i].bytes);
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
    const bench_spec *spec = c->job->point->spec;
    for (int i = 0; i < spec->buffer_count && c->judgement->is_right; i++) {
        const bench_kernel_buffer *buffer = &c->job->buffers[i];
        const size_t bytes = bench_element_bytes(spec->buffers[i].element);
        if (!is_output(&spec->buffers[i]) || may_differ(spec, i) || !memcmp(kept[i], buffer->after, buffer->bytes))
            continue;
        const bool has_poison = spec->buffers[i].generator.filling == BENCH_FILL_POISON;
        for (size_t at = 0; at < buffer->bytes / bytes; at++) {
            const char *first = (const char *)kept[i] + at * bytes, *now = (const char *)buffer->after + at * bytes;
            if (!memcmp(first, now, bytes) || (has_poison && is_poison(buffer, at, bytes)))
                continue;
            c->judgement->is_right = false;
            snprintf(c->judgement->text, sizeof c->judgement->text,
                     "%s[%zu] is %.9g after the first run and %.9g after run %" PRId64
                     ", of the same inputs; where the order of sums may differ, say `in any order`",
                     spec->symbols.items[spec->buffers[i].symbol].name, at,
                     bench_element_load(spec->buffers[i].element, kept[i], (int64_t)at),
                     bench_element_load(spec->buffers[i].element, buffer->after, (int64_t)at), run);
            break;
        }
    }
}

bench_answer bench_kernel_check_last(bench_kernel_job *job, uint64_t seed, bool with_results,
                                     bench_judgement *judgement, char reason[BENCH_REASON_TEXT])
{
    char found[BENCH_REASON_TEXT] = "";
    bench_judgement_begin(judgement);
    bench_answer answer = with_results ? bench_kernel_read(job, reason) : BENCH_OK;
    if (answer == BENCH_OK)
        answer = bench_kernel_guards(job, found, reason);
    if (answer == BENCH_OK && with_results && !bench_kernel_judge(job, seed, judgement, reason))
        answer = BENCH_ERROR;
    if (answer == BENCH_OK && judgement->is_mistake && !found[0]) {
        bench_explain(reason, BENCH_REASON_TEXT, "%s", judgement->text);
        answer = BENCH_ERROR;
    }
    // It is said beside what else is wrong, which may be its consequence.
    if (answer == BENCH_OK && found[0]) {
        char text[BENCH_REASON_TEXT];
        snprintf(text, sizeof text, "it wrote beside a buffer: %.500s%s%.400s", found,
                 judgement->is_right ? "" : "; and ", judgement->is_right ? "" : judgement->text);
        snprintf(judgement->text, sizeof judgement->text, "%s", text);
        judgement->is_right = false;
        judgement->is_beside = true;
    }
    return answer;
}

static bench_answer run_once(checking *c, int which)
{
    bench_answer answer = bench_kernel_reset(c->job, which, c->reason);
    if (answer == BENCH_OK)
        answer = bench_kernel_run(c->job, which, c->reason);
    return answer == BENCH_OK ? bench_kernel_check_last(c->job, c->seed, true, c->judgement, c->reason) : answer;
}

// Once, and again from other poison: the same bits.
static bench_answer run_repeatedly(checking *c)
{
    void *kept[BENCH_MOST_BUFFERS] = {NULL};
    bench_answer answer = run_once(c, 0);
    if (answer == BENCH_OK && c->judgement->is_right && !keep(c, kept)) {
        snprintf(c->reason, BENCH_REASON_TEXT, "host memory does not suffice");
        answer = BENCH_ERROR;
    }
    const bench_judgement first = *c->judgement;
    for (int64_t run = 2; run <= c->repeats && answer == BENCH_OK && c->judgement->is_right; run++) {
        answer = run_once(c, (int)(run & 1) ? 0 : 1);
        if (answer == BENCH_OK && c->judgement->is_right)
            compare_runs(c, kept, run);
    }
    if (c->judgement->is_right)
        *c->judgement = first;
    for (int i = 0; i < BENCH_MOST_BUFFERS; i++)
        free(kept[i]);
    return answer;
}

// A kernel whose work-group the driver chooses has to be right in any: single work-items, and the largest that fits.
static bench_answer vary_groups(checking *c)
{
    bench_answer answer = BENCH_OK;
    const bench_judgement first = *c->judgement;
    for (int i = 0; i < c->job->point->spec->step_count && answer == BENCH_OK; i++) {
        bench_kernel_step *step = &c->job->steps[i];
        size_t most = 1;
        if (step->has_local)
            continue;
        clGetKernelWorkGroupInfo(step->kernel, c->job->launcher->device, CL_KERNEL_WORK_GROUP_SIZE, sizeof most, &most,
                                 NULL);
        size_t larger = 1;
        while (2 * larger <= most && step->global[0] % (2 * larger) == 0)
            larger *= 2;
        const size_t sizes[] = {1, larger};
        step->has_local = true;
        for (int k = 0; k < 2 && answer == BENCH_OK && c->judgement->is_right; k++) {
            if (k == 1 && larger == 1)
                break;
            step->local[0] = sizes[k];
            step->local[1] = step->local[2] = 1;
            answer = run_once(c, k);
            if (answer == BENCH_OK && !c->judgement->is_right) {
                char text[BENCH_REASON_TEXT];
                snprintf(text, sizeof text,
                         "right in the work-groups that the driver chose, and in those of %zu: %.800s", sizes[k],
                         c->judgement->text);
                snprintf(c->judgement->text, sizeof c->judgement->text, "%s", text);
            }
        }
        step->has_local = false;
        // A size that the device refuses for this kernel says nothing of it.
        if (answer == BENCH_UNSUPPORTED)
            answer = BENCH_OK;
    }
    if (c->judgement->is_right)
        *c->judgement = first;
    return answer;
}

bench_answer bench_kernel_check(bench_kernel_job *job, uint64_t seed, int64_t repeats, bench_judgement *judgement,
                                char reason[BENCH_REASON_TEXT])
{
    checking c = {.job = job, .seed = seed, .repeats = repeats, .judgement = judgement, .reason = reason};
    bench_judgement_begin(judgement);
    const bench_answer answer = run_repeatedly(&c);
    return answer == BENCH_OK && judgement->is_right ? vary_groups(&c) : answer;
}

static double finite_or(double value, double otherwise)
{
    return isfinite(value) ? value : otherwise;
}

void bench_kernel_put_judgement(json_t *reply, const bench_judgement *judgement)
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
