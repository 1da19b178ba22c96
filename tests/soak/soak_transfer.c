// SPDX-License-Identifier: MIT
#include <stdlib.h>
#include <string.h>

#include "soak.h"

enum { MOST_BYTES = 1 << 19 };
#define A_MINUTE UINT64_C(60000000000)

typedef struct transfer {
    husk_buffer *from, *to, *view;
    husk_event *written, *read;
    uint64_t bytes, begin, length; /* of the view, which is filled */
    unsigned char *host, *back, pattern;
} transfer;

static husk_status write_and_copy(soak_worker *w, transfer *t)
{
    husk_queue *queue = w->own.queue;
    husk_status status = husk_buffer_create(w->own.context, t->bytes, &t->from, NULL);
    status = status ? status : husk_buffer_create(w->own.context, t->bytes, &t->to, NULL);
    status = status ? status : husk_buffer_view(t->to, t->begin, t->length, &t->view, NULL);
    status = status ? status : husk_buffer_write_async(queue, t->from, 0, t->bytes, t->host);
    status = status ? status : husk_buffer_copy(queue, t->from, 0, t->to, 0, t->bytes);
    status = status ? status : husk_buffer_fill(queue, t->view, 0, t->length, &t->pattern, 1);
    return status ? status : husk_queue_record(queue, &t->written);
}

static husk_status read_elsewhere(soak_worker *w, transfer *t)
{
    const int64_t number = husk_ref_random_below(&w->random, SOAK_SHARED);
    husk_queue *queue = w->s->shared[number].queue;
    pthread_mutex_lock(&w->s->shared_lock[number]);
    husk_status status = husk_queue_wait(queue, t->written);
    status = status ? status : husk_buffer_read_async(queue, t->to, 0, t->bytes, t->back);
    status = status ? status : husk_queue_record(queue, &t->read);
    pthread_mutex_unlock(&w->s->shared_lock[number]);
    return status ? status : husk_event_wait(t->read, A_MINUTE);
}

static husk_status is_mapped_as(soak_worker *w, transfer *t, bool *same)
{
    void *mapped = NULL;
    husk_status status = husk_buffer_map(w->own.queue, t->to, HUSK_MAP_READ, 0, t->bytes, &mapped);
    if (status != HUSK_OK)
        return status;
    *same = !memcmp(mapped, t->host, t->bytes);
    return husk_buffer_unmap(w->own.queue, t->to, mapped);
}

void soak_transfer(soak_worker *w)
{
    transfer t = {.bytes = 1 + (uint64_t)husk_ref_random_below(&w->random, MOST_BYTES)};
    bool same = true;
    t.begin = (uint64_t)husk_ref_random_below(&w->random, (int64_t)t.bytes);
    t.length = 1 + (uint64_t)husk_ref_random_below(&w->random, (int64_t)(t.bytes - t.begin));
    t.pattern = (unsigned char)husk_ref_random_below(&w->random, 256);
    t.host = malloc(t.bytes);
    t.back = calloc(1, t.bytes);
    strcpy(w->present, "a transfer");
    husk_status status = t.host && t.back ? HUSK_OK : HUSK_OUT_OF_HOST_MEMORY;
    const unsigned seed = (unsigned)husk_ref_random_below(&w->random, 1 << 30);
    for (uint64_t i = 0; t.host && i < t.bytes; i++)
        t.host[i] = (unsigned char)((i * 2654435761u + seed) >> 13);
    status = status ? status : write_and_copy(w, &t);
    status = status ? status : read_elsewhere(w, &t);
    if (status == HUSK_OK)
        memset(t.host + t.begin, t.pattern, t.length);
    same = status != HUSK_OK || !memcmp(t.host, t.back, t.bytes);
    if (status == HUSK_OK && same)
        status = is_mapped_as(w, &t, &same);
    atomic_fetch_add(&w->s->transfers, 1);
    if (status != HUSK_OK || !same)
        soak_mismatch(w, w->present, status != HUSK_OK ? husk_status_name(status) : "other bytes than were written");
    husk_event_release(t.written);
    husk_event_release(t.read);
    husk_buffer_release(t.view);
    husk_buffer_release(t.to);
    husk_buffer_release(t.from);
    free(t.host);
    free(t.back);
}
