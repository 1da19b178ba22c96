// SPDX-License-Identifier: MIT
// Host to device and back, device to device, mapping and filling.
#include <string.h>

#include "runtime/begin.h"
#include "runtime/lost.h"
#include "runtime/profile.h"
#include "runtime/queue_struct.h"
#include "runtime/staging.h"
#include "runtime/watch.h"

// The checks all transfers share.
static husk_status begin(husk_queue *queue, const char *call, const husk_buffer *buffer, const char *buffer_name,
                         uint64_t offset, uint64_t bytes, husk__scope *scope)
{
    husk_status status = husk__call_begin(queue, call, scope);
    if (status != HUSK_OK)
        return status;
    if (!buffer)
        return husk__reject(scope, buffer_name, "is NULL");
    if (!husk__buffer_is_live(buffer))
        return husk__reject(scope, buffer_name, "was released");
    if (buffer->context != queue->context)
        return husk__reject(scope, buffer_name, "belongs to another context than the queue");
    if (offset > buffer->bytes || bytes > buffer->bytes - offset)
        return husk__reject(scope, "bytes", "[%llu, +%llu) passes the end of %s at %llu", (unsigned long long)offset,
                            (unsigned long long)bytes, buffer_name, (unsigned long long)buffer->bytes);
    return HUSK_OK;
}

// The command just enqueued uses the block, which may be NULL.
static void note_use(husk_queue *queue, husk__block *block)
{
    if (block)
        husk__block_used(block, queue->clock, husk__clock_tick(queue->clock));
}

// What has no name is not in the profile.
static husk_status done(husk_queue *queue, const husk_buffer *buffer, const char *function, const char *name,
                        cl_int code, cl_event event, const husk__scope *scope)
{
    if (code != CL_SUCCESS)
        return husk__opencl_failed(queue->context, scope, function, code);
    note_use(queue, buffer->block);
    if (queue->profiling && name) {
        clRetainEvent(event);
        husk__profile_keep(queue, name, event);
    }
    husk__queue_watch(queue, event);
    return HUSK_OK;
}

// After a blocking read or map on an in-order queue, everything enqueued on it has ended, well or not.
static husk_status caught_up(husk_queue *queue, husk_status status, const husk__scope *scope)
{
    if (status != HUSK_OK)
        return status;
    husk__clock_reached(queue->clock, atomic_load(&queue->clock->enqueued));
    return husk__queue_ended_well(queue, scope);
}

// A transfer from or to host memory, which may be NULL only for zero bytes.
static husk_status begin_host(husk_queue *queue, const char *call, const husk_buffer *buffer, uint64_t offset,
                              uint64_t bytes, const void *host, husk__scope *scope)
{
    husk_status status = begin(queue, call, buffer, "buffer", offset, bytes, scope);
    if (status == HUSK_OK && bytes > 0 && !host)
        status = husk__reject(scope, "host", "is NULL");
    return status;
}

husk_status husk_buffer_write(husk_queue *queue, husk_buffer *buffer, uint64_t offset, uint64_t bytes, const void *host)
{
    husk__scope scope;
    husk_status status = begin_host(queue, "husk_buffer_write", buffer, offset, bytes, host, &scope);
    if (status != HUSK_OK || bytes == 0)
        return status;
    cl_event event = NULL;
    cl_int code;
    HUSK__ENQUEUE(code, queue,
                  clEnqueueWriteBuffer(queue->cl, buffer->block->mem, CL_TRUE, (size_t)(buffer->offset + offset),
                                       (size_t)bytes, host, 0, NULL, &event));
    // It says only that the host memory may be used again, and what has failed by now.
    status = done(queue, buffer, "clEnqueueWriteBuffer", "write", code, event, &scope);
    return status == HUSK_OK ? husk__queue_ended_well(queue, &scope) : status;
}

husk_status husk_buffer_write_async(husk_queue *queue, husk_buffer *buffer, uint64_t offset, uint64_t bytes,
                                    const void *host)
{
    husk__scope scope;
    husk__staging *staging;
    void *staged;
    husk_status status = begin_host(queue, "husk_buffer_write_async", buffer, offset, bytes, host, &scope);
    if (status != HUSK_OK || bytes == 0)
        return status;
    status = husk__staging_take(queue, bytes, &staging, &staged, &scope);
    if (status != HUSK_OK)
        return status;
    memcpy(staged, host, (size_t)bytes);
    cl_event event = NULL;
    cl_int code;
    HUSK__ENQUEUE(code, queue,
                  clEnqueueWriteBuffer(queue->cl, buffer->block->mem, CL_FALSE, (size_t)(buffer->offset + offset),
                                       (size_t)bytes, staged, 0, NULL, &event));
    if (code == CL_SUCCESS)
        husk__staging_read_by(staging, event);
    return done(queue, buffer, "clEnqueueWriteBuffer", "write", code, event, &scope);
}

static husk_status enqueue_read(husk_queue *queue, husk_buffer *buffer, uint64_t offset, uint64_t bytes, void *host,
                                cl_bool blocking, const husk__scope *scope)
{
    cl_event event = NULL;
    cl_int code;
    HUSK__ENQUEUE(code, queue,
                  clEnqueueReadBuffer(queue->cl, buffer->block->mem, blocking, (size_t)(buffer->offset + offset),
                                      (size_t)bytes, host, 0, NULL, &event));
    return done(queue, buffer, "clEnqueueReadBuffer", "read", code, event, scope);
}

husk_status husk_buffer_read(husk_queue *queue, husk_buffer *buffer, uint64_t offset, uint64_t bytes, void *host)
{
    husk__scope scope;
    husk_status status = begin_host(queue, "husk_buffer_read", buffer, offset, bytes, host, &scope);
    if (status != HUSK_OK || bytes == 0)
        return status;
    return caught_up(queue, enqueue_read(queue, buffer, offset, bytes, host, CL_TRUE, &scope), &scope);
}

husk_status husk_buffer_read_async(husk_queue *queue, husk_buffer *buffer, uint64_t offset, uint64_t bytes, void *host)
{
    husk__scope scope;
    husk_status status = begin_host(queue, "husk_buffer_read_async", buffer, offset, bytes, host, &scope);
    if (status != HUSK_OK || bytes == 0)
        return status;
    return enqueue_read(queue, buffer, offset, bytes, host, CL_FALSE, &scope);
}

// What has failed is no longer mapped, or its block is not used again: unmapping may write to it.
static husk_status map(husk_queue *queue, husk_buffer *buffer, cl_map_flags flags, uint64_t offset, uint64_t bytes,
                       void **host, const husk__scope *scope)
{
    cl_event event = NULL;
    cl_int code;
    void *mapped;
    do
        mapped = clEnqueueMapBuffer(queue->cl, buffer->block->mem, CL_TRUE, flags, (size_t)(buffer->offset + offset),
                                    (size_t)bytes, 0, NULL, &event, &code);
    while (!mapped && husk__pool_gives_way(&queue->context->pool, code));
    husk_status status = done(queue, buffer, "clEnqueueMapBuffer", NULL, mapped ? CL_SUCCESS : code, event, scope);
    status = caught_up(queue, status, scope);
    if (status == HUSK_OK) {
        atomic_fetch_add(&buffer->block->maps, 1);
        *host = mapped;
    } else if (mapped) {
        HUSK__ENQUEUE(code, queue, clEnqueueUnmapMemObject(queue->cl, buffer->block->mem, mapped, 0, NULL, NULL));
        if (code == CL_SUCCESS)
            note_use(queue, buffer->block);
        else
            atomic_fetch_add(&buffer->block->maps, 1);
    }
    return status;
}

husk_status husk_buffer_map(husk_queue *queue, husk_buffer *buffer, husk_map_mode mode, uint64_t offset, uint64_t bytes,
                            void **host)
{
    husk__scope scope;
    husk_status status = begin(queue, "husk_buffer_map", buffer, "buffer", offset, bytes, &scope);
    if (status != HUSK_OK)
        return status;
    if (!host)
        return husk__reject(&scope, "host", "is NULL");
    *host = NULL;
    const unsigned known = HUSK_MAP_READ | HUSK_MAP_WRITE | HUSK_MAP_DISCARD;
    if (mode == 0 || ((unsigned)mode & ~known) || ((mode & HUSK_MAP_DISCARD) && (mode & ~HUSK_MAP_DISCARD)))
        return husk__reject(&scope, "mode", "is %d, must be READ, WRITE, both, or DISCARD alone", (int)mode);
    if (bytes == 0)
        return husk__reject(&scope, "bytes", "is 0: there is nothing to map");
    cl_map_flags flags = 0;
    if (mode & HUSK_MAP_READ)
        flags |= CL_MAP_READ;
    if (mode & HUSK_MAP_WRITE)
        flags |= CL_MAP_WRITE;
    if (mode & HUSK_MAP_DISCARD)
        flags |= CL_MAP_WRITE_INVALIDATE_REGION;
    return map(queue, buffer, flags, offset, bytes, host, &scope);
}

husk_status husk_buffer_unmap(husk_queue *queue, husk_buffer *buffer, void *host)
{
    husk__scope scope;
    husk_status status = begin(queue, "husk_buffer_unmap", buffer, "buffer", 0, 0, &scope);
    if (status != HUSK_OK)
        return status;
    if (!host || !buffer->block)
        return husk__reject(&scope, "host", "is not what husk_buffer_map gave");
    cl_event event = NULL;
    cl_int code = clEnqueueUnmapMemObject(queue->cl, buffer->block->mem, host, 0, NULL, &event);
    if (code == CL_INVALID_VALUE)
        return husk__reject(&scope, "host", "is not what husk_buffer_map gave");
    if (code == CL_SUCCESS)
        atomic_fetch_sub(&buffer->block->maps, 1);
    return done(queue, buffer, "clEnqueueUnmapMemObject", NULL, code, event, &scope);
}

husk_status husk_buffer_copy(husk_queue *queue, husk_buffer *from, uint64_t from_offset, husk_buffer *to,
                             uint64_t to_offset, uint64_t bytes)
{
    husk__scope scope;
    husk_status status = begin(queue, "husk_buffer_copy", from, "from", from_offset, bytes, &scope);
    if (status == HUSK_OK)
        status = begin(queue, "husk_buffer_copy", to, "to", to_offset, bytes, &scope);
    if (status != HUSK_OK || bytes == 0)
        return status;
    uint64_t source = from->offset + from_offset, target = to->offset + to_offset;
    const uint64_t source_root = from->block->root_offset + source, target_root = to->block->root_offset + target;
    if (husk__blocks_meet(from->block, to->block) && source_root < target_root + bytes &&
        target_root < source_root + bytes)
        return husk__reject(&scope, "to", "overlaps from");
    cl_event event = NULL;
    cl_int code;
    HUSK__ENQUEUE(code, queue,
                  clEnqueueCopyBuffer(queue->cl, from->block->mem, to->block->mem, (size_t)source, (size_t)target,
                                      (size_t)bytes, 0, NULL, &event));
    if (code == CL_SUCCESS)
        note_use(queue, from->block);
    return done(queue, to, "clEnqueueCopyBuffer", "copy", code, event, &scope);
}

husk_status husk_buffer_fill(husk_queue *queue, husk_buffer *buffer, uint64_t offset, uint64_t bytes,
                             const void *pattern, uint64_t pattern_bytes)
{
    husk__scope scope;
    husk_status status = begin(queue, "husk_buffer_fill", buffer, "buffer", offset, bytes, &scope);
    if (status != HUSK_OK)
        return status;
    if (!pattern)
        return husk__reject(&scope, "pattern", "is NULL");
    if (pattern_bytes == 0 || pattern_bytes > 16 || (pattern_bytes & (pattern_bytes - 1)))
        return husk__reject(&scope, "pattern_bytes", "is %llu, must be 1, 2, 4, 8 or 16",
                            (unsigned long long)pattern_bytes);
    if (buffer->offset % pattern_bytes)
        return husk__reject(&scope, "buffer",
                            "is a view that begins at byte %llu, must be a multiple of pattern_bytes (%llu)",
                            (unsigned long long)buffer->offset, (unsigned long long)pattern_bytes);
    if (offset % pattern_bytes || bytes % pattern_bytes)
        return husk__reject(&scope, "bytes", "offset and bytes must be multiples of pattern_bytes (%llu)",
                            (unsigned long long)pattern_bytes);
    if (bytes == 0)
        return HUSK_OK;
    cl_event event = NULL;
    cl_int code;
    HUSK__ENQUEUE(code, queue,
                  clEnqueueFillBuffer(queue->cl, buffer->block->mem, pattern, (size_t)pattern_bytes,
                                      (size_t)(buffer->offset + offset), (size_t)bytes, 0, NULL, &event));
    return done(queue, buffer, "clEnqueueFillBuffer", "fill", code, event, &scope);
}
