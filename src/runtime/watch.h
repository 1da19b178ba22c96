/* SPDX-License-Identifier: MIT */
/*
 * runtime/watch.h: commands that may fail after they were enqueued: transfers, and waits for other queues.
 */
#ifndef HUSK_RUNTIME_WATCH_H
#define HUSK_RUNTIME_WATCH_H

#include <CL/cl.h>

#include <husk/queue.h>

#include "base/error.h"

/* Takes over a command's event, which may be NULL. */
void husk__queue_watch(husk_queue *queue, cl_event event);
/* clWaitForEvents, and the event's own word of how its command ended: NVIDIA's driver answers CL_SUCCESS even so. */
cl_int husk__wait_for_event(cl_event event);
/* Where the queue has been waited for: whether the commands before did end well. What has failed is told once. */
husk_status husk__queue_ended_well(husk_queue *queue, const husk__scope *scope);
/* Wait for everything enqueued, and say whether it ended well. */
husk_status husk__queue_finish(husk_queue *queue, const husk__scope *scope);
void husk__queue_unwatch(husk_queue *queue);

#endif
