// SPDX-License-Identifier: MIT
#include "dist/exchange.h"

#include <stdio.h>
#include <stdlib.h>

#include "dist/failure.h"
#include "dist/staging.h"
#include "dist/task.h"

enum { TAGS = 4096, BLOCK = 512 };

// A part of a bucket on its way: backward, to host memory, this rank's piece, all pieces, back to the device.
typedef enum stage { STAGE_DEVICE, STAGE_READ, STAGE_SUM, STAGE_SPREAD } stage;

typedef struct husk__part {
    husk__task task;
    husk_parallel *parallel;
    size_t bucket;
    husk_buffer *buffer;
    uint64_t offset, bytes; // within the buffer
    int tag;
    stage stage;
    husk_event *ready;  // backward has come to its end; then, the part is in host memory
    husk_event *landed; // the means are there; the library's thread sets it
    char *host;         // that of its staging
    char *received;     // this rank's piece of the others
    husk_parallel_exchange times;
} part;

// ---- the library's thread ----

static uint64_t piece_begin(const part *p, int32_t rank)
{
    uint64_t size = husk_dtype_size(p->parallel->dtype), elements = p->bytes / size;
    return elements * (uint64_t)rank / (uint64_t)p->parallel->dist->count * size;
}

static uint64_t piece_bytes(const part *p, int32_t rank)
{
    return piece_begin(p, rank + 1) - piece_begin(p, rank);
}

static void add_block(double *sum, const char *from, size_t count, husk_dtype dtype)
{
    const double *wide = (const void *)from;
    const float *narrow = (const void *)from;
    for (size_t i = 0; i < count; i++)
        sum[i] += dtype == HUSK_F64 ? wide[i] : (double)narrow[i];
}

// In the order of the ranks, in double, divided by their number.
static void average_piece(part *p)
{
    const husk_dist *dist = p->parallel->dist;
    husk_dtype dtype = p->parallel->dtype;
    uint64_t bytes = piece_bytes(p, dist->rank), size = husk_dtype_size(dtype);
    char *own = p->host + piece_begin(p, dist->rank);
    for (uint64_t at = 0; at < bytes; at += BLOCK * size) {
        double sum[BLOCK] = {0};
        size_t count = (size_t)((bytes - at) / size < BLOCK ? (bytes - at) / size : BLOCK);
        for (int32_t r = 0; r < dist->count; r++)
            add_block(sum, (r == dist->rank ? own : p->received + (uint64_t)r * bytes) + at, count, dtype);
        double *wide = (void *)(own + at);
        float *narrow = (void *)(own + at);
        for (size_t i = 0; i < count; i++)
            if (dtype == HUSK_F64)
                wide[i] = sum[i] / dist->count;
            else
                narrow[i] = (float)(sum[i] / dist->count);
    }
}

static husk_status queue_failed(const part *p, husk_status status, husk_error *error)
{
    if (status)
        *error = *husk_queue_error(p->parallel->queue);
    return status;
}

static husk_status begin_read(part *p, husk_error *error)
{
    husk_queue *queue = p->parallel->queue;
    husk_status status = queue_failed(p, husk_queue_wait(queue, p->ready), error);
    husk_event_release(p->ready);
    p->ready = NULL;
    if (!status)
        status = queue_failed(p, husk_buffer_read_async(queue, p->buffer, p->offset, p->bytes, p->host), error);
    return status ? status : queue_failed(p, husk_queue_record(queue, &p->ready), error);
}

static husk_status begin_sum(husk_dist *dist, part *p, husk_error *error)
{
    husk_status status = HUSK_OK;
    uint64_t own = piece_bytes(p, dist->rank);
    for (int32_t r = 0; r < dist->count && !status; r++)
        if (r != dist->rank && own)
            status = husk__task_receive(dist, &p->task, p->received + (uint64_t)r * own, own, r, p->tag, error);
    for (int32_t r = 0; r < dist->count && !status; r++)
        if (r != dist->rank && piece_bytes(p, r))
            status = husk__task_send(dist, &p->task, p->host + piece_begin(p, r), piece_bytes(p, r), r, p->tag, error);
    return status;
}

static husk_status begin_spread(husk_dist *dist, part *p, husk_error *error)
{
    average_piece(p);
    p->times.summed_ns = husk__dist_now();
    husk_status status = HUSK_OK;
    uint64_t own = piece_bytes(p, dist->rank);
    for (int32_t r = 0; r < dist->count && !status; r++)
        if (r != dist->rank && piece_bytes(p, r))
            status = husk__task_receive(dist, &p->task, p->host + piece_begin(p, r), piece_bytes(p, r), r, p->tag + 1,
                                        error);
    for (int32_t r = 0; r < dist->count && !status; r++)
        if (r != dist->rank && own)
            status = husk__task_send(dist, &p->task, p->host + piece_begin(p, dist->rank), own, r, p->tag + 1, error);
    return status;
}

static husk_status land(part *p, husk_error *error)
{
    husk_queue *queue = p->parallel->queue;
    husk_status status =
        queue_failed(p, husk_buffer_write_async(queue, p->buffer, p->offset, p->bytes, p->host), error);
    if (!status)
        status = queue_failed(p, husk_queue_record(queue, &p->landed), error);
    p->times.ended_ns = husk__dist_now();
    return status;
}

static husk_status advance_part(husk_dist *dist, husk__task *task, bool *has_ended, husk_error *error)
{
    part *p = (part *)task;
    bool settled = false;
    husk_status status;
    switch (p->stage) {
    case STAGE_DEVICE:
    case STAGE_READ:
        // Its staging may be in use still.
        if (p - p->parallel->parts >= HUSK__WINDOW && !p[-HUSK__WINDOW].landed)
            return HUSK_OK;
        status = husk__task_device(task, p->ready, &settled, error);
        if (status || !settled)
            return status;
        task->steps++;
        if (p->stage == STAGE_READ) {
            p->stage = STAGE_SUM;
            return begin_sum(dist, p, error);
        }
        p->times.ready_ns = husk__dist_now();
        p->stage = STAGE_READ;
        return begin_read(p, error);
    case STAGE_SUM:
        status = husk__task_settled(task, &settled, error);
        if (status || !settled)
            return status;
        p->stage = STAGE_SPREAD;
        task->steps++;
        return begin_spread(dist, p, error);
    default:
        status = husk__task_settled(task, &settled, error);
        if (status || !settled)
            return status;
        *has_ended = true;
        return land(p, error);
    }
}

// ---- the program's thread ----

static husk_status make_parts(husk_parallel *own, const husk__dist_scope *scope)
{
    uint64_t size = husk_dtype_size(own->dtype), most = own->params.part_bytes / size * size;
    size_t buckets = husk_graph_bucket_count(own->graph), count = 0;
    for (int pass = 0; pass < 2; pass++) {
        size_t at = 0;
        for (size_t b = 0; b < buckets; b++) {
            husk_bucket bucket = HUSK_BUCKET();
            husk_status status = husk_graph_bucket_at(own->graph, b, &bucket);
            if (status)
                return husk__dist_pass(scope, status, husk_graph_error(own->graph));
            uint64_t bytes = (uint64_t)bucket.gradients.shape[0] * size;
            for (uint64_t from = 0; from < bytes; from += most, at++) {
                if (pass == 0)
                    continue;
                part *p = &own->parts[at];
                p->parallel = own;
                p->bucket = b;
                p->buffer = bucket.gradients.buffer; // after a failure the thread may be at it while the graph goes
                husk_buffer_retain(p->buffer);
                p->offset = (uint64_t)bucket.gradients.offset * size + from;
                p->bytes = bytes - from < most ? bytes - from : most;
                p->tag = HUSK__TAG_PARTS + 2 * (int)(at % TAGS);
                p->task.advance = advance_part;
                p->task.is_windowed = true;
                p->host = own->staging[at % HUSK__WINDOW].host;
                snprintf(p->task.what, sizeof p->task.what, "part %zu of the gradients", at);
                p->received = malloc((piece_bytes(p, own->dist->rank) + 1) * (size_t)own->dist->count);
                if (!p->received || !husk__task_init(&p->task, 2 * own->dist->count))
                    return husk__dist_no_memory(scope);
            }
        }
        if (pass == 0) {
            count = at;
            own->parts = calloc(count + 1, sizeof *own->parts);
            if (!own->parts)
                return husk__dist_no_memory(scope);
            own->part_count = count;
        }
    }
    return HUSK_OK;
}

static husk_status make_staging(husk_parallel *own, const husk__dist_scope *scope)
{
    husk_context *context = husk_queue_context(own->queue);
    uint64_t most = 0;
    for (size_t b = 0; b < husk_graph_bucket_count(own->graph); b++) {
        husk_bucket bucket = HUSK_BUCKET();
        husk_status status = husk_graph_bucket_at(own->graph, b, &bucket);
        if (status)
            return husk__dist_pass(scope, status, husk_graph_error(own->graph));
        uint64_t bytes = (uint64_t)husk_tensor_extent(&bucket.gradients);
        most = bytes > most ? bytes : most;
    }
    most = most < own->params.part_bytes ? most : own->params.part_bytes;
    for (int i = 0; i < HUSK__WINDOW; i++) {
        husk_status status =
            husk__dist_staging(context, own->queue, most, &own->staging[i].buffer, &own->staging[i].host, scope);
        if (status)
            return status;
    }
    return HUSK_OK;
}

husk_status husk__exchange_make(husk_parallel *own, const husk__dist_scope *scope)
{
    husk_status status = make_staging(own, scope);
    return status ? status : make_parts(own, scope);
}

void husk__exchange_release(husk_parallel *own)
{
    for (size_t i = 0; i < own->part_count; i++) {
        husk_event_release(own->parts[i].ready);
        husk_event_release(own->parts[i].landed);
        husk_buffer_release(own->parts[i].buffer);
        husk__task_clear(&own->parts[i].task);
        free(own->parts[i].received);
    }
    free(own->parts);
    for (int i = 0; i < HUSK__WINDOW; i++) {
        if (own->staging[i].host)
            husk_buffer_unmap(own->queue, own->staging[i].buffer, own->staging[i].host);
        husk_buffer_release(own->staging[i].buffer);
    }
}

void husk__exchange_post(husk_parallel *own, size_t bucket, husk_event *ready)
{
    uint64_t now = husk__dist_now();
    for (size_t i = own->posted; i < own->part_count && own->parts[i].bucket == bucket; i++) {
        part *p = &own->parts[i];
        husk_event_release(p->ready);
        husk_event_release(p->landed);
        husk_event_retain(ready);
        p->ready = ready;
        p->landed = NULL;
        p->stage = STAGE_DEVICE;
        p->times = (husk_parallel_exchange){.size = sizeof p->times, .bytes = p->bytes, .enqueued_ns = now};
        own->posted++;
        husk__task_post(own->dist, &p->task);
    }
}

husk_status husk__exchange_wait(husk_parallel *own, const husk__dist_scope *scope)
{
    husk_queue *queue = husk_graph_queue(own->graph);
    husk_status status = HUSK_OK;
    for (size_t i = 0; i < own->posted && !status; i++) {
        part *p = &own->parts[i];
        status = husk__task_wait(own->dist, &p->task, scope);
        if (!status && husk_queue_wait(queue, p->landed))
            status =
                husk__dist_fail_with(own->dist, husk_queue_error(queue)->status, husk_queue_error(queue)->text, scope);
    }
    return status;
}

const husk_parallel_exchange *husk__exchange_times(const husk_parallel *own, size_t index)
{
    return &own->parts[index].times;
}
