// SPDX-License-Identifier: MIT
// What a tuner asks: by what a problem is known, and what computes it.
#include <stdio.h>

#include "runtime/call.h"
#include "select/choose.h"
#include "select/plan_cache.h"
#include "select/tuning.h"
#include "select/tuning_key.h"

husk_choice husk_plan_choice(const husk_plan *plan)
{
    return plan ? plan->choice : HUSK_CHOICE_PREDICTED;
}

const char *husk_choice_text(husk_choice choice)
{
    static const char *const texts[] = {"predicted",   "named",  "environment", "tuned",
                                        "tuned class", "family", "family class"};
    return (size_t)choice < sizeof texts / sizeof *texts ? texts[choice] : "unknown";
}

// The plan, or the latest immediate call's; released by the caller. NULL is no failure.
static husk_status begin(husk_context *context, const husk_plan *plan, const char *call, husk_error *error,
                         husk_plan **found, husk__scope *scope)
{
    husk_status status = husk__context_call_begin(context, call, error, scope);
    *found = NULL;
    if (status != HUSK_OK)
        return status;
    husk__plan_cache *cache = husk__plan_cache_of(context);
    if (!cache)
        return husk__fail(scope, HUSK_OUT_OF_HOST_MEMORY, "no host memory for plans");
    if (plan && plan->context != context)
        return husk__reject(scope, "plan", "belongs to another context");
    if (plan) {
        *found = (husk_plan *)(uintptr_t)plan;
        husk_plan_retain(*found);
    } else {
        *found = husk__plan_cache_latest(cache);
    }
    return HUSK_OK;
}

husk_status husk_tuning_key_get(husk_context *context, const husk_plan *given, husk_tuning_key *key,
                                husk_error *error)
{
    husk_plan *plan;
    husk__scope scope;
    husk_status status = begin(context, given, "husk_tuning_key_get", error, &plan, &scope);
    if (status == HUSK_OK && !key)
        status = husk__reject(&scope, "key", "is NULL");
    if (status == HUSK_OK) {
        husk__tuning_key_device(husk_context_traits(context), key);
        if (plan) {
            husk__tuning_key_problem(plan->op, plan->problem, plan->is_call, key);
            husk__tuning_kernels_of(husk__plan_cache_tuning(husk__plan_cache_of(context)), plan->op,
                                    key->kernels);
            snprintf(key->variant, sizeof key->variant, "%s:%s", plan->variant->name,
                     plan->configuration->name);
            key->choice = plan->choice;
        }
    }
    husk_plan_release(plan);
    return status;
}

husk_status husk_tuning_candidates(husk_context *context, const husk_plan *given,
                                   husk_tuning_candidate *candidates, size_t capacity, size_t *count,
                                   husk_error *error)
{
    husk_plan *plan;
    husk__scope scope;
    husk__ranking ranking;
    husk_status status = begin(context, given, "husk_tuning_candidates", error, &plan, &scope);
    if (status == HUSK_OK && !count)
        status = husk__reject(&scope, "count", "is NULL");
    if (status == HUSK_OK && !candidates && capacity)
        status = husk__reject(&scope, "candidates", "is NULL, but capacity is %zu", capacity);
    if (status == HUSK_OK && !plan)
        status = husk__reject(&scope, "plan", "is NULL, and there was no immediate call");
    if (status == HUSK_OK)
        status = husk__rank(plan->op, plan->problem, husk_context_traits(context), NULL,
                            plan->workspace_limit, &ranking, &scope);
    for (size_t i = 0; status == HUSK_OK && i < ranking.count && i < capacity; ++i) {
        const husk__ranked *ranked = &ranking.candidates[i];
        const bool is_foreign = ranked->cost >= HUSK__FOREIGN_COST;
        candidates[i] = (husk_tuning_candidate){ranked->variant->name, ranked->configuration->name,
                                                ranked->cost - (is_foreign ? HUSK__FOREIGN_COST : 0.0),
                                                ranked->workspace, is_foreign};
    }
    if (status == HUSK_OK)
        *count = ranking.count;
    husk_plan_release(plan);
    return status;
}
