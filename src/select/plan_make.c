// SPDX-License-Identifier: MIT
#include "select/plan_make.h"

#include <stdlib.h>
#include <string.h>

#include "select/choose.h"
#include "select/state.h"
#include "select/verbose.h"

// One candidate made ready; inside_limit: for it and the plans inside it. The plan does not hold the context yet.
static husk_status prepare_within(husk_context *context, const husk__op *op, const void *problem,
                                  const husk__preference *preference, uint64_t inside_limit, const husk__ranked *ranked,
                                  husk_plan **plan, const husk__scope *scope)
{
    husk_plan *made = calloc(1, sizeof *made);
    void *copy = malloc(op->problem_size);
    if (!made || !copy) {
        free(made);
        free(copy);
        return husk__fail(scope, HUSK_OUT_OF_HOST_MEMORY, "no host memory for a plan");
    }
    memcpy(copy, problem, op->problem_size);
    atomic_init(&made->references, 1);
    made->context = context;
    made->op = op;
    made->variant = ranked->variant;
    made->configuration = ranked->configuration;
    made->problem = copy;
    made->workspace = ranked->workspace;
    made->limit = preference->limit;
    made->predicted_ns = ranked->cost;
    made->inside_limit = inside_limit;
    const husk__candidate candidate = husk__candidate_of(made);
    made->flops = ranked->variant->flops ? ranked->variant->flops(&candidate) : 0.0;
    made->error_factor = ranked->variant->error_factor ? ranked->variant->error_factor(&candidate) : 0.0;
    husk_status status = ranked->variant->prepare(made, scope);
    if (status != HUSK_OK)
        husk_plan_release(made);
    else
        *plan = made;
    return status;
}

// Each plan inside keeps to what is left of the limit; together they may take more, as a queue keeps the most that any
// takes at each depth. Then all of them are planned again with less than the largest takes: with more, all would be the
// same again.
static husk_status prepare(husk_context *context, const husk__op *op, const void *problem,
                           const husk__preference *preference, const husk__ranked *ranked, husk_plan **plan,
                           const husk__scope *scope)
{
    uint64_t inside_limit = preference->inside_limit, bytes = 0;
    for (;;) {
        const husk_status status = prepare_within(context, op, problem, preference, inside_limit, ranked, plan, scope);
        if (status == HUSK_UNSUPPORTED && bytes > 0)
            break;
        if (status != HUSK_OK || preference->inside_limit == 0)
            return status;
        bytes = husk_plan_workspace(*plan);
        if (bytes <= preference->inside_limit)
            return HUSK_OK;
        const uint64_t largest = (*plan)->workspace + (*plan)->largest_inside;
        husk_plan_release(*plan);
        *plan = NULL;
        if (largest > inside_limit) // it does not go by limits
            break;
        inside_limit = largest - 1;
    }
    return husk__fail(scope, HUSK_UNSUPPORTED,
                      "variant %s needs %llu bytes of workspace with the plans inside it, the limit is %llu",
                      ranked->variant->name, (unsigned long long)bytes, (unsigned long long)preference->inside_limit);
}

bool husk__plan_is_refused(husk_status status)
{
    return status == HUSK_UNSUPPORTED || status == HUSK_BUILD_FAILED;
}

// What a plan is to be made for, and how its variant may be chosen.
typedef struct request {
    husk_context *context;
    const husk__op *op;
    const void *problem;
    const husk__preference *preference;
    bool is_call;
    husk__select_state *state;
    bool *has_skipped; // set where a candidate is left out because the device has refused it
} request;

static husk_status lacks_memory(const husk__scope *scope)
{
    return husk__fail(scope, HUSK_OUT_OF_HOST_MEMORY, "no host memory for the tuning databases");
}

// Not to be taken unless it is named: what the device has refused, or what a tuning database says to be wrong.
static husk_status ask_out(const request *r, const husk__ranked *ranked, bool *is_out, bool *is_wrong,
                           const husk__scope *scope)
{
    *is_out = husk__rejections_have(&r->state->rejections, ranked->variant, ranked->configuration);
    *r->has_skipped |= *is_out;
    if (*is_out)
        return HUSK_OK;
    const bool is_known =
        husk__tuning_is_wrong(r->state->tuning, r->op, ranked->variant, ranked->configuration, is_wrong);
    return is_known ? HUSK_OK : lacks_memory(scope);
}

// What a tuning database says to be wrong is not computed, even where there is nothing else.
static husk_status nothing_left(const request *r, const husk__ranked *wrong, const husk__scope *scope)
{
    return husk__fail(scope, HUSK_UNSUPPORTED,
                      "no variant of %s computes this here; a tuning database says that %s:%s computes wrongly",
                      r->op->name, wrong->variant->name, wrong->configuration->name);
}

static husk_status prepare_first(const request *r, const husk__ranking *ranking, husk_choice choice, husk_plan **plan,
                                 const husk__scope *scope)
{
    const husk__ranked *wrong = NULL;
    husk_status status = husk__fail(scope, HUSK_UNSUPPORTED, "no variant of %s computes this here%s%s", r->op->name,
                                    ranking->reason[0] ? "; " : "", ranking->reason);
    for (size_t i = 0; i < ranking->count; ++i) {
        const husk__ranked *ranked = &ranking->candidates[i];
        bool is_out = false, is_wrong = false;
        const husk_status asked = choice != HUSK_CHOICE_NAMED ? ask_out(r, ranked, &is_out, &is_wrong, scope) : HUSK_OK;
        if (asked != HUSK_OK)
            return asked;
        if (is_wrong && !wrong)
            wrong = ranked;
        if (is_out || is_wrong) {
            husk__verbose_refused(r->context, r->op, r->problem, ranked,
                                  is_out ? "the device has refused it before" : "a tuning database says it is wrong");
            continue;
        }
        status = prepare(r->context, r->op, r->problem, r->preference, ranked, plan, scope);
        if (status == HUSK_OK) {
            (*plan)->choice = choice;
            (*plan)->is_call = r->is_call;
        }
        if (!husk__plan_is_refused(status))
            return status;
        husk__verbose_refused(r->context, r->op, r->problem, ranked, scope->error->text);
        husk__log_write(husk__context_log(r->context), HUSK_LOG_INFORMATION,
                        "%s: variant %s, configuration %s, is refused: %s", r->op->name, ranked->variant->name,
                        ranked->configuration->name, scope->error->text);
    }
    return wrong ? nothing_left(r, wrong, scope) : status;
}

static husk_status rank(const request *r, const char *wanted, bool is_named, husk__ranking *ranking,
                        const husk__scope *scope)
{
    husk__target target;
    husk_status status = husk__target_find(r->context, &target, scope);
    if (status == HUSK_OK)
        status = husk__rank(r->op, r->problem, &target, wanted, is_named, r->preference->limit, ranking, scope);
    if (status == HUSK_OK)
        husk__verbose_candidates(r->context, r->op, r->problem, wanted, is_named, r->preference->limit, ranking);
    return status;
}

// HUSK_VARIANT is a preference. *plan stays NULL where it gives way.
static husk_status choose_preferred(const request *r, husk_plan **plan, const husk__scope *scope)
{
    char preferred[96];
    husk__ranking ranking;
    if (!husk__variant_from_list(r->state->variant_list.text, r->op->name, preferred, sizeof preferred))
        return HUSK_OK;
    const husk_status found = rank(r, preferred, true, &ranking, scope);
    const bool exists = found == HUSK_OK;
    if (!exists && found != HUSK_INVALID_ARGUMENT) // want of memory says nothing of the name
        return found;
    const char *reason = exists ? ranking.reason : scope->error->text;
    if (exists && ranking.count > 0) {
        const husk_status status = prepare_first(r, &ranking, HUSK_CHOICE_ENVIRONMENT, plan, scope);
        // It gives way to what cannot change: want of memory would leave another variant in the cache for good.
        if (!husk__plan_is_refused(status))
            return status;
        reason = scope->error->text;
    }
    husk__log_write(husk__context_log(r->context), HUSK_LOG_WARNING,
                    "HUSK_VARIANT: %s cannot compute this problem (%s); another variant is taken", preferred, reason);
    return HUSK_OK;
}

// So is what a database says; what it says wrongly is never the caller's failure.
static husk_status choose_tuned(const request *r, husk_plan **plan, const husk__scope *scope)
{
    husk__suggestion suggestions[HUSK__MAX_SUGGESTIONS];
    husk__ranking ranking;
    size_t count;
    if (!husk__tuning_find(r->state->tuning, r->op, r->problem, r->is_call, suggestions, &count))
        return lacks_memory(scope);
    for (size_t i = 0; i < count; ++i) {
        const char *wanted = suggestions[i].variant;
        husk_status status = rank(r, wanted, false, &ranking, scope);
        if (status != HUSK_OK && status != HUSK_INVALID_ARGUMENT) // as above
            return status;
        const char *reason = status != HUSK_OK ? scope->error->text : ranking.reason;
        if (status == HUSK_OK && ranking.count > 0) {
            status = prepare_first(r, &ranking, suggestions[i].choice, plan, scope);
            if (!husk__plan_is_refused(status))
                return status;
            reason = scope->error->text;
        }
        husk__log_write(husk__context_log(r->context), HUSK_LOG_INFORMATION, "tuning: %s of %s is not taken: %s",
                        wanted, r->op->name, reason);
    }
    return HUSK_OK;
}

// The order of choice. A named variant is binding.
static husk_status choose(const request *r, husk_plan **plan, const husk__scope *scope)
{
    husk__ranking ranking;
    husk_status status = HUSK_OK;
    *plan = NULL;
    if (!r->preference->variant)
        status = choose_preferred(r, plan, scope);
    if (status == HUSK_OK && !*plan && !r->preference->variant)
        status = choose_tuned(r, plan, scope);
    if (status != HUSK_OK || *plan)
        return status;
    status = rank(r, r->preference->variant, r->preference->variant != NULL, &ranking, scope);
    if (status != HUSK_OK)
        return status;
    return prepare_first(r, &ranking, r->preference->variant ? HUSK_CHOICE_NAMED : HUSK_CHOICE_PREDICTED, plan, scope);
}

// A candidate's refusal is the caller's error only if no other candidate takes its place.
husk_status husk__plan_make(husk_context *context, const husk__op *op, const void *problem,
                            const husk__preference *preference, bool is_call, husk_plan **plan, bool *has_skipped,
                            const husk__scope *scope)
{
    husk_error error = {0};
    const husk__scope own = {scope->call, &error};
    request r = {context, op, problem, preference, is_call, NULL, has_skipped};
    *has_skipped = false;
    husk_status status = husk__select_state_find(context, &r.state, &own);
    if (status == HUSK_OK)
        status = choose(&r, plan, &own);
    if (status != HUSK_OK && scope->error)
        *scope->error = error;
    return status;
}

bool husk__plan_may_be_tried_again(husk_context *context, const husk__op *op, bool has_skipped, husk_status status)
{
    return has_skipped && husk__plan_is_refused(status) &&
           husk__rejections_pardon(&husk__select_state_of(context)->rejections, op);
}

husk_status husk__plan_create(husk_context *context, const husk__op *op, const void *problem,
                              const husk__preference *preference, husk_plan **plan, const husk__scope *scope)
{
    bool has_skipped;
    husk_status status = husk__plan_make(context, op, problem, preference, false, plan, &has_skipped, scope);
    if (husk__plan_may_be_tried_again(context, op, has_skipped, status))
        status = husk__plan_make(context, op, problem, preference, false, plan, &has_skipped, scope);
    if (status == HUSK_OK) {
        husk_context_retain(context);
        (*plan)->holds_context = true;
    }
    return status;
}
