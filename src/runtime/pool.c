// SPDX-License-Identifier: MIT
// Size-classed device memory. A free block remembers which commands used it last and is handed out again
// only when they have ended.
#include "os/large_memory.h"
#include "runtime/internal.h"

#include <stdlib.h>
#include <string.h>

enum { SMALLEST_BLOCK = 4096 };

// From here on a CPU device's block is memory of ours, in large pages where the system has them.
static const uint64_t LEAST_LARGE = 1 << 20;

// Classes are quarters of powers of two from 4 KiB on: at most a quarter of a block is wasted.
static int size_class(uint64_t bytes, uint64_t *class_bytes)
{
    uint64_t base = SMALLEST_BLOCK;
    int number = 0;
    if (bytes <= base)
        return *class_bytes = base, 0;
    while (bytes > 2 * base && base < UINT64_C(1) << 62) {
        base *= 2;
        number += 4;
    }
    uint64_t quarter = base / 4;
    uint64_t steps = (bytes - base + quarter - 1) / quarter;
    *class_bytes = base + steps * quarter;
    return number + (int)steps;
}

void husk__pool_init(husk__pool *pool, uint64_t budget, uint64_t keep_bytes)
{
    pthread_mutex_init(&pool->lock, NULL);
    pool->stats.budget_bytes = budget;
    pool->keep_bytes = keep_bytes;
}

static void forget_uses(husk__block *block)
{
    for (int i = 0; i < block->use_count; ++i)
        husk__clock_release(block->uses[i].clock);
    if (block->uses != block->first_uses)
        free(block->uses);
    block->uses = block->first_uses;
    block->use_capacity = HUSK__BLOCK_USES;
    block->use_count = 0;
}

static void destroy_block(husk__block *block)
{
    forget_uses(block);
    if (block->mem)
        clReleaseMemObject(block->mem);
    pthread_mutex_destroy(&block->lock);
    free(block);
}

// Called with the pool's lock held.
static void trim_locked(husk__pool *pool, uint64_t keep_bytes)
{
    for (int class = HUSK__SIZE_CLASSES - 1; class >= 0 && pool->stats.cached_bytes > keep_bytes; --class) {
        while (pool->free[class] && pool->stats.cached_bytes > keep_bytes) {
            husk__block *block = pool->free[class];
            pool->free[class] = block->next;
            pool->stats.cached_bytes -= block->bytes;
            destroy_block(block);
        }
    }
}

void husk__pool_destroy(husk__pool *pool)
{
    trim_locked(pool, 0);
    pthread_mutex_destroy(&pool->lock);
}

// NULL: all have ended.
static const husk__use *first_unended(const husk__block *block)
{
    for (int i = 0; i < block->use_count; ++i)
        if (atomic_load(&block->uses[i].clock->completed) < block->uses[i].number)
            return &block->uses[i];
    return NULL;
}

// A free block of the class whose last commands have ended; called with the lock held.
static husk__block *take_idle(husk__pool *pool, int class)
{
    for (husk__block **at = &pool->free[class]; *at; at = &(*at)->next) {
        if (first_unended(*at))
            continue;
        husk__block *block = *at;
        *at = block->next;
        return block;
    }
    return NULL;
}

static husk__block *oldest_free(husk__pool *pool, int class)
{
    husk__block *block = pool->free[class];
    while (block && block->next)
        block = block->next;
    return block;
}

// Where nobody has waited for the queues, they are asked about a free block.
static void ask_for_end(const husk__block *block)
{
    for (int i = 0; i < block->use_count; ++i)
        husk__clock_has_ended(block->uses[i].clock, block->uses[i].number);
}

// The same for the block that has been free the longest.
static husk__block *ask_for_idle(husk__pool *pool, int class)
{
    const husk__block *oldest = oldest_free(pool, class);
    if (oldest)
        ask_for_end(oldest);
    return oldest ? take_idle(pool, class) : NULL;
}

// Wait for a command that holds a free block back. The lock is let go meanwhile: others may take and give back what has
// nothing to do with it. False where its queue cannot be waited for.
static bool wait_for_use(husk__pool *pool, const husk__block *block)
{
    const husk__use *use = first_unended(block);
    if (!use)
        return true;
    husk__clock *clock = use->clock;
    husk__clock_retain(clock);
    pthread_mutex_unlock(&pool->lock);
    const cl_int code = husk__clock_wait(clock);
    husk__clock_release(clock);
    pthread_mutex_lock(&pool->lock);
    return code == CL_SUCCESS;
}

// Wait for the commands that hold back free blocks of the class, the oldest first.
static husk__block *wait_for_idle(husk__pool *pool, int class)
{
    husk__block *idle = NULL;
    for (const husk__block *oldest; !idle && (oldest = oldest_free(pool, class));) {
        if (!wait_for_use(pool, oldest))
            return NULL;
        idle = take_idle(pool, class);
    }
    return idle;
}

// Bytes of free blocks that no command uses any more.
static uint64_t idle_bytes(const husk__pool *pool)
{
    uint64_t bytes = 0;
    for (int class = 0; class < HUSK__SIZE_CLASSES; ++class)
        for (const husk__block *block = pool->free[class]; block; block = block->next)
            bytes += first_unended(block) ? 0 : block->bytes;
    return bytes;
}

// Return such blocks to the driver, the largest first, until no more than keep_bytes are free.
static void drop_idle(husk__pool *pool, uint64_t keep_bytes)
{
    for (int class = HUSK__SIZE_CLASSES - 1; class >= 0; --class) {
        for (husk__block **at = &pool->free[class]; *at && pool->stats.cached_bytes > keep_bytes;) {
            husk__block *block = *at;
            if (first_unended(block)) {
                at = &block->next;
                continue;
            }
            *at = block->next;
            pool->stats.cached_bytes -= block->bytes;
            destroy_block(block);
        }
    }
}

static void drop_ended_uses(husk__block *block)
{
    int kept = 0;
    for (int i = 0; i < block->use_count; ++i) {
        const husk__use use = block->uses[i];
        if (husk__clock_has_ended(use.clock, use.number))
            husk__clock_release(use.clock);
        else
            block->uses[kept++] = use;
    }
    block->use_count = kept;
}

// Blocks that somebody has keep no queue whose commands have ended, either. Those that are being used now are left out.
void husk__pool_trim(husk__pool *pool, uint64_t keep_bytes)
{
    pthread_mutex_lock(&pool->lock);
    for (husk__block *block = pool->live; block; block = block->next) {
        if (pthread_mutex_trylock(&block->lock) != 0)
            continue;
        drop_ended_uses(block);
        pthread_mutex_unlock(&block->lock);
    }
    for (int time = 0; time < 2; ++time) // the first may have been a question that nobody had put before
        for (int class = 0; class < HUSK__SIZE_CLASSES; ++class)
            for (const husk__block *block = pool->free[class]; block; block = block->next)
                ask_for_end(block);
    drop_idle(pool, keep_bytes);
    pthread_mutex_unlock(&pool->lock);
}

static const husk__block *largest_free(const husk__pool *pool)
{
    int class = HUSK__SIZE_CLASSES - 1;
    while (class >= 0 && !pool->free[class])
        --class;
    return class >= 0 ? pool->free[class] : NULL;
}

// Free blocks go until the budget has room for so many bytes more. The driver has the memory of one that commands use
// until they have ended, whoever has released it, so they are waited for. False where what is live leaves no room.
static bool make_room(husk__pool *pool, uint64_t bytes)
{
    for (bool can_wait = true;;) {
        const uint64_t live = pool->stats.live_bytes, budget = pool->stats.budget_bytes;
        if (live > budget || bytes > budget - live)
            return false;
        const uint64_t room = budget - live - bytes;
        drop_idle(pool, room);
        if (pool->stats.cached_bytes > room && !can_wait)
            trim_locked(pool, room);
        if (pool->stats.cached_bytes <= room)
            return true;
        can_wait = wait_for_use(pool, largest_free(pool));
    }
}

// Where the driver is short, whatever the budget says: what is idle goes, else the largest once its command has ended.
// False where there is nothing left to return.
static bool give_back(husk__pool *pool)
{
    const uint64_t before = pool->stats.cached_bytes;
    drop_idle(pool, 0);
    if (pool->stats.cached_bytes < before)
        return true;
    const husk__block *largest = largest_free(pool);
    if (!largest)
        return false;
    if (wait_for_use(pool, largest))
        drop_idle(pool, 0);
    else
        trim_locked(pool, 0);
    return true;
}

bool husk__pool_gives_way(husk_context *context, cl_int code)
{
    if (code != CL_MEM_OBJECT_ALLOCATION_FAILURE)
        return false;
    pthread_mutex_lock(&context->pool.lock);
    const bool has_given = give_back(&context->pool);
    pthread_mutex_unlock(&context->pool.lock);
    return has_given;
}

static husk__block *create_block(husk__pool *pool, cl_mem mem, uint64_t bytes)
{
    husk__block *block = calloc(1, sizeof *block);
    if (!block)
        return NULL;
    atomic_init(&block->references, 1);
    pthread_mutex_init(&block->lock, NULL);
    block->uses = block->first_uses;
    block->use_capacity = HUSK__BLOCK_USES;
    block->serial = atomic_fetch_add(&pool->made, 1) + 1;
    block->mem = mem;
    block->root = mem;
    block->bytes = bytes;
    return block;
}

static void enlist(husk__pool *pool, husk__block *block)
{
    block->previous = NULL;
    block->next = pool->live;
    if (pool->live)
        pool->live->previous = block;
    pool->live = block;
}

static void strike(husk__pool *pool, husk__block *block)
{
    *(block->previous ? &block->previous->next : &pool->live) = block->next;
    if (block->next)
        block->next->previous = block->previous;
    block->next = block->previous = NULL;
}

// A reference to a live block, where it is not on its way out.
static bool refer(husk__block *block)
{
    int references = atomic_load(&block->references);
    while (references > 0 && !atomic_compare_exchange_weak(&block->references, &references, references + 1))
        continue;
    return references > 0;
}

// The live block of this memory with a reference to it: one that the pool does not know of would not keep it from
// handing the memory out again. NULL: it is not the pool's.
static husk__block *share(husk__pool *pool, cl_mem mem)
{
    pthread_mutex_lock(&pool->lock);
    husk__block *block = pool->live;
    while (block && block->mem != mem)
        block = block->next;
    if (block && !refer(block))
        block = NULL;
    pthread_mutex_unlock(&pool->lock);
    return block;
}

husk__block *husk__pool_share_guarded(husk__pool *pool, uint64_t serial)
{
    husk__block *latest;
    pthread_mutex_lock(&pool->lock);
    do {
        latest = NULL;
        for (husk__block *block = pool->live; block; block = block->next)
            if (block->band > 0 && block->serial < serial && (!latest || block->serial > latest->serial))
                latest = block;
        serial = latest ? latest->serial : serial;
    } while (latest && !refer(latest));
    pthread_mutex_unlock(&pool->lock);
    return latest;
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
    *block = share(&context->pool, parent ? parent : mem);
    *begin = *block ? offset : 0;
    if (*block)
        return HUSK_OK;
    *block = create_block(&context->pool, mem, bytes);
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

static void CL_CALLBACK end_memory(cl_mem mem, void *memory)
{
    (void)mem;
    free(memory);
}

// NULL also where the device is none that computes on host memory in place.
static cl_mem create_large(husk_context *context, uint64_t bytes)
{
    // A pool that keeps nothing is there for checkers, which see less around memory of ours.
    if (context->device->traits.device_class != HUSK_DEVICE_CPU || bytes < LEAST_LARGE ||
        context->pool.keep_bytes == 0)
        return NULL;
    void *memory = husk__large_memory(bytes);
    if (!memory)
        return NULL;
    cl_mem mem =
        clCreateBuffer(context->cl, CL_MEM_READ_WRITE | CL_MEM_USE_HOST_PTR, (size_t)bytes, memory, NULL);
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
    *block = mem ? create_block(&context->pool, mem, bytes) : NULL;
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
        if (!make_room(pool, bytes))
            return over_budget(pool, bytes, scope);
        code = allocate(context, bytes, block);
    } while (!*block && wants_memory(code) && give_back(pool));
    if (!*block)
        return no_block(context, code, scope);
    ++pool->stats.allocations;
    return HUSK_OK;
}

// A block of the class that is free now, or after a wait where the budget forbids another one, even in the place of
// those that are idle; NULL where a new one is to be made. Called with the lock held.
static husk__block *reuse(husk__pool *pool, int class, uint64_t bytes)
{
    husk__block *block = take_idle(pool, class);
    if (!block)
        block = ask_for_idle(pool, class);
    bool budget_is_short =
        pool->stats.live_bytes + pool->stats.cached_bytes + bytes > pool->stats.budget_bytes;
    if (!block && budget_is_short &&
        pool->stats.live_bytes + pool->stats.cached_bytes - idle_bytes(pool) + bytes > pool->stats.budget_bytes)
        block = wait_for_idle(pool, class);
    if (block) {
        forget_uses(block);
        block->next = NULL;
        atomic_store(&block->references, 1);
        pool->stats.cached_bytes -= block->bytes;
        ++pool->stats.reuses;
    }
    return block;
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
    destroy_block(block);
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
    enlist(pool, *block);
    pthread_mutex_unlock(&pool->lock);
    return HUSK_OK;
}

// No check sees it any more, so that it is told once.
static void release_guarded(husk_context *context, husk__block *block)
{
    pthread_mutex_lock(&context->pool.lock);
    strike(&context->pool, block);
    pthread_mutex_unlock(&context->pool.lock);
    husk__guards_end(context, block);
    destroy_guarded(&context->pool, block);
}

husk_status husk__pool_take(husk_context *context, uint64_t bytes, husk__block **block,
                            const husk__scope *scope)
{
    husk__pool *pool = &context->pool;
    uint64_t largest = context->device->traits.max_allocation;
    const uint64_t band = atomic_load(&context->guards.band);
    if (bytes > largest)
        return husk__fail(scope, HUSK_OUT_OF_MEMORY,
                          "%llu bytes are more than one buffer may have here: %llu",
                          (unsigned long long)bytes, (unsigned long long)largest);
    if (band > 0)
        return take_guarded(context, bytes, band, block, scope);
    uint64_t class_bytes;
    int class = size_class(bytes, &class_bytes);
    if (class_bytes > largest)
        class_bytes = largest; // the last class ends at what the device allows
    if (pool->keep_bytes == 0)
        class_bytes = bytes; // used once: it ends with the buffer, and checkers see what passes its end

    husk_error error; // the caller's is left as it was where the second try succeeds
    const husk__scope own = {scope->call, &error};
    pthread_mutex_lock(&pool->lock);
    husk_status status = HUSK_OK;
    *block = reuse(pool, class, class_bytes);
    if (!*block)
        status = grow(context, class_bytes, block, &own);
    if (status == HUSK_OUT_OF_MEMORY && bytes < class_bytes) // there may be room for what was asked for
        status = grow(context, bytes, block, &own);
    if (status == HUSK_OK) {
        enlist(pool, *block);
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
    const int class = size_class(block->bytes, &class_bytes);
    return block->bytes < class_bytes && block->bytes < context->device->traits.max_allocation ? class - 1 : class;
}

void husk__block_release(husk_context *context, husk__block *block)
{
    if (!block || atomic_fetch_sub(&block->references, 1) != 1)
        return;
    if (block->is_foreign) {
        destroy_block(block);
        return;
    }
    if (block->band > 0) {
        release_guarded(context, block);
        return;
    }
    husk__pool *pool = &context->pool;
    const int class = class_to_serve(context, block);
    pthread_mutex_lock(&pool->lock);
    strike(pool, block);
    pool->stats.live_bytes -= block->bytes;
    if (class < 0 || atomic_load(&block->maps) > 0) {
        pthread_mutex_unlock(&pool->lock);
        destroy_block(block);
        return;
    }
    pool->stats.cached_bytes += block->bytes;
    block->next = pool->free[class];
    pool->free[class] = block;
    trim_locked(pool, pool->keep_bytes);
    pthread_mutex_unlock(&pool->lock);
}

static bool grow_uses(husk__block *block)
{
    const size_t bytes = (size_t)block->use_capacity * sizeof *block->uses;
    husk__use *uses = malloc(2 * bytes);
    if (!uses)
        return false;
    memcpy(uses, block->uses, bytes);
    if (block->uses != block->first_uses)
        free(block->uses);
    block->uses = uses;
    block->use_capacity *= 2;
    return true;
}

// Where the list is full, ended uses make room; else it grows. Only where there is no memory for that a queue is
// waited for: it may have a kernel that never ends.
static husk__use *find_use(husk__block *block, husk__clock *clock)
{
    for (int i = 0; i < block->use_count; ++i)
        if (block->uses[i].clock == clock)
            return &block->uses[i];
    if (block->use_count == block->use_capacity)
        drop_ended_uses(block);
    if (block->use_count == block->use_capacity && !grow_uses(block)) {
        husk__use *last = &block->uses[--block->use_count];
        husk__clock_wait(last->clock);
        husk__clock_release(last->clock);
    }
    husk__clock_retain(clock);
    husk__use *use = &block->uses[block->use_count++];
    *use = (husk__use){.clock = clock};
    return use;
}

void husk__block_used(husk__block *block, husk__clock *clock, uint64_t number)
{
    pthread_mutex_lock(&block->lock);
    find_use(block, clock)->number = number;
    pthread_mutex_unlock(&block->lock);
}
