// SPDX-License-Identifier: MIT
#include "runtime/guards.h"

#include <stdio.h>
#include <string.h>

void husk__guards_keep(husk__guards *guards, const husk_error *error)
{
    pthread_mutex_lock(&guards->lock);
    if (error->status == HUSK_INTERNAL && guards->count++ == 0)
        guards->first = *error;
    if (error->status != HUSK_INTERNAL && !guards->has_failed)
        guards->failure = *error;
    guards->has_failed |= error->status != HUSK_INTERNAL;
    pthread_mutex_unlock(&guards->lock);
}

husk_status husk__guards_take(husk__guards *guards, husk_error *error)
{
    pthread_mutex_lock(&guards->lock);
    const husk_error *kept = guards->count > 0 ? &guards->first : guards->has_failed ? &guards->failure : NULL;
    const husk_status status = kept ? kept->status : HUSK_OK;
    if (kept && error) {
        *error = *kept;
        const size_t used = strlen(error->text);
        if (guards->count > 1)
            snprintf(error->text + used, sizeof error->text - used, " (and %llu more such buffers)",
                     (unsigned long long)guards->count - 1);
    }
    guards->count = 0;
    guards->has_failed = false;
    pthread_mutex_unlock(&guards->lock);
    return status;
}

void husk__guards_init(husk__guards *guards)
{
    pthread_mutex_init(&guards->lock, NULL);
}

void husk__guards_destroy(husk__guards *guards, const husk__log *log)
{
    husk_error error;
    if (husk__guards_take(guards, &error) != HUSK_OK)
        husk__log_write(log, HUSK_LOG_WARNING, "%s", error.text);
    if (guards->queue)
        clReleaseCommandQueue(guards->queue);
    pthread_mutex_destroy(&guards->lock);
}
