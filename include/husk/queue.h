/* SPDX-License-Identifier: MIT */
/*
 * husk/queue.h: work in order, and order between queues.
 *
 * A queue executes in order and belongs to one thread at a time. It owns the kernel objects and the
 * scratch memory of the work enqueued on it, so any number of threads with a queue each may run the same
 * plan at once.
 */
#ifndef HUSK_QUEUE_H
#define HUSK_QUEUE_H

#include <husk/context.h>

HUSK_BEGIN_DECLS

typedef struct husk_queue husk_queue;
typedef struct husk_event husk_event;

#define HUSK_FOREVER UINT64_MAX

typedef struct husk_queue_params {
    uint32_t size;      /* sizeof this struct: HUSK_QUEUE_PARAMS sets it */
    uint32_t profiling; /* not 0: keep the times of every kernel (husk_queue_profile...) */
} husk_queue_params;

#define HUSK_QUEUE_PARAMS(...) HUSK_MAKE(husk_queue_params, __VA_ARGS__)

HUSK_API husk_status husk_queue_create(husk_context *context, const husk_queue_params *params,
                                       husk_queue **queue, husk_error *error);
/* Work already enqueued is finished by the device; the call does not wait for it. */
HUSK_API void husk_queue_release(husk_queue *queue);

HUSK_API husk_context *husk_queue_context(const husk_queue *queue);

/* The last failure of a call on this queue; status HUSK_OK and "" before the first. Never NULL. */
HUSK_API const husk_error *husk_queue_error(const husk_queue *queue);

/* Hand what is enqueued to the device. */
HUSK_API husk_status husk_queue_flush(husk_queue *queue);
/*
 * Wait until everything enqueued has ended. OPENCL, once, where a transfer or a wait for another queue's event has
 * ended badly after it was enqueued: what was computed or copied since the last call that said OK is not to be relied
 * on. So do record, and transfers that block.
 */
HUSK_API husk_status husk_queue_finish(husk_queue *queue);

/* An event that ends when everything enqueued on the queue so far has ended. */
HUSK_API husk_status husk_queue_record(husk_queue *queue, husk_event **event);
/* Whatever is enqueued on the queue from now on starts after the event has ended. Same context only. */
HUSK_API husk_status husk_queue_wait(husk_queue *queue, husk_event *event);

/* Wait on the host. TIMEOUT when it has not ended after timeout_ns (0: only ask; HUSK_FOREVER: no limit). */
HUSK_API husk_status husk_event_wait(husk_event *event, uint64_t timeout_ns);
HUSK_API void husk_event_retain(husk_event *event);
HUSK_API void husk_event_release(husk_event *event);

/* One kernel's or transfer's times, by the device's clock, from a queue that profiles (wrapped: husk/opencl.h). */
typedef struct husk_profile_record {
    const char *name; /* kernel name, or "write", "read", "copy", "fill" */
    uint64_t queued_ns;
    uint64_t submitted_ns;
    uint64_t started_ns;
    uint64_t ended_ns;
} husk_profile_record;

/*
 * Finish the queue and give what it recorded since the last clear; records are kept until the next one. The array
 * belongs to the queue until its next profile call. A command for whose record there was no host memory is left out;
 * times that the driver does not have (of a command that failed) are 0. Device clocks may lie: compare with the wall
 * before trusting them.
 */
HUSK_API husk_status husk_queue_profile(husk_queue *queue, const husk_profile_record **records,
                                        size_t *count);
HUSK_API void husk_queue_profile_clear(husk_queue *queue);
/* Write the records as a Chrome/Perfetto trace (JSON): a new file, or into the device, pipe or link that path is. */
HUSK_API husk_status husk_queue_profile_export(husk_queue *queue, const char *path);

HUSK_END_DECLS

#endif
