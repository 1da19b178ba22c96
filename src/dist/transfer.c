// SPDX-License-Identifier: MIT
#include "dist/transfer.h"

#include <stdio.h>

#include "dist/failure.h"
#include "dist/task.h"

// ---- the library's thread ----

static husk_status queue_failed(const husk__transfer *t, husk_status status, husk_error *error)
{
    if (status)
        *error = *husk_queue_error(t->queue);
    return status;
}

static husk_status to_host(husk__transfer *t, husk_error *error)
{
    husk_queue *queue = t->queue;
    husk_status status = queue_failed(t, husk_queue_wait(queue, t->ready), error);
    if (!status)
        status = queue_failed(t, husk_buffer_read_async(queue, t->buffer, t->offset, t->bytes, t->host), error);
    return status ? status : queue_failed(t, husk_queue_record(queue, &t->landed), error);
}

static husk_status to_device(husk__transfer *t, husk_error *error)
{
    husk_queue *queue = t->queue;
    husk_status status = queue_failed(t, husk_queue_wait(queue, t->ready), error);
    if (!status)
        status = queue_failed(t, husk_buffer_write_async(queue, t->buffer, t->offset, t->bytes, t->host), error);
    return status ? status : queue_failed(t, husk_queue_record(queue, &t->landed), error);
}

husk_status husk__transfer_send(husk_dist *dist, husk__task *task, bool *has_ended, husk_error *error)
{
    husk__transfer *t = (husk__transfer *)task;
    bool settled = false;
    husk_status status = HUSK_OK;
    if (t->stage == HUSK__AT_WIRE)
        return husk__task_settled(task, has_ended, error);
    status = husk__task_device(task, t->stage == HUSK__AT_BEGIN ? t->ready : t->landed, &settled, error);
    if (status || !settled)
        return status;
    task->steps++;
    if (t->stage == HUSK__AT_BEGIN) {
        t->stage = HUSK__AT_HOST;
        return to_host(t, error);
    }
    t->stage = HUSK__AT_WIRE;
    return husk__task_send(dist, task, t->host, t->bytes, t->peer, t->tag, error);
}

husk_status husk__transfer_receive(husk_dist *dist, husk__task *task, bool *has_ended, husk_error *error)
{
    husk__transfer *t = (husk__transfer *)task;
    bool settled = false;
    husk_status status = HUSK_OK;
    if (t->stage == HUSK__AT_BEGIN) {
        t->stage = HUSK__AT_WIRE;
        task->steps++;
        return husk__task_receive(dist, task, t->host, t->bytes, t->peer, t->tag, error);
    }
    status = t->stage == HUSK__AT_WIRE ? husk__task_settled(task, &settled, error)
                                       : husk__task_device(task, t->ready, &settled, error);
    if (status || !settled)
        return status;
    task->steps++;
    if (t->stage == HUSK__AT_WIRE) {
        t->stage = HUSK__AT_HOST;
        return HUSK_OK;
    }
    *has_ended = true;
    return to_device(t, error);
}

// ---- the program's thread ----

void husk__transfer_post(husk_dist *dist, husk__transfer *t, uint32_t micro_batch, bool is_next, husk_event *ready)
{
    husk_event_release(t->ready);
    husk_event_release(t->landed);
    husk_event_retain(ready);
    t->ready = ready;
    t->landed = NULL;
    t->stage = HUSK__AT_BEGIN;
    t->is_posted = true;
    int base = t->tag - t->tag % HUSK__MOST_MICRO_BATCHES;
    t->tag = base + (int)micro_batch;
    snprintf(t->task.what, sizeof t->task.what, "micro-batch %u %s the %s rank", (unsigned)micro_batch,
             t->sends ? "on its way to" : "from", is_next ? "next" : "previous");
    husk__task_post(dist, &t->task);
}

husk_status husk__transfer_settle(husk_dist *dist, husk__transfer *t, husk_queue *queue, const husk__dist_scope *scope)
{
    if (!t->is_posted)
        return HUSK_OK;
    husk_status status = husk__task_wait(dist, &t->task, scope);
    if (status)
        return status;
    t->is_posted = false;
    status = husk_queue_wait(queue, t->landed);
    return status ? husk__dist_fail_with(dist, status, husk_queue_error(queue)->text, scope) : HUSK_OK;
}

void husk__transfer_clear(husk__transfer *t)
{
    husk_event_release(t->ready);
    husk_event_release(t->landed);
    husk_buffer_release(t->buffer);
    husk__task_clear(&t->task);
}
