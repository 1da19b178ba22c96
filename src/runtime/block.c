// SPDX-License-Identifier: MIT
#include "runtime/block.h"

#include <stdlib.h>
#include <string.h>

husk__block *husk__block_create(uint64_t serial, cl_mem mem, uint64_t bytes)
{
    husk__block *block = calloc(1, sizeof *block);
    if (!block)
        return NULL;
    atomic_init(&block->references, 1);
    pthread_mutex_init(&block->lock, NULL);
    block->uses = block->first_uses;
    block->use_capacity = HUSK__BLOCK_USES;
    block->serial = serial;
    block->mem = mem;
    block->root = mem;
    block->bytes = bytes;
    return block;
}

void husk__block_forget_uses(husk__block *block)
{
    for (int i = 0; i < block->use_count; ++i)
        husk__clock_release(block->uses[i].clock);
    if (block->uses != block->first_uses)
        free(block->uses);
    block->uses = block->first_uses;
    block->use_capacity = HUSK__BLOCK_USES;
    block->use_count = 0;
}

void husk__block_destroy(husk__block *block)
{
    husk__block_forget_uses(block);
    if (block->mem)
        clReleaseMemObject(block->mem);
    pthread_mutex_destroy(&block->lock);
    free(block);
}

bool husk__block_refer(husk__block *block)
{
    int references = atomic_load(&block->references);
    while (references > 0 && !atomic_compare_exchange_weak(&block->references, &references, references + 1))
        continue;
    return references > 0;
}

const husk__use *husk__block_first_unended(const husk__block *block)
{
    for (int i = 0; i < block->use_count; ++i)
        if (atomic_load(&block->uses[i].clock->completed) < block->uses[i].number)
            return &block->uses[i];
    return NULL;
}

void husk__block_ask(const husk__block *block)
{
    for (int i = 0; i < block->use_count; ++i)
        husk__clock_has_ended(block->uses[i].clock, block->uses[i].number);
}

void husk__block_drop_ended_uses(husk__block *block)
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
        husk__block_drop_ended_uses(block);
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
