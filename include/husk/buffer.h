/* SPDX-License-Identifier: MIT */
/*
 * husk/buffer.h: device memory and the ways in and out of it.
 *
 * Buffers come from the context's pool. A released buffer's memory lives until the work enqueued on it
 * has ended. Offsets and sizes are in bytes. Zero-sized buffers are legal.
 */
#ifndef HUSK_BUFFER_H
#define HUSK_BUFFER_H

#include <husk/queue.h>

HUSK_BEGIN_DECLS

typedef struct husk_buffer husk_buffer;

/* OUT_OF_MEMORY, with the figures, when the context's budget or the device's largest allocation is passed. */
HUSK_API husk_status husk_buffer_create(husk_context *context, uint64_t bytes, husk_buffer **buffer,
                                        husk_error *error);
/*
 * A view of bytes [offset, offset + bytes) of a buffer: a buffer of its own that shares the memory and
 * keeps the parent alive. Any offset is allowed (kernels take offsets); a tensor's offset usually makes a
 * view needless.
 */
HUSK_API husk_status husk_buffer_view(husk_buffer *buffer, uint64_t offset, uint64_t bytes,
                                      husk_buffer **view, husk_error *error);
HUSK_API void husk_buffer_retain(husk_buffer *buffer);
/*
 * The last release gives the memory back, once what was enqueued with it has ended. Calls refuse a buffer, and a tensor
 * that names it, after that: not for ever, since another buffer may have its address when 256 others were released
 * since, and not once its context was trimmed or is gone.
 */
HUSK_API void husk_buffer_release(husk_buffer *buffer);
HUSK_API uint64_t husk_buffer_size(const husk_buffer *buffer);
HUSK_API husk_context *husk_buffer_context(const husk_buffer *buffer);

/*
 * Host to device and back. These return when the host memory may be reused (write) or read (read). Work on other queues
 * has to wait for a write (husk_queue_record, husk_queue_wait), as for any other work: it may only have been enqueued.
 */
HUSK_API husk_status husk_buffer_write(husk_queue *queue, husk_buffer *buffer, uint64_t offset,
                                       uint64_t bytes, const void *host);
HUSK_API husk_status husk_buffer_read(husk_queue *queue, husk_buffer *buffer, uint64_t offset, uint64_t bytes,
                                      void *host);

/*
 * The same without waiting. write_async copies host into pinned staging memory first, so host may be
 * reused at once; read_async fills host by the time a later record or finish says so, and host must live until
 * then. Where 128 MiB of staging memory are in use write_async waits for the writes before it: 64 KiB of that serve a
 * write of so many bytes and more, or up to 256 writes of 4 KiB or less.
 */
HUSK_API husk_status husk_buffer_write_async(husk_queue *queue, husk_buffer *buffer, uint64_t offset,
                                             uint64_t bytes, const void *host);
HUSK_API husk_status husk_buffer_read_async(husk_queue *queue, husk_buffer *buffer, uint64_t offset,
                                            uint64_t bytes, void *host);

typedef enum husk_map_mode {
    HUSK_MAP_READ = 1,
    HUSK_MAP_WRITE = 2,  /* what was there is kept where it is not written */
    HUSK_MAP_DISCARD = 4 /* write all of it; what was there may be lost */
} husk_map_mode;

/*
 * Device memory as host memory, without a copy where both share it. Blocks until earlier work on the queue
 * has ended. Every map is ended by one unmap, on any queue of the context, before kernels use the range.
 */
HUSK_API husk_status husk_buffer_map(husk_queue *queue, husk_buffer *buffer, husk_map_mode mode,
                                     uint64_t offset, uint64_t bytes, void **host);
HUSK_API husk_status husk_buffer_unmap(husk_queue *queue, husk_buffer *buffer, void *host);

/* Device to device; the ranges must not overlap. */
HUSK_API husk_status husk_buffer_copy(husk_queue *queue, husk_buffer *from, uint64_t from_offset,
                                      husk_buffer *to, uint64_t to_offset, uint64_t bytes);
/* Repeat a pattern of 1, 2, 4, 8 or 16 bytes; offset, bytes and where a view begins are multiples of it. */
HUSK_API husk_status husk_buffer_fill(husk_queue *queue, husk_buffer *buffer, uint64_t offset, uint64_t bytes,
                                      const void *pattern, uint64_t pattern_bytes);

HUSK_END_DECLS

#endif
