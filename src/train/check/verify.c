// SPDX-License-Identifier: MIT
#include "train/check/verify.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { MOST_CANDIDATES = 64, VARIANT = 128, REJECTED = 600, ALIGNMENT = 64 };

// Calls that were verified, by what their params were before.
typedef struct verdict {
    husk__call *call;
    husk__node_params params;
} verdict;

typedef struct verifying {
    husk_graph *graph;
    const husk__train_scope *scope;
    husk_queue *queue;
    verdict *verdicts;
    int32_t count;
    uint64_t build_ns; /* that programs had taken before */
    char rejected[REJECTED]; /* of the call that is being verified, "a:b, c:d" */
} verifying;

static void say(const verifying *v, husk_log_level level, const husk__call *call, const char *text)
{
    char line[1024];
    snprintf(line, sizeof line, "%s: %s: %s: %s", v->scope->call, v->graph->nodes[call->node].name, call->verifier->op,
             text);
    husk_context_log(v->graph->context, level, line);
}

// ---- calls that are the same ----

static bool are_alike(const husk__slot *a, const husk__slot *b)
{
    if (a->storage < 0 || b->storage < 0)
        return a->storage < 0 && b->storage < 0;
    const husk_tensor *x = &a->tensor, *y = &b->tensor;
    return x->dtype == y->dtype && x->rank == y->rank && x->offset % ALIGNMENT == y->offset % ALIGNMENT &&
           memcmp(x->shape, y->shape, sizeof *x->shape * (size_t)x->rank) == 0 &&
           memcmp(x->strides, y->strides, sizeof *x->strides * (size_t)x->rank) == 0;
}

static const verdict *find_verdict(const verifying *v, const husk__call *call)
{
    for (int32_t i = 0; i < v->count; i++) {
        const verdict *known = &v->verdicts[i];
        bool is_same = known->call->verifier == call->verifier && known->call->slot_count == call->slot_count &&
                       memcmp(&known->params, &call->params, sizeof call->params) == 0;
        for (int32_t s = 0; s < call->slot_count && is_same; s++)
            is_same = are_alike(&known->call->slots[s], &call->slots[s]);
        if (is_same)
            return known;
    }
    return NULL;
}

// ---- other variants ----

// From now on the call's params name this variant; its plan, if it has one, is made anew.
static husk_status name_variant(const verifying *v, husk__call *call, const char *variant, husk_error *error)
{
    const size_t size = strlen(variant) + 1;
    char *copy = malloc(size);
    if (!copy)
        return HUSK_OUT_OF_HOST_MEMORY;
    memcpy(copy, variant, size);
    *call->verifier->variant(&call->params) = copy;
    free(call->variant);
    call->variant = copy;
    if (!call->plan_create)
        return HUSK_OK;
    husk_plan_release(call->plan);
    call->plan = NULL;
    return call->plan_create(v->graph, call, error);
}

static void variant_of(const husk_plan *plan, char text[VARIANT])
{
    snprintf(text, VARIANT, "%s:%s", husk_plan_variant(plan), husk_plan_configuration(plan));
}

// "a:b, c:d" has "c:d" or, with `any`, some configuration of c.
static bool is_rejected(const verifying *v, const char *variant, const char *configuration)
{
    char text[VARIANT];
    snprintf(text, sizeof text, "%s:%s", variant, configuration ? configuration : "");
    const size_t length = strlen(text);
    for (const char *at = v->rejected; *at; at += strcspn(at, " "), at += *at == ' ')
        if (strncmp(at, text, length) == 0 && (!configuration || at[length] == 0 || at[length] == ','))
            return true;
    return false;
}

static void reject(verifying *v, const char *variant)
{
    const size_t used = strlen(v->rejected);
    snprintf(v->rejected + used, sizeof v->rejected - used, "%s%s", used ? ", " : "", variant);
}

// Run the call with the variant that it names. OK with a finding; what else it answers is a failure of the call.
static husk_status check(const verifying *v, const husk__call *call, husk__finding *finding)
{
    *finding = (husk__finding){0};
    return call->verifier->check(call, v->queue, finding);
}

static const husk_error *failure_of(const verifying *v, const husk__finding *finding)
{
    return finding->failure.status ? &finding->failure : husk_queue_error(v->queue);
}

static bool is_passed_over(husk_status status)
{
    return status == HUSK_UNSUPPORTED || status == HUSK_BUILD_FAILED || status == HUSK_OUT_OF_MEMORY;
}

// Try a candidate: *is_right, or it is rejected. error: of what fails otherwise, where there is a text.
static husk_status try_variant(verifying *v, husk__call *call, const char *variant, bool *is_right, husk_error *error)
{
    husk__finding finding = {0};
    char text[512];
    *error = (husk_error){0};
    husk_status status = name_variant(v, call, variant, error);
    if (!status && (status = check(v, call, &finding)))
        *error = *failure_of(v, &finding);
    *is_right = !status && !finding.is_wrong;
    if (*is_right) {
        snprintf(text, sizeof text, "variant %s takes its place", variant);
        say(v, HUSK_LOG_INFORMATION, call, text);
    } else {
        reject(v, variant);
        if (finding.is_wrong) {
            snprintf(text, sizeof text, "variant %s computes wrongly: %s; it is not used", variant, finding.text);
            say(v, HUSK_LOG_WARNING, call, text);
        }
    }
    husk_plan_release(finding.plan);
    return is_passed_over(status) ? HUSK_OK : status;
}

// Other variants first, which have other kernels; then other configurations of those that were wrong.
static husk_status replace(verifying *v, husk__call *call, const husk_plan *wrong)
{
    husk_tuning_candidate candidates[MOST_CANDIDATES];
    size_t count = 0;
    husk_error error = {0};
    bool is_right = false;
    husk_status status = husk_tuning_candidates(v->graph->context, wrong, candidates, MOST_CANDIDATES, &count, &error);
    if (status)
        return husk__caused_by(v->scope->error, &error, husk__train_fail(v->scope, status, "%s", error.text));
    count = count < MOST_CANDIDATES ? count : MOST_CANDIDATES;
    for (int others = 1; others >= 0 && !is_right && !status; others--)
        for (size_t i = 0; i < count && !is_right && !status; i++) {
            char variant[VARIANT];
            const husk_tuning_candidate *c = &candidates[i];
            snprintf(variant, sizeof variant, "%s:%s", c->variant, c->configuration);
            if (!is_rejected(v, c->variant, others ? NULL : c->configuration))
                status = try_variant(v, call, variant, &is_right, &error);
        }
    if (status && error.status != status) { // nobody has left a text of it
        error.opencl_code = 0;
        snprintf(error.text, sizeof error.text, "%s", husk_status_text(status));
    }
    if (status)
        return husk__caused_by(v->scope->error, &error,
                               husk__train_fail(v->scope, status, "%s: %s: %s", v->graph->nodes[call->node].name,
                                                call->verifier->op, error.text));
    if (is_right)
        return HUSK_OK;
    return husk__train_fail(v->scope, HUSK_UNSUPPORTED,
                            "%s: no variant of %s computes this rightly on this device; tried: %s",
                            v->graph->nodes[call->node].name, call->verifier->op, v->rejected);
}

// ---- a call ----

static husk_status answer_wrong(verifying *v, husk__call *call, const husk__finding *finding)
{
    const char *named = *call->verifier->variant(&call->params);
    char variant[VARIANT], text[512];
    variant_of(finding->plan, variant);
    snprintf(text, sizeof text, "variant %s computes wrongly: %s; it is not used", variant, finding->text);
    say(v, HUSK_LOG_WARNING, call, text);
    if (named)
        return husk__train_fail(v->scope, HUSK_UNSUPPORTED,
                                "%s: %s: variant %s, which params name, computes wrongly: %s",
                                v->graph->nodes[call->node].name, call->verifier->op, variant, finding->text);
    v->rejected[0] = 0;
    reject(v, variant);
    return replace(v, call, finding->plan);
}

// What was verified is what will run, whatever is tuned later: a call without a plan names it.
static husk_status keep(verifying *v, husk__call *call, const husk__finding *finding)
{
    char variant[VARIANT];
    if (call->plan_create || *call->verifier->variant(&call->params))
        return HUSK_OK;
    variant_of(finding->plan, variant);
    return name_variant(v, call, variant, NULL) ? husk__train_no_memory(v->scope) : HUSK_OK;
}

static husk_status take_over(verifying *v, husk__call *call, const husk__call *known)
{
    if (call->plan) {
        husk_plan_retain(known->plan);
        husk_plan_release(call->plan);
        call->plan = known->plan;
        return HUSK_OK;
    }
    return known->variant && name_variant(v, call, known->variant, NULL) ? husk__train_no_memory(v->scope) : HUSK_OK;
}

static husk_status verify_call(verifying *v, husk__call *call)
{
    const verdict *known = find_verdict(v, call);
    if (known)
        return take_over(v, call, known->call);
    husk__finding finding;
    v->verdicts[v->count].call = call;
    v->verdicts[v->count++].params = call->params;
    husk_status status = check(v, call, &finding);
    if (status == HUSK_OUT_OF_MEMORY || status == HUSK_OUT_OF_HOST_MEMORY) {
        say(v, HUSK_LOG_WARNING, call, "it is not verified: there is no memory for that");
        status = HUSK_OK;
    } else if (status)
        status =
            husk__caused_by(v->scope->error, failure_of(v, &finding),
                            husk__train_fail(v->scope, status, "%s: %s%s", v->graph->nodes[call->node].name,
                                             call->is_backward ? "gradient: " : "", failure_of(v, &finding)->text));
    else
        status = finding.is_wrong ? answer_wrong(v, call, &finding) : keep(v, call, &finding);
    husk_plan_release(finding.plan);
    return status;
}

static double seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static void say_all(const verifying *v, double took)
{
    husk_program_stats programs;
    char line[160];
    husk_context_program_stats(v->graph->context, &programs);
    snprintf(line, sizeof line, "%s: %d different calls were verified in %.0f ms, of which programs took %.0f ms",
             v->scope->call, (int)v->count, 1e3 * took, 1e-6 * (double)(programs.build_ns - v->build_ns));
    husk_context_log(v->graph->context, HUSK_LOG_INFORMATION, line);
}

husk_status husk__verify(husk_graph *graph, husk__compiled *compiled, const husk__train_scope *scope)
{
    verifying v = {.graph = graph, .scope = scope};
    int32_t calls = 0;
    for (int mode = 0; mode < 2; mode++)
        for (int32_t c = 0; c < compiled->schedules[mode].count; c++)
            calls += compiled->schedules[mode].calls[c].verifier != NULL;
    if (calls == 0)
        return HUSK_OK;
    husk_error error;
    husk_memory_stats before;
    husk_program_stats programs;
    husk_context_program_stats(graph->context, &programs);
    v.build_ns = programs.build_ns;
    const double began = seconds();
    husk_context_memory_stats(graph->context, &before);
    v.verdicts = calloc((size_t)calls, sizeof *v.verdicts);
    if (!v.verdicts)
        return husk__train_no_memory(scope);
    // A queue of its own, whose scratch memory ends with it.
    husk_status status = husk_queue_create(graph->context, NULL, &v.queue, &error);
    if (status)
        status = husk__caused_by(scope->error, &error, husk__train_fail(scope, status, "%s", error.text));
    for (int mode = 0; mode < 2; mode++)
        for (int32_t c = 0; c < compiled->schedules[mode].count && !status; c++)
            if (compiled->schedules[mode].calls[c].verifier)
                status = verify_call(&v, &compiled->schedules[mode].calls[c]);
    if (v.queue)
        husk_queue_finish(v.queue);
    husk_queue_release(v.queue);
    husk_context_trim(graph->context, before.cached_bytes);
    if (!status)
        say_all(&v, seconds() - began);
    free(v.verdicts);
    return status;
}
