// SPDX-License-Identifier: MIT
// The engine that computes a product on a context's device, and what a program may ask of engines.
#include "select/engine.h"

#include <stdio.h>
#include <string.h>

#include "select/plan.h"
#include "select/state.h"

husk_status husk__engine_find(husk_context *context, husk__engine_kind kind, husk_dtype dtype, husk_precision precision,
                              const husk__engine **engine, husk__product *product, const husk__scope *scope)
{
    husk__product wanted[HUSK__ENGINE_WANTED];
    husk__select_state *state = husk__select_state_of(context);
    if (!state)
        return husk__fail(scope, HUSK_OUT_OF_HOST_MEMORY, "no host memory for what is known of engines");
    const size_t count = husk__engine_products(dtype, precision, wanted);
    for (size_t p = 0; p < count; ++p)
        for (size_t e = 0; e < HUSK__ENGINES; ++e) {
            bool is_ready;
            *engine = &husk__engines[e];
            *product = wanted[p];
            if (!husk__engine_may_be(&husk__engines[e], kind, wanted[p], husk_context_traits(context)))
                continue;
            const husk_status status = husk__engine_states_ask(context, state->engines, e, wanted[p], &is_ready, scope);
            if (status != HUSK_OK || is_ready)
                return status;
        }
    return husk__fail(scope, HUSK_UNSUPPORTED, "no matrix engine of this device passed its probe");
}

husk_status husk__engine_configure(husk_plan *plan, husk_dtype dtype, husk_precision precision, int32_t tile, int64_t k,
                                   husk__text *options, int64_t *items, const husk__scope *scope)
{
    const husk__engine *engine;
    husk__product product;
    const husk_status status =
        husk__engine_find(plan->context, HUSK__ENGINE_FRAGMENTS, dtype, precision, &engine, &product, scope);
    if (status != HUSK_OK)
        return status;
    if (tile & HUSK__ENGINE_ASYNC && !engine->copies) // the one that was claimed has not passed its probe
        return husk__fail(scope, HUSK_UNSUPPORTED, "engine %s has no asynchronous copies", engine->name);
    husk__engine_options(engine, product, tile, options);
    *items = husk__engine_items(engine, tile);
    plan->error_factor = husk__engine_error_factor(engine, product, k);
    return HUSK_OK;
}

const char *husk_engine_name(size_t index)
{
    return index < HUSK__ENGINES ? husk__engines[index].name : NULL;
}

const char *husk_engine_state_name(husk_engine_state state)
{
    static const char *const names[] = {"absent", "off", "refused", "ready"};
    return (unsigned)state < sizeof names / sizeof *names ? names[state] : "unknown";
}

static husk_engine_state answer(husk_engine_state state, const char *why, char *text, size_t capacity)
{
    if (text && capacity > 0)
        snprintf(text, capacity, "%s", why);
    return state;
}

husk_engine_state husk_context_engine(husk_context *context, size_t index, char *text, size_t capacity)
{
    if (!context || index >= HUSK__ENGINES)
        return answer(HUSK_ENGINE_ABSENT, "no such engine", text, capacity);
    const husk__engine *engine = &husk__engines[index];
    husk__select_state *state = husk__select_state_of(context);
    if (!engine->claims(husk_context_traits(context)))
        return answer(HUSK_ENGINE_ABSENT, "not one of this device's", text, capacity);
    if (husk_context_status(context) == HUSK_UNSUPPORTED)
        return answer(HUSK_ENGINE_REFUSED, "this process was forked from one that had opened OpenCL", text, capacity);
    if (!state)
        return answer(HUSK_ENGINE_REFUSED, "there is no host memory for its probe", text, capacity);
    if (!husk__engine_is_allowed(engine))
        return answer(HUSK_ENGINE_OFF, engine->is_soft ? "for tests" : "HUSK_ENGINES leaves it out", text, capacity);
    const husk__scope scope = {"husk_context_engine", NULL};
    char right[128] = "";
    for (int p = 0; p < HUSK__PRODUCTS; ++p) {
        bool is_ready = false;
        if (engine->products >> p & 1)
            husk__engine_states_ask(context, state->engines, index, (husk__product)p, &is_ready, &scope);
        if (is_ready) {
            strcat(right, *right ? " " : "");
            strcat(right, husk__product_name((husk__product)p));
        }
    }
    if (*right)
        return answer(HUSK_ENGINE_READY, right, text, capacity);
    char reason[HUSK__ENGINE_REASON];
    husk__engine_states_reason(state->engines, index, reason);
    return answer(HUSK_ENGINE_REFUSED, reason, text, capacity);
}
