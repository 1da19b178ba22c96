/* SPDX-License-Identifier: MIT */
/*
 * runtime/queue.h: what queues keep for the floors above.
 */
#ifndef HUSK_RUNTIME_QUEUE_H
#define HUSK_RUNTIME_QUEUE_H

#include <husk/queue.h>

/* The floor above keeps one object with a queue (the plan of its last call); what was kept before is released. */
void husk__queue_keep(husk_queue *queue, void *object, void (*release)(void *object));
void *husk__queue_kept(const husk_queue *queue);

/* How many commands that use memory have been enqueued on the queue: whether a run that failed had begun. */
uint64_t husk__queue_commands(const husk_queue *queue);
/* How many runs of plans are inside one another at this moment. */
int husk__queue_depth(const husk_queue *queue);
/* Until what was enqueued has ended; how it ended is left for others to ask (husk_queue_finish). */
void husk__queue_drain(husk_queue *queue);

#endif
