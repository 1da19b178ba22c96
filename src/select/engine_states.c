// SPDX-License-Identifier: MIT
#include "select/engine_states.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "os/environment.h"
#include "runtime/context.h"

struct husk__engine_states {
    pthread_mutex_t lock; // held while an engine is probed
    signed char known[HUSK__ENGINES][HUSK__PRODUCTS]; // 0 not probed yet, 1 right, -1 not
    char reasons[HUSK__ENGINES][HUSK__ENGINE_REASON]; // of the first refusal
};

static void warn_of_strangers(husk_context *context)
{
    const char *list = husk__environment("HUSK_ENGINES");
    while (list && *list) {
        const size_t length = strcspn(list, ",");
        char item[64];
        snprintf(item, sizeof item, "%.*s", (int)(length < sizeof item ? length : sizeof item - 1), list);
        bool is_known = strcmp(item, "none") == 0 || strcmp(item, "portable") == 0;
        for (size_t e = 0; e < HUSK__ENGINES; ++e)
            is_known = is_known || husk__engine_is_listed(item, husk__engines[e].name);
        if (!is_known)
            husk__log_write(husk__context_log(context), HUSK_LOG_WARNING, "HUSK_ENGINES: \"%s\" is no engine", item);
        list += length + (list[length] == ',');
    }
}

husk__engine_states *husk__engine_states_create(husk_context *context)
{
    husk__engine_states *states = calloc(1, sizeof *states);
    if (!states)
        return NULL;
    pthread_mutex_init(&states->lock, NULL);
    warn_of_strangers(context);
    return states;
}

void husk__engine_states_destroy(husk__engine_states *states)
{
    if (!states)
        return;
    pthread_mutex_destroy(&states->lock);
    free(states);
}

void husk__engine_states_assume(husk__engine_states *states)
{
    pthread_mutex_lock(&states->lock);
    memset(states->known, 1, sizeof states->known);
    pthread_mutex_unlock(&states->lock);
}

static void note_reason(husk_context *context, husk__engine_states *states, size_t e, husk__product product,
                        const char *reason)
{
    husk__log_write(husk__context_log(context), HUSK_LOG_WARNING, "engine %s is not used for %s: %s",
                    husk__engines[e].name, husk__product_name(product), reason);
    if (!states->reasons[e][0])
        snprintf(states->reasons[e], sizeof states->reasons[e], "%s: %.180s", husk__product_name(product), reason);
}

husk_status husk__engine_states_ask(husk_context *context, husk__engine_states *states, size_t e, husk__product product,
                                    bool *is_ready, const husk__scope *scope)
{
    husk_status status = HUSK_OK;
    pthread_mutex_lock(&states->lock);
    signed char *known = &states->known[e][product];
    if (*known == 0) {
        char reason[HUSK__ENGINE_REASON] = "";
        husk_error error = {0};
        const husk__scope own = {scope->call, &error};
        const char *refusal = husk__engines[e].permit ? husk__engines[e].permit() : NULL;
        bool is_right = false;
        if (refusal)
            snprintf(reason, sizeof reason, "%s", refusal);
        else
            status = husk__engine_probe(context, &husk__engines[e], product, &is_right, reason, &own);
        if (status == HUSK_OK)
            *known = is_right ? 1 : -1;
        else if (scope->error)
            *scope->error = error;
        if (!is_right)
            note_reason(context, states, e, product, status == HUSK_OK ? reason : error.text);
    }
    *is_ready = *known > 0;
    pthread_mutex_unlock(&states->lock);
    return status;
}

void husk__engine_states_reason(husk__engine_states *states, size_t e, char reason[HUSK__ENGINE_REASON])
{
    pthread_mutex_lock(&states->lock);
    memcpy(reason, states->reasons[e], HUSK__ENGINE_REASON);
    pthread_mutex_unlock(&states->lock);
}
