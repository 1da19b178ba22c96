/* SPDX-License-Identifier: MIT */
/** @file
 * Device memory, and transfers to and from it.
 *
 * Buffers come from the context's pool. The memory of a released buffer lives until the work that is enqueued on it has
 * ended. Offsets and sizes are in bytes. Zero-sized buffers are legal.
 */
#ifndef HUSK_BUFFER_H
#define HUSK_BUFFER_H

#include <husk/queue.h>

HUSK_BEGIN_DECLS

/** A piece of device memory. */
typedef struct husk_buffer husk_buffer;

/**
 * Create a buffer.
 *
 * @retval HUSK_OUT_OF_MEMORY The context's budget or the device's largest allocation is exceeded. The text has the
 *   figures.
 */
HUSK_API husk_status husk_buffer_create(husk_context *context, uint64_t bytes, husk_buffer **buffer, husk_error *error);
/**
 * Create a view of the bytes [offset, offset + bytes) of a buffer. The view is a buffer of its own that shares the
 * memory and keeps the parent alive. Any offset is allowed, since kernels take offsets. Usually a tensor's offset makes
 * a view unnecessary.
 */
HUSK_API husk_status husk_buffer_view(husk_buffer *buffer, uint64_t offset, uint64_t bytes, husk_buffer **view,
                                      husk_error *error);
/** Add a reference. */
HUSK_API void husk_buffer_retain(husk_buffer *buffer);
/**
 * Drop a reference. The last release returns the memory once the work that was enqueued with it has ended.
 *
 * Calls refuse a released buffer, and a tensor that names it. This detection ends when 256 other buffers were released
 * since, as another buffer may then have the same address. It also ends when the context is trimmed or destroyed.
 */
HUSK_API void husk_buffer_release(husk_buffer *buffer);
/** The size in bytes. */
HUSK_API uint64_t husk_buffer_size(const husk_buffer *buffer);
/** The buffer's context. */
HUSK_API husk_context *husk_buffer_context(const husk_buffer *buffer);

/**
 * Copy from host to device. The call returns when the host memory may be reused. The write itself may only have been
 * enqueued: work on other queues must wait for it, as for any other work (husk_queue_record(), husk_queue_wait()).
 */
HUSK_API husk_status husk_buffer_write(husk_queue *queue, husk_buffer *buffer, uint64_t offset, uint64_t bytes,
                                       const void *host);
/** Copy from device to host. The call returns when the host memory may be read. */
HUSK_API husk_status husk_buffer_read(husk_queue *queue, husk_buffer *buffer, uint64_t offset, uint64_t bytes,
                                      void *host);

/**
 * Copy from host to device without waiting. The call first copies `host` into pinned staging memory, so `host` may be
 * reused at once.
 *
 * If 128 MiB of staging memory are in use, the call waits for earlier writes. A write uses at least 64 KiB of staging
 * memory; up to 256 writes of 4 KiB or less share 64 KiB.
 */
HUSK_API husk_status husk_buffer_write_async(husk_queue *queue, husk_buffer *buffer, uint64_t offset, uint64_t bytes,
                                             const void *host);
/**
 * Copy from device to host without waiting. `host` is filled when the event of a later husk_queue_record() ends or a
 * later husk_queue_finish() returns; it must stay valid until then.
 */
HUSK_API husk_status husk_buffer_read_async(husk_queue *queue, husk_buffer *buffer, uint64_t offset, uint64_t bytes,
                                            void *host);

/** What a mapped range is used for. */
typedef enum husk_map_mode {
    HUSK_MAP_READ = 1,
    HUSK_MAP_WRITE = 2,  /**< What is not written keeps its content. */
    HUSK_MAP_DISCARD = 4 /**< Write all of it; the old content may be lost. */
} husk_map_mode;

/**
 * Access device memory as host memory, without a copy if both share it. The call blocks until earlier work on the queue
 * has ended. End every map with one husk_buffer_unmap(), on any queue of the context, before kernels use the range.
 */
HUSK_API husk_status husk_buffer_map(husk_queue *queue, husk_buffer *buffer, husk_map_mode mode, uint64_t offset,
                                     uint64_t bytes, void **host);
/** End a map. */
HUSK_API husk_status husk_buffer_unmap(husk_queue *queue, husk_buffer *buffer, void *host);

/** Copy from device to device. The ranges must not overlap. */
HUSK_API husk_status husk_buffer_copy(husk_queue *queue, husk_buffer *from, uint64_t from_offset, husk_buffer *to,
                                      uint64_t to_offset, uint64_t bytes);
/**
 * Fill with a repeated pattern of 1, 2, 4, 8 or 16 bytes. `offset`, `bytes` and, for a view, its start must be
 * multiples of the pattern's size.
 */
HUSK_API husk_status husk_buffer_fill(husk_queue *queue, husk_buffer *buffer, uint64_t offset, uint64_t bytes,
                                      const void *pattern, uint64_t pattern_bytes);

HUSK_END_DECLS

#endif
