/* SPDX-License-Identifier: MIT */
/*
 * runtime/staging.h: pinned host memory through which asynchronous writes pass.
 */
#ifndef HUSK_RUNTIME_STAGING_H
#define HUSK_RUNTIME_STAGING_H

#include "runtime/internal.h"

/* Pinned memory of at least bytes that no command uses; the caller sets ->busy to its command's event. */
husk_status husk__staging_take(husk_queue *queue, uint64_t bytes, husk__staging **staging,
                               const husk__scope *scope);
/* Without waiting: the memory goes when the commands that read it have ended, once the queue is flushed. */
void husk__staging_destroy(husk_queue *queue);

#endif
