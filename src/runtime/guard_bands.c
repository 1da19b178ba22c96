// SPDX-License-Identifier: MIT
#include "runtime/guard_bands.h"

#include <stdlib.h>

#include "base/guard_pattern.h"
#include "runtime/context_struct.h"
#include "runtime/lost.h"

static const unsigned char UNWRITTEN = HUSK__GUARD_UNWRITTEN;

static husk__guarded guarded(const husk__block *block)
{
    return (husk__guarded){.serial = block->serial, .bytes = block->bytes, .band = block->band};
}

static uint64_t bytes_between(const husk__block *block)
{
    return block->bytes - 2 * block->band;
}

// The queue that bands are written and read on; NULL: *code says why there is none.
static cl_command_queue queue_of(husk_context *context, cl_int *code)
{
    husk__guards *guards = &context->guards;
    *code = CL_SUCCESS;
    pthread_mutex_lock(&guards->lock);
    if (!guards->queue)
        guards->queue = clCreateCommandQueue(context->cl, context->device->id, 0, code);
    const cl_command_queue queue = guards->queue;
    pthread_mutex_unlock(&guards->lock);
    return queue;
}

// That queue, and room for one band, to be freed.
static husk_status begin(husk_context *context, const husk__block *block, cl_command_queue *queue,
                         unsigned char **bytes, const husk__scope *scope)
{
    cl_int code;
    *queue = queue_of(context, &code);
    if (!*queue)
        return husk__opencl_failed(context, scope, "clCreateCommandQueue", code);
    *bytes = malloc((size_t)block->band);
    return *bytes ? HUSK_OK : husk__fail(scope, HUSK_OUT_OF_HOST_MEMORY, "no host memory for a guard band");
}

// OpenCL's answer, and which call gave it.
typedef struct answer {
    cl_int code;
    const char *call;
} answer;

static answer write_band(cl_command_queue queue, const husk__block *block, bool is_behind, unsigned char *bytes)
{
    const husk__guarded what = guarded(block);
    husk__guard_fill(&what, is_behind, bytes);
    const cl_int code = clEnqueueWriteBuffer(queue, block->mem, CL_TRUE, (size_t)husk__guard_begin(&what, is_behind),
                                             (size_t)block->band, bytes, 0, NULL, NULL);
    return (answer){code, "a guard band: clEnqueueWriteBuffer"};
}

// What was written is there for other queues. A blocking write alone promises that its host memory may be used again:
// Intel's runtime for CPUs has only copied it by then.
static answer finish(cl_command_queue queue)
{
    return (answer){clFinish(queue), "guarded memory: clFinish"};
}

static answer lay(cl_command_queue queue, const husk__block *block, unsigned char *bytes)
{
    answer got = write_band(queue, block, false, bytes);
    if (got.code == CL_SUCCESS)
        got = write_band(queue, block, true, bytes);
    if (got.code == CL_SUCCESS)
        got = (answer){clEnqueueFillBuffer(queue, block->mem, &UNWRITTEN, 1, (size_t)block->band,
                                           (size_t)bytes_between(block), 0, NULL, NULL),
                       "guarded memory: clEnqueueFillBuffer"};
    return got.code == CL_SUCCESS ? finish(queue) : got;
}

husk_status husk__guards_lay(husk_context *context, const husk__block *block, const husk__scope *scope)
{
    answer got;
    cl_command_queue queue;
    unsigned char *bytes;
    const husk_status status = begin(context, block, &queue, &bytes, scope);
    if (status != HUSK_OK)
        return status;
    do
        got = lay(queue, block, bytes);
    while (husk__pool_gives_way(&context->pool, got.code));
    free(bytes);
    return got.code == CL_SUCCESS ? HUSK_OK : husk__opencl_failed(context, scope, got.call, got.code);
}

// The clock of a command that uses the block, with a reference to it; NULL where all have ended.
static husk__clock *clock_of_use(husk__block *block)
{
    husk__clock *clock = NULL;
    pthread_mutex_lock(&block->lock);
    for (int i = 0; i < block->use_count && !clock; ++i)
        if (!husk__clock_has_ended(block->uses[i].clock, block->uses[i].number))
            clock = block->uses[i].clock;
    if (clock)
        husk__clock_retain(clock);
    pthread_mutex_unlock(&block->lock);
    return clock;
}

// No lock is held meanwhile: what is waited for may wait for another thread, which may want the block.
static answer wait_for_uses(husk__block *block)
{
    answer got = {CL_SUCCESS, "waiting for what uses guarded memory"};
    for (husk__clock *clock; got.code == CL_SUCCESS && (clock = clock_of_use(block));) {
        got.code = husk__clock_wait(clock);
        husk__clock_release(clock);
    }
    return got;
}

// One that was written is made good, so that it is told once.
static answer read_band(cl_command_queue queue, const husk__block *block, bool is_behind, unsigned char *bytes,
                        husk__guard_touch *found)
{
    const husk__guarded what = guarded(block);
    const cl_int code = clEnqueueReadBuffer(queue, block->mem, CL_TRUE, (size_t)husk__guard_begin(&what, is_behind),
                                            (size_t)block->band, bytes, 0, NULL, NULL);
    if (code != CL_SUCCESS)
        return (answer){code, "a guard band: clEnqueueReadBuffer"};
    *found = husk__guard_compare(&what, is_behind, bytes);
    if (!found->is_touched)
        return (answer){CL_SUCCESS, NULL};
    const answer got = write_band(queue, block, is_behind, bytes);
    return got.code == CL_SUCCESS ? finish(queue) : got;
}

static husk_status tell(const husk__block *block, const husk__guard_touch found[2], const husk__scope *scope)
{
    char text[HUSK__GUARD_TEXT];
    const char *kernel = atomic_load(&block->last_kernel);
    husk__guard_describe(found, text);
    return husk__fail(scope, HUSK_INTERNAL, "memory outside a buffer of %llu bytes was written: %s; %s%s",
                      (unsigned long long)bytes_between(block), text,
                      kernel ? "the last kernel that used it is " : "no kernel of Husk's has used it",
                      kernel ? kernel : "");
}

husk_status husk__guards_look(husk_context *context, husk__block *block, const husk__scope *scope)
{
    husk__guard_touch found[2] = {{0}, {0}};
    cl_command_queue queue;
    unsigned char *bytes;
    const husk_status status = begin(context, block, &queue, &bytes, scope);
    if (status != HUSK_OK)
        return status;
    answer got = wait_for_uses(block);
    for (int i = 0; i < 2 && got.code == CL_SUCCESS; ++i)
        got = read_band(queue, block, i == 1, bytes, &found[i]);
    free(bytes);
    if (found[0].is_touched || found[1].is_touched) // whatever failed behind it
        return tell(block, found, scope);
    return got.code == CL_SUCCESS ? HUSK_OK : husk__opencl_failed(context, scope, got.call, got.code);
}

void husk__guards_look_and_keep(husk_context *context, husk__block *block)
{
    husk_error error = {0};
    const husk__scope scope = {"husk_context_check_guards", &error};
    if (husk__guards_look(context, block, &scope) != HUSK_OK)
        husk__guards_keep(&context->guards, &error);
}

// Wider bands are not looked at together.
enum { WIDEST_TOGETHER = 1 << 16 };

static uint64_t bytes_together(const husk__block *block)
{
    return block->band <= WIDEST_TOGETHER ? 2 * block->band : 0;
}

// The bands of a block, one behind the other, begin to come to `bytes`.
static bool begin_to_read(cl_command_queue queue, husk__block *block, unsigned char *bytes)
{
    const husk__guarded what = guarded(block);
    bool is_read = block->band <= WIDEST_TOGETHER && wait_for_uses(block).code == CL_SUCCESS;
    for (int i = 0; i < 2 && is_read; ++i)
        is_read =
            clEnqueueReadBuffer(queue, block->mem, CL_FALSE, (size_t)husk__guard_begin(&what, i == 1),
                                (size_t)block->band, bytes + (uint64_t)i * block->band, 0, NULL, NULL) == CL_SUCCESS;
    return is_read;
}

static bool is_as_laid(const husk__block *block, unsigned char *bytes)
{
    const husk__guarded what = guarded(block);
    return !husk__guard_compare(&what, false, bytes).is_touched &&
           !husk__guard_compare(&what, true, bytes + block->band).is_touched;
}

void husk__guards_look_together(husk_context *context, husk__block *const *blocks, int count, bool *is_intact)
{
    cl_int code;
    const cl_command_queue queue = queue_of(context, &code);
    uint64_t room = 1;
    for (int i = 0; i < count; ++i)
        room += bytes_together(blocks[i]);
    unsigned char *bytes = queue ? malloc((size_t)room) : NULL;
    if (!bytes)
        return;
    unsigned char *at = bytes;
    for (int i = 0; i < count; ++i) {
        is_intact[i] = begin_to_read(queue, blocks[i], at);
        at += bytes_together(blocks[i]);
    }
    const bool is_read = clFinish(queue) == CL_SUCCESS;
    at = bytes;
    for (int i = 0; i < count; ++i) {
        is_intact[i] = is_intact[i] && is_read && is_as_laid(blocks[i], at);
        at += bytes_together(blocks[i]);
    }
    if (is_read) // otherwise a driver may still write there
        free(bytes);
}

void husk__guards_end(husk_context *context, husk__block *block)
{
    if (!atomic_load(&context->is_lost))
        husk__guards_look_and_keep(context, block);
}
