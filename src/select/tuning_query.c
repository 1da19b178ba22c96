// SPDX-License-Identifier: MIT
// Tuning as a program sees it: databases that it gives, and what a tuner asks, by what a problem is known and what
// computes it.
#include <stdio.h>

#include "base/params.h"
#include "runtime/begin.h"
#include "select/choose.h"
#include "select/state.h"
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

husk_status husk_tuning_key_get(husk_context *context, const husk_plan *plan, husk_tuning_key *key, husk_error *error)
{
    husk__scope scope;
    husk_status status = husk__context_call_begin(context, "husk_tuning_key_get", error, &scope);
    if (status != HUSK_OK)
        return status;
    if (plan && plan->context != context)
        return husk__reject(&scope, "plan", "belongs to another context");
    if (!key)
        return husk__reject(&scope, "key", "is NULL");
    if (!husk__tuning_key_device(husk_context_traits(context), key))
        return husk__fail(&scope, HUSK_OUT_OF_HOST_MEMORY, "no host memory for a key");
    husk__select_state *state = husk__select_state_of(context);
    if (!state)
        return husk__fail(&scope, HUSK_OUT_OF_HOST_MEMORY, "no host memory for databases");
    if (!plan && husk__tuning_all_kernels(state->tuning, key->kernels))
        return HUSK_OK;
    if (!plan)
        return husk__fail(&scope, HUSK_OUT_OF_HOST_MEMORY, "no host memory for a key");
    bool lacks_memory;
    husk__tuning_key_problem(plan->op, plan->problem, plan->is_call, key, &lacks_memory);
    if (!husk__tuning_kernels_of(state->tuning, plan->op, key->kernels) || lacks_memory)
        return husk__fail(&scope, HUSK_OUT_OF_HOST_MEMORY, "no host memory for a key");
    snprintf(key->variant, sizeof key->variant, "%s:%s", plan->variant->name, plan->configuration->name);
    key->choice = plan->choice;
    return HUSK_OK;
}

husk_status husk_tuning_candidates(husk_context *context, const husk_plan *plan, husk_tuning_candidate *candidates,
                                   size_t capacity, size_t *count, husk_error *error)
{
    husk__scope scope;
    husk__ranking ranking;
    husk_status status = husk__context_call_begin(context, "husk_tuning_candidates", error, &scope);
    if (status != HUSK_OK)
        return status;
    if (!plan || plan->context != context)
        return husk__reject(&scope, "plan", plan ? "belongs to another context" : "is NULL");
    if (!candidates && capacity)
        return husk__reject(&scope, "candidates", "is NULL, but capacity is %zu", capacity);
    if (!count)
        return husk__reject(&scope, "count", "is NULL");
    husk__target target;
    status = husk__target_find(context, &target, &scope);
    if (status == HUSK_OK)
        status = husk__rank(plan->op, plan->problem, &target, NULL, false, plan->limit, &ranking, &scope);
    if (status != HUSK_OK)
        return status;
    for (size_t i = 0; i < ranking.count && i < capacity; ++i) {
        const husk__ranked *ranked = &ranking.candidates[i];
        candidates[i] = (husk_tuning_candidate){ranked->variant->name, ranked->configuration->name, ranked->cost,
                                                ranked->workspace, ranked->is_foreign};
    }
    *count = ranking.count;
    return HUSK_OK;
}

husk_status husk_context_load_tuning(husk_context *context, const husk_tuning_params *given, husk_error *error)
{
    husk__scope scope;
    husk_tuning_params params;
    husk_status status = husk__context_call_begin(context, "husk_context_load_tuning", error, &scope);
    if (status == HUSK_OK)
        status = husk__params_read(&params, sizeof params, "HUSK_TUNING_PARAMS", given, &scope);
    if (status != HUSK_OK)
        return status;
    if (!params.path == !params.text)
        return husk__reject(&scope, "params", "one of path and text is wanted");
    husk__select_state *state = husk__select_state_of(context);
    if (!state)
        return husk__fail(&scope, HUSK_OUT_OF_HOST_MEMORY, "no host memory for a database");
    status = husk__tuning_load(state->tuning, &params, &scope);
    husk__plan_cache_forget(state->plans);
    return status;
}

husk_status husk_context_tuning_stats(husk_context *context, husk_tuning_stats *stats, husk_error *error)
{
    husk__scope scope;
    husk_status status = husk__context_call_begin(context, "husk_context_tuning_stats", error, &scope);
    if (status != HUSK_OK)
        return status;
    if (!stats)
        return husk__reject(&scope, "stats", "is NULL");
    husk__select_state *state = husk__select_state_of(context);
    if (!state)
        return husk__fail(&scope, HUSK_OUT_OF_HOST_MEMORY, "no host memory for a database");
    return husk__tuning_count(state->tuning, stats)
               ? HUSK_OK
               : husk__fail(&scope, HUSK_OUT_OF_HOST_MEMORY, "no host memory for the databases");
}
