// SPDX-License-Identifier: MIT
#include "runtime/memory.h"

#include <stdlib.h>

#include "os/large_memory.h"
#include "runtime/context_struct.h"
#include "runtime/guard_bands.h"
#include "runtime/lost.h"
#include "runtime/opencl_error.h"

// From here on a CPU device's block is memory of ours, in large pages where the system has them.
static const uint64_t LEAST_LARGE = 1 << 20;

static void CL_CALLBACK end_memory(cl_mem mem, void *memory)
{
    (void)mem;
    free(memory);
}

// NULL also where the device is none that computes on host memory in place.
static cl_mem create_large(husk_context *context, uint64_t bytes)
{
    // A pool that keeps nothing is there for checkers, which see less around memory of ours.
    if (context->device->traits.device_class != HUSK_DEVICE_CPU || bytes < LEAST_LARGE || context->pool.keep_bytes == 0)
        return NULL;
    void *memory = husk__large_memory(bytes);
    if (!memory)
        return NULL;
    cl_mem mem = clCreateBuffer(context->cl, CL_MEM_READ_WRITE | CL_MEM_USE_HOST_PTR, (size_t)bytes, memory, NULL);
    if (mem && clSetMemObjectDestructorCallback(mem, end_memory, memory) == CL_SUCCESS)
        return mem;
    if (mem)
        clReleaseMemObject(mem);
    free(memory);
    return NULL;
}

// CL_SUCCESS without a block: there is no host memory for its record.
static cl_int allocate(husk_context *context, uint64_t bytes, husk__block **block)
{
    cl_int code = CL_SUCCESS;
    cl_mem mem = create_large(context, bytes);
    if (!mem)
        mem = clCreateBuffer(context->cl, CL_MEM_READ_WRITE, (size_t)bytes, NULL, &code);
    *block = mem ? husk__pool_record(&context->pool, mem, bytes) : NULL;
    if (mem && !*block)
        clReleaseMemObject(mem);
    return mem ? CL_SUCCESS : code;
}

// Devices that compute in the host's memory may say that this is short, and some drivers' word for memory is resources.
static bool wants_memory(cl_int code)
{
    return code == CL_SUCCESS || code == CL_MEM_OBJECT_ALLOCATION_FAILURE || code == CL_OUT_OF_HOST_MEMORY ||
           code == CL_OUT_OF_RESOURCES;
}

static husk_status no_block(husk_context *context, cl_int code, const husk__scope *scope)
{
    if (code == CL_SUCCESS)
        return husk__fail(scope, HUSK_OUT_OF_HOST_MEMORY, "no host memory for a buffer's record");
    const husk_status status = husk__opencl_failed(context, scope, "clCreateBuffer", code);
    if (status == HUSK_DEVICE_LOST || code != CL_OUT_OF_RESOURCES)
        return status;
    return husk__fail_opencl(scope, HUSK_OUT_OF_MEMORY, code, "clCreateBuffer answered %s", husk__opencl_name(code));
}

static husk_status over_budget(const husk__pool *pool, uint64_t bytes, const husk__scope *scope)
{
    return husk__fail(scope, HUSK_OUT_OF_MEMORY,
                      "a block of %llu bytes does not fit: %llu of the budget of %llu bytes are in use",
                      (unsigned long long)bytes, (unsigned long long)pool->stats.live_bytes,
                      (unsigned long long)pool->stats.budget_bytes);
}

// A new block, at the price of cached ones where the budget or the driver is short; called with the lock held, which is
// let go while something is waited for.
static husk_status grow(husk_context *context, uint64_t bytes, husk__block **block, const husk__scope *scope)
{
    husk__pool *pool = &context->pool;
    cl_int code;
    do {
        if (!husk__pool_make_room(pool, bytes))
            return over_budget(pool, bytes, scope);
        code = allocate(context, bytes, block);
    } while (!*block && wants_memory(code) && husk__pool_give_back(pool));
    if (!*block)
        return no_block(context, code, scope);
    ++pool->stats.allocations;
    return HUSK_OK;
}

husk_status husk__block_wrap(husk_context *context, cl_mem mem, uint64_t bytes, husk__block **block, uint64_t *begin,
                             const husk__scope *scope)
{
    cl_mem parent = NULL;
    size_t offset = 0;
    cl_int code = clGetMemObjectInfo(mem, CL_MEM_ASSOCIATED_MEMOBJECT, sizeof parent, &parent, NULL);
    if (code == CL_SUCCESS && parent)
        code = clGetMemObjectInfo(mem, CL_MEM_OFFSET, sizeof offset, &offset, NULL);
    if (code != CL_SUCCESS)
        return husk__opencl_failed(context, scope, "clGetMemObjectInfo", code);
    *block = husk__pool_share(&context->pool, parent ? parent : mem);
    *begin = *block ? offset : 0;
    if (*block)
        return HUSK_OK;
    *block = husk__pool_record(&context->pool, mem, bytes);
    if (!*block)
        return husk__fail(scope, HUSK_OUT_OF_HOST_MEMORY, "no host memory for a buffer's record");
    (*block)->is_foreign = true;
    if (parent) {
        (*block)->root = parent;
        (*block)->root_offset = offset;
    }
    clRetainMemObject(mem);
    return HUSK_OK;
}

// A new block for so many bytes between guard bands, which nobody else sees yet. It is for tests, and no peak.
static husk_status grow_guarded(husk_context *context, uint64_t bytes, uint64_t band, husk__block **block,
                                const husk__scope *scope)
{
    const uint64_t largest = context->device->traits.max_allocation;
    if (2 * band > largest || bytes > largest - 2 * band)
        return husk__fail(scope, HUSK_OUT_OF_MEMORY,
                          "%llu bytes and two guard bands of %llu are more than one buffer may have here: %llu",
                          (unsigned long long)bytes, (unsigned long long)band, (unsigned long long)largest);
    pthread_mutex_lock(&context->pool.lock);
    const husk_status status = grow(context, bytes + 2 * band, block, scope);
    if (status == HUSK_OK) {
        (*block)->band = band;
        context->pool.stats.live_bytes += (*block)->bytes;
        context->pool.guarded_bytes += (*block)->bytes;
    }
    pthread_mutex_unlock(&context->pool.lock);
    return status;
}

// It is not used again.
static void destroy_guarded(husk__pool *pool, husk__block *block)
{
    pthread_mutex_lock(&pool->lock);
    pool->stats.live_bytes -= block->bytes;
    pool->guarded_bytes -= block->bytes;
    pthread_mutex_unlock(&pool->lock);
    husk__block_destroy(block);
}

static husk_status take_guarded(husk_context *context, uint64_t bytes, uint64_t band, husk__block **block,
                                const husk__scope *scope)
{
    husk__pool *pool = &context->pool;
    *block = NULL;
    husk_status status = grow_guarded(context, bytes, band, block, scope);
    if (status != HUSK_OK)
        return status;
    status = husk__guards_lay(context, *block, scope);
    if (status != HUSK_OK) {
        destroy_guarded(pool, *block);
        *block = NULL;
        return status;
    }
    pthread_mutex_lock(&pool->lock);
    husk__pool_enlist(pool, *block);
    pthread_mutex_unlock(&pool->lock);
    return HUSK_OK;
}

// No check sees it any more, so that it is told once.
static void release_guarded(husk_context *context, husk__block *block)
{
    pthread_mutex_lock(&context->pool.lock);
    husk__pool_strike(&context->pool, block);
    pthread_mutex_unlock(&context->pool.lock);
    husk__guards_end(context, block);
    destroy_guarded(&context->pool, block);
}

husk_status husk__block_take(husk_context *context, uint64_t bytes, husk__block **block, const husk__scope *scope)
{
    husk__pool *pool = &context->pool;
    uint64_t largest = context->device->traits.max_allocation;
    const uint64_t band = atomic_load(&context->guards.band);
    if (bytes > largest)
        return husk__fail(scope, HUSK_OUT_OF_MEMORY, "%llu bytes are more than one buffer may have here: %llu",
                          (unsigned long long)bytes, (unsigned long long)largest);
    if (band > 0)
        return take_guarded(context, bytes, band, block, scope);
    uint64_t class_bytes;
    int class = husk__pool_class(bytes, &class_bytes);
    if (class_bytes > largest)
        class_bytes = largest; // the last class ends at what the device allows
    if (pool->keep_bytes == 0)
        class_bytes = bytes; // used once: it ends with the buffer, and checkers see what passes its end

    husk_error error; // the caller's is left as it was where the second try succeeds
    const husk__scope own = {scope->call, &error};
    pthread_mutex_lock(&pool->lock);
    husk_status status = HUSK_OK;
    *block = husk__pool_reuse(pool, class, class_bytes);
    if (!*block)
        status = grow(context, class_bytes, block, &own);
    if (status == HUSK_OUT_OF_MEMORY && bytes < class_bytes) // there may be room for what was asked for
        status = grow(context, bytes, block, &own);
    if (status == HUSK_OK) {
        husk__pool_enlist(pool, *block);
        pool->stats.live_bytes += (*block)->bytes;
        const uint64_t unguarded = pool->stats.live_bytes - pool->guarded_bytes;
        if (unguarded > pool->stats.peak_bytes)
            pool->stats.peak_bytes = unguarded;
    }
    pthread_mutex_unlock(&pool->lock);
    if (status != HUSK_OK && scope->error)
        *scope->error = error;
    return status;
}

// The class whose requests a free block has room for; -1: none. One that was made of exactly what was asked for is too
// small for the class of that many bytes.
static int class_to_serve(const husk_context *context, const husk__block *block)
{
    uint64_t class_bytes;
    const int class = husk__pool_class(block->bytes, &class_bytes);
    return block->bytes < class_bytes && block->bytes < context->device->traits.max_allocation ? class - 1 : class;
}

void husk__block_release(husk_context *context, husk__block *block)
{
    if (!block || atomic_fetch_sub(&block->references, 1) != 1)
        return;
    if (block->is_foreign)
        husk__block_destroy(block);
    else if (block->band > 0)
        release_guarded(context, block);
    else
        husk__pool_put(&context->pool, block, class_to_serve(context, block));
}
