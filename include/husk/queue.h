/* SPDX-License-Identifier: MIT */
/** @file
 * Queues run work in order; events order the work of different queues.
 *
 * A queue executes its commands in order. One thread may use it at a time. It owns the kernel objects and the scratch
 * memory of the work that is enqueued on it. So any number of threads, each with its own queue, may run the same plan
 * at once.
 */
#ifndef HUSK_QUEUE_H
#define HUSK_QUEUE_H

#include <husk/context.h>

HUSK_BEGIN_DECLS

/** Commands of one context, executed in order. */
typedef struct husk_queue husk_queue;
/** A point in a queue's work. */
typedef struct husk_event husk_event;

/** A timeout without a limit. */
#define HUSK_FOREVER UINT64_MAX

/** Options of a queue. Zero means the default. */
typedef struct husk_queue_params {
    uint32_t size;      /**< sizeof this struct; HUSK_QUEUE_PARAMS() sets it. */
    uint32_t profiling; /**< Not 0: record the times of every kernel; see husk_queue_profile(). */
} husk_queue_params;

/** Makes a husk_queue_params; see husk/export.h. */
#define HUSK_QUEUE_PARAMS(...) HUSK_MAKE(husk_queue_params, __VA_ARGS__)

/** Create a queue. `params` may be NULL. */
HUSK_API husk_status husk_queue_create(husk_context *context, const husk_queue_params *params, husk_queue **queue,
                                       husk_error *error);
/** Release the queue. The call does not wait: the device finishes the work that is already enqueued. */
HUSK_API void husk_queue_release(husk_queue *queue);

/** The queue's context. */
HUSK_API husk_context *husk_queue_context(const husk_queue *queue);

/** The last failure of a call on this queue; HUSK_OK and "" before the first failure. Never NULL. */
HUSK_API const husk_error *husk_queue_error(const husk_queue *queue);

/** Submit the enqueued work to the device. */
HUSK_API husk_status husk_queue_flush(husk_queue *queue);
/**
 * Wait until all enqueued work has ended.
 *
 * @retval HUSK_OPENCL A transfer, or a wait for another queue's event, failed after it was enqueued. Do not rely on
 *   anything that was computed or copied since the last call that returned HUSK_OK. The failure is reported once, by
 *   this call, by husk_queue_record() or by a transfer that blocks.
 */
HUSK_API husk_status husk_queue_finish(husk_queue *queue);

/** Create an event that ends when everything that is on the queue now has ended. */
HUSK_API husk_status husk_queue_record(husk_queue *queue, husk_event **event);
/** Let everything that is enqueued from now on start after the event has ended. The event is of the same context. */
HUSK_API husk_status husk_queue_wait(husk_queue *queue, husk_event *event);

/**
 * Wait for the event on the host.
 *
 * @param timeout_ns the longest wait; 0 only asks, #HUSK_FOREVER has no limit
 * @retval HUSK_TIMEOUT The event has not ended in this time.
 */
HUSK_API husk_status husk_event_wait(husk_event *event, uint64_t timeout_ns);
/** Add a reference. */
HUSK_API void husk_event_retain(husk_event *event);
/** Drop a reference. */
HUSK_API void husk_event_release(husk_event *event);

/**
 * Times of one kernel or transfer, by the device's clock. The queue must profile; see husk_queue_params and, for a
 * queue around an OpenCL queue, husk_queue_from_opencl().
 */
typedef struct husk_profile_record {
    const char *name; /**< The kernel's name, or "write", "read", "copy", "fill". */
    uint64_t queued_ns;
    uint64_t submitted_ns;
    uint64_t started_ns;
    uint64_t ended_ns;
} husk_profile_record;

/**
 * Finish the queue, and return what it recorded since the last husk_queue_profile_clear(). The records stay until the
 * next clear.
 *
 * A command is missing if there was no host memory for its record. Times that the driver does not have, as of a command
 * that failed, are 0. Device clocks may be wrong: compare with the wall clock before you trust them.
 *
 * @param records receives an array that belongs to the queue and is valid until its next profile call
 */
HUSK_API husk_status husk_queue_profile(husk_queue *queue, const husk_profile_record **records, size_t *count);
/** Discard the records. */
HUSK_API void husk_queue_profile_clear(husk_queue *queue);
/** Write the records as a Chrome or Perfetto trace (JSON): to a new file, or to the device, pipe or link at `path`. */
HUSK_API husk_status husk_queue_profile_export(husk_queue *queue, const char *path);

HUSK_END_DECLS

#endif
