// SPDX-License-Identifier: MIT
// A free block remembers which commands used it last and is handed out again only when they have ended.
#include "runtime/pool.h"

#include <stdlib.h>

enum { SMALLEST_BLOCK = 4096 };

// Classes are quarters of powers of two from 4 KiB on: at most a quarter of a block is wasted.
int husk__pool_class(uint64_t bytes, uint64_t *class_bytes)
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

// Called with the pool's lock held.
static void trim_locked(husk__pool *pool, uint64_t keep_bytes)
{
    for (int class = HUSK__SIZE_CLASSES - 1; class >= 0 && pool->stats.cached_bytes > keep_bytes; --class) {
        while (pool->free[class] && pool->stats.cached_bytes > keep_bytes) {
            husk__block *block = pool->free[class];
            pool->free[class] = block->next;
            pool->stats.cached_bytes -= block->bytes;
            husk__block_destroy(block);
        }
    }
}

void husk__pool_destroy(husk__pool *pool)
{
    trim_locked(pool, 0);
    pthread_mutex_destroy(&pool->lock);
}

// A free block of the class whose last commands have ended; called with the lock held.
static husk__block *take_idle(husk__pool *pool, int class)
{
    for (husk__block **at = &pool->free[class]; *at; at = &(*at)->next) {
        if (husk__block_first_unended(*at))
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

// The same for the block that has been free the longest.
static husk__block *ask_for_idle(husk__pool *pool, int class)
{
    const husk__block *oldest = oldest_free(pool, class);
    if (oldest)
        husk__block_ask(oldest);
    return oldest ? take_idle(pool, class) : NULL;
}

// Wait for a command that holds a free block back. The lock is let go meanwhile: others may take and give back what has
// nothing to do with it. False where its queue cannot be waited for.
static bool wait_for_use(husk__pool *pool, const husk__block *block)
{
    const husk__use *use = husk__block_first_unended(block);
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
            bytes += husk__block_first_unended(block) ? 0 : block->bytes;
    return bytes;
}

// Return such blocks to the driver, the largest first, until no more than keep_bytes are free.
static void drop_idle(husk__pool *pool, uint64_t keep_bytes)
{
    for (int class = HUSK__SIZE_CLASSES - 1; class >= 0; --class) {
        for (husk__block **at = &pool->free[class]; *at && pool->stats.cached_bytes > keep_bytes;) {
            husk__block *block = *at;
            if (husk__block_first_unended(block)) {
                at = &block->next;
                continue;
            }
            *at = block->next;
            pool->stats.cached_bytes -= block->bytes;
            husk__block_destroy(block);
        }
    }
}

// Blocks that somebody has keep no queue whose commands have ended, either. Those that are being used now are left out.
void husk__pool_trim(husk__pool *pool, uint64_t keep_bytes)
{
    pthread_mutex_lock(&pool->lock);
    for (husk__block *block = pool->live; block; block = block->next) {
        if (pthread_mutex_trylock(&block->lock) != 0)
            continue;
        husk__block_drop_ended_uses(block);
        pthread_mutex_unlock(&block->lock);
    }
    for (int time = 0; time < 2; ++time) // the first may have been a question that nobody had put before
        for (int class = 0; class < HUSK__SIZE_CLASSES; ++class)
            for (const husk__block *block = pool->free[class]; block; block = block->next)
                husk__block_ask(block);
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

bool husk__pool_make_room(husk__pool *pool, uint64_t bytes)
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

bool husk__pool_give_back(husk__pool *pool)
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

bool husk__pool_gives_way(husk__pool *pool, cl_int code)
{
    if (code != CL_MEM_OBJECT_ALLOCATION_FAILURE)
        return false;
    pthread_mutex_lock(&pool->lock);
    const bool has_given = husk__pool_give_back(pool);
    pthread_mutex_unlock(&pool->lock);
    return has_given;
}

husk__block *husk__pool_record(husk__pool *pool, cl_mem mem, uint64_t bytes)
{
    return husk__block_create(atomic_fetch_add(&pool->made, 1) + 1, mem, bytes);
}

husk__block *husk__pool_reuse(husk__pool *pool, int class, uint64_t bytes)
{
    husk__block *block = take_idle(pool, class);
    if (!block)
        block = ask_for_idle(pool, class);
    bool budget_is_short = pool->stats.live_bytes + pool->stats.cached_bytes + bytes > pool->stats.budget_bytes;
    if (!block && budget_is_short &&
        pool->stats.live_bytes + pool->stats.cached_bytes - idle_bytes(pool) + bytes > pool->stats.budget_bytes)
        block = wait_for_idle(pool, class);
    if (block) {
        husk__block_forget_uses(block);
        block->next = NULL;
        atomic_store(&block->references, 1);
        pool->stats.cached_bytes -= block->bytes;
        ++pool->stats.reuses;
    }
    return block;
}

void husk__pool_enlist(husk__pool *pool, husk__block *block)
{
    block->previous = NULL;
    block->next = pool->live;
    if (pool->live)
        pool->live->previous = block;
    pool->live = block;
}

void husk__pool_strike(husk__pool *pool, husk__block *block)
{
    *(block->previous ? &block->previous->next : &pool->live) = block->next;
    if (block->next)
        block->next->previous = block->previous;
    block->next = block->previous = NULL;
}

void husk__pool_put(husk__pool *pool, husk__block *block, int class)
{
    pthread_mutex_lock(&pool->lock);
    husk__pool_strike(pool, block);
    pool->stats.live_bytes -= block->bytes;
    if (class < 0 || atomic_load(&block->maps) > 0) {
        pthread_mutex_unlock(&pool->lock);
        husk__block_destroy(block);
        return;
    }
    pool->stats.cached_bytes += block->bytes;
    block->next = pool->free[class];
    pool->free[class] = block;
    trim_locked(pool, pool->keep_bytes);
    pthread_mutex_unlock(&pool->lock);
}

husk__block *husk__pool_share(husk__pool *pool, cl_mem mem)
{
    pthread_mutex_lock(&pool->lock);
    husk__block *block = pool->live;
    while (block && block->mem != mem)
        block = block->next;
    if (block && !husk__block_refer(block))
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
    } while (latest && !husk__block_refer(latest));
    pthread_mutex_unlock(&pool->lock);
    return latest;
}
