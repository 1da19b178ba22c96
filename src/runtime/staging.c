// SPDX-License-Identifier: MIT
// Pinned staging memory, kept by the queue and used again when its commands have ended.
#include "runtime/staging.h"

#include <stdlib.h>

#include "runtime/lost.h"
#include "runtime/queue_struct.h"

// A write is small, and shares a piece with the next ones, where so many of them fill the smallest piece.
enum { SMALLEST_STAGING = 1 << 16, SMALL = SMALLEST_STAGING / 16, ALIGNMENT = 64 };
static const uint64_t STAGING_LIMIT = UINT64_C(128) << 20; // more is waited for, except that one write may be larger

// The last command is asked first: where it has not ended, that is all that is asked.
static bool is_free(husk__staging *staging)
{
    while (staging->reader_count > 0) {
        const cl_event last = staging->readers[staging->reader_count - 1];
        cl_int execution = CL_QUEUED;
        clGetEventInfo(last, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof execution, &execution, NULL);
        if (execution > CL_COMPLETE)
            return false;
        clReleaseEvent(last);
        --staging->reader_count;
    }
    staging->used = 0;
    return true;
}

static void wait_for(const husk__staging *staging)
{
    if (staging->reader_count > 0)
        clWaitForEvents((cl_uint)staging->reader_count, staging->readers);
}

// The unmapping, on cl, comes behind the writes that read the memory, and OpenCL keeps the memory until then.
static void destroy_one(husk_queue *queue, cl_command_queue cl, husk__staging *staging)
{
    const cl_int code = clEnqueueUnmapMemObject(cl, staging->mem, staging->host, 0, NULL, NULL);
    if (code != CL_SUCCESS)
        wait_for(staging);
    for (int i = 0; i < staging->reader_count; ++i)
        clReleaseEvent(staging->readers[i]);
    if (queue->shared_staging == staging)
        queue->shared_staging = NULL;
    queue->staging_bytes -= staging->bytes;
    clReleaseMemObject(staging->mem);
    free(staging);
}

void husk__staging_destroy(husk_queue *queue)
{
    while (queue->staging) {
        husk__staging *staging = queue->staging;
        queue->staging = staging->next;
        destroy_one(queue, queue->cl, staging);
    }
}

// What no command reads, on a queue of its own: on the caller's, the memory would stay for whatever is enqueued there.
static void destroy_free(husk_queue *queue)
{
    cl_int code;
    cl_command_queue own = clCreateCommandQueue(queue->context->cl, queue->context->device->id, 0, &code);
    for (husk__staging **at = &queue->staging; *at;) {
        husk__staging *staging = *at;
        if (!is_free(staging)) {
            at = &staging->next;
            continue;
        }
        *at = staging->next;
        destroy_one(queue, own ? own : queue->cl, staging);
    }
    if (own)
        clReleaseCommandQueue(own); // which flushes it
}

static void wait_for_all(husk_queue *queue)
{
    clFlush(queue->cl);
    for (const husk__staging *at = queue->staging; at; at = at->next)
        wait_for(at);
}

// Mapped on a queue of its own: on the caller's, the map would wait for whatever is enqueued there.
static void *map_now(husk_context *context, cl_mem mem, uint64_t bytes, const char **call, cl_int *code)
{
    *call = "staging memory: clCreateCommandQueue";
    cl_command_queue mapper = clCreateCommandQueue(context->cl, context->device->id, 0, code);
    if (!mapper)
        return NULL;
    *call = "staging memory: clEnqueueMapBuffer";
    void *host;
    do
        host =
            clEnqueueMapBuffer(mapper, mem, CL_TRUE, CL_MAP_READ | CL_MAP_WRITE, 0, (size_t)bytes, 0, NULL, NULL, code);
    while (!host && husk__pool_gives_way(&context->pool, *code));
    clReleaseCommandQueue(mapper);
    return host;
}

static husk_status create(husk_queue *queue, uint64_t bytes, husk__staging **staging, const husk__scope *scope)
{
    husk__staging *made = calloc(1, sizeof *made);
    if (!made)
        return husk__fail(scope, HUSK_OUT_OF_HOST_MEMORY, "no host memory for a staging record");
    cl_int code;
    const char *call = "staging memory: clCreateBuffer";
    made->bytes = bytes < SMALLEST_STAGING ? SMALLEST_STAGING : bytes;
    do
        made->mem = clCreateBuffer(queue->context->cl, CL_MEM_READ_WRITE | CL_MEM_ALLOC_HOST_PTR, (size_t)made->bytes,
                                   NULL, &code);
    while (!made->mem && husk__pool_gives_way(&queue->context->pool, code));
    if (made->mem)
        made->host = map_now(queue->context, made->mem, made->bytes, &call, &code);
    if (!made->host) {
        if (made->mem)
            clReleaseMemObject(made->mem);
        free(made);
        return husk__opencl_failed(queue->context, scope, call, code);
    }
    queue->staging_bytes += made->bytes;
    made->next = queue->staging;
    queue->staging = made;
    *staging = made;
    return HUSK_OK;
}

// The smallest that is large enough, and none that is much larger: a few bytes behind a long kernel would hold it.
enum { MOST_TIMES_LARGER = 4 };

static husk__staging *find_free(husk_queue *queue, uint64_t bytes)
{
    const uint64_t wanted = bytes < SMALLEST_STAGING ? SMALLEST_STAGING : bytes;
    husk__staging *best = NULL;
    for (husk__staging *at = queue->staging; at; at = at->next)
        if (at->bytes >= wanted && at->bytes / MOST_TIMES_LARGER <= wanted && (!best || at->bytes < best->bytes) &&
            is_free(at))
            best = at;
    return best;
}

static husk_status take_piece(husk_queue *queue, uint64_t bytes, husk__staging **staging, const husk__scope *scope)
{
    *staging = find_free(queue, bytes);
    if (*staging)
        return HUSK_OK;
    if (queue->staging_bytes + bytes > STAGING_LIMIT)
        destroy_free(queue);
    if (queue->staging_bytes + bytes > STAGING_LIMIT) {
        wait_for_all(queue);
        husk__staging_destroy(queue);
    }
    return create(queue, bytes, staging, scope);
}

static bool has_room(husk__staging *staging, uint64_t bytes)
{
    return is_free(staging) ||
           (staging->used + bytes <= staging->bytes && staging->reader_count < HUSK__STAGING_READERS);
}

husk_status husk__staging_take(husk_queue *queue, uint64_t bytes, husk__staging **staging, void **host,
                               const husk__scope *scope)
{
    husk_status status = HUSK_OK;
    *staging = bytes <= SMALL ? queue->shared_staging : NULL;
    if (!*staging || !has_room(*staging, bytes))
        status = take_piece(queue, bytes, staging, scope);
    if (status != HUSK_OK)
        return status;
    if (bytes <= SMALL)
        queue->shared_staging = *staging;
    *host = (unsigned char *)(*staging)->host + (*staging)->used;
    (*staging)->used += (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    return HUSK_OK;
}

void husk__staging_read_by(husk__staging *staging, cl_event event)
{
    clRetainEvent(event);
    staging->readers[staging->reader_count++] = event;
}
