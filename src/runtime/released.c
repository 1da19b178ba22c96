// SPDX-License-Identifier: MIT
#include "runtime/released.h"

#include <stdlib.h>

enum { KEPT = 256 };

void husk__released_init(husk__released *released)
{
    pthread_mutex_init(&released->lock, NULL);
    released->first = NULL;
    released->last = &released->first;
    released->count = 0;
}

void husk__released_trim(husk__released *released)
{
    pthread_mutex_lock(&released->lock);
    while (released->first) {
        husk_buffer *next = released->first->next;
        free(released->first);
        released->first = next;
    }
    released->last = &released->first;
    released->count = 0;
    pthread_mutex_unlock(&released->lock);
}

void husk__released_destroy(husk__released *released)
{
    husk__released_trim(released);
    pthread_mutex_destroy(&released->lock);
}

void husk__released_keep(husk__released *released, husk_buffer *buffer)
{
    buffer->next = NULL;
    pthread_mutex_lock(&released->lock);
    *released->last = buffer;
    released->last = &buffer->next;
    ++released->count;
    pthread_mutex_unlock(&released->lock);
}

husk_buffer *husk__released_take(husk__released *released)
{
    husk_buffer *buffer = NULL;
    pthread_mutex_lock(&released->lock);
    if (released->count >= KEPT) {
        buffer = released->first;
        released->first = buffer->next;
        --released->count;
    }
    pthread_mutex_unlock(&released->lock);
    return buffer ? buffer : calloc(1, sizeof *buffer);
}

bool husk__buffer_is_live(const husk_buffer *buffer)
{
    return atomic_load(&buffer->references) > 0;
}
