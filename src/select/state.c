// SPDX-License-Identifier: MIT
#include "select/state.h"

#include <stdlib.h>

#include "runtime/context.h"

static void destroy(void *extension)
{
    husk__select_state *state = extension;
    husk__plan_cache_destroy(state->plans);
    husk__rejections_destroy(&state->rejections);
    husk__engine_states_destroy(state->engines);
    husk__tuning_destroy(state->tuning);
    husk__variant_list_free(&state->variant_list);
    free(state);
}

static void *create(husk_context *context)
{
    husk__select_state *state = calloc(1, sizeof *state);
    if (!state)
        return NULL;
    husk__rejections_init(&state->rejections);
    state->plans = husk__plan_cache_create(husk__context_plan_cache_capacity(context));
    state->tuning = husk__tuning_create(context);
    state->engines = husk__engine_states_create(context);
    if (husk__variant_list_read(&state->variant_list) && state->plans && state->tuning && state->engines)
        return state;
    destroy(state);
    return NULL;
}

husk__select_state *husk__select_state_of(husk_context *context)
{
    return husk__context_extension(context, HUSK__EXTENSION_SELECT, create, destroy);
}

husk_status husk__select_state_find(husk_context *context, husk__select_state **state, const husk__scope *scope)
{
    *state = husk__select_state_of(context);
    return *state ? HUSK_OK : husk__fail(scope, HUSK_OUT_OF_HOST_MEMORY, "no host memory for the cache of plans");
}
