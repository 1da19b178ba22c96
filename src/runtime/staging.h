/* SPDX-License-Identifier: MIT */
/*
 * runtime/staging.h: pinned host memory through which asynchronous writes pass.
 */
#ifndef HUSK_RUNTIME_STAGING_H
#define HUSK_RUNTIME_STAGING_H

#include "base/error.h"
#include "runtime/queue_struct.h"

/* Pinned memory of at least bytes that no command uses, from *host on, and the piece that it is part of. */
husk_status husk__staging_take(husk_queue *queue, uint64_t bytes, husk__staging **staging, void **host,
                               const husk__scope *scope);
/* The command that reads what has just been taken of the piece; the event is retained. */
void husk__staging_read_by(husk__staging *staging, cl_event event);
/* Without waiting: the memory goes when the commands that read it have ended, once the queue is flushed. */
void husk__staging_destroy(husk_queue *queue);

#endif
