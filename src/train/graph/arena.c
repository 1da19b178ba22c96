// SPDX-License-Identifier: MIT
#include "train/graph/arena.h"

#include <stdlib.h>
#include <string.h>

// ---- times ----

static void find_times(husk__schedule *schedule)
{
    for (int32_t c = 0; c < schedule->count; c++)
        for (int32_t s = 0; s < schedule->calls[c].slot_count; s++) {
            const husk__slot *slot = &schedule->calls[c].slots[s];
            if (slot->storage < 0)
                continue;
            husk__storage *storage = &schedule->storages[slot->storage];
            if (storage->first > c)
                storage->first = c;
            storage->last = c;
        }
    for (int32_t i = 0; i < schedule->storage_count; i++) {
        husk__storage *storage = &schedule->storages[i];
        if (storage->is_kept && storage->last >= 0)
            storage->last = schedule->count;
    }
}

// ---- in place ----

static bool is_shared_by(const husk__schedule *schedule, int32_t storage)
{
    return schedule->storages[storage].shares != storage;
}

static bool is_same_view(const husk_tensor *a, const husk_tensor *b)
{
    return a->dtype == b->dtype && a->offset == b->offset && husk__same_shape(a, b) &&
           memcmp(a->strides, b->strides, sizeof *a->strides * (size_t)a->rank) == 0;
}

// Whether slot `to` of the call may take over the memory of slot `from`.
static bool can_take(const husk__schedule *schedule, const husk__call *call, int32_t c, const husk__slot *to,
                     const husk__slot *from)
{
    if (to->storage < 0 || from->storage < 0 || to->storage == from->storage)
        return false;
    const husk__storage *new = &schedule->storages[to->storage], *old = &schedule->storages[from->storage];
    if (new->region != HUSK__REGION_ARENA || old->region != HUSK__REGION_ARENA || new->bytes != old->bytes ||
        new->first != c || old->last != c || is_shared_by(schedule, to->storage))
        return false;
    // The whole of both, in one layout.
    if (!is_same_view(&to->tensor, &from->tensor) ||
        (uint64_t)husk_tensor_count(&to->tensor) * husk_dtype_size(to->tensor.dtype) != new->bytes)
        return false;
    // Nor may the call write, or read in another way, what it overwrites.
    for (int32_t s = 0; s < call->slot_count; s++) {
        const husk__slot *other = &call->slots[s];
        if (other == from || other->storage != from->storage)
            continue;
        if (other->access != HUSK__READ || !is_same_view(&other->tensor, &from->tensor))
            return false;
    }
    return true;
}

static void take_over(husk__schedule *schedule)
{
    if (schedule->keep_values)
        return;
    for (int32_t c = 0; c < schedule->count; c++) {
        husk__call *call = &schedule->calls[c];
        uint32_t taken = 0;
        for (int32_t to = 0; to < call->slot_count; to++)
            for (int32_t from = 0; from < call->slot_count && from < 32; from++) {
                husk__slot *slot = &call->slots[to];
                if (slot->access != HUSK__WRITE || !((slot->in_place & ~taken) >> from & 1) ||
                    !can_take(schedule, call, c, slot, &call->slots[from]))
                    continue;
                taken |= 1u << from;
                schedule->storages[slot->storage].shares = schedule->storages[call->slots[from].storage].shares;
                call->is_idle = husk__call_is_copy(call);
                break;
            }
    }
}

// ---- offsets ----

// Storages that have memory of their own in the arena, with the times of those that share it.
typedef struct block {
    int32_t storage, first, last;
    uint64_t bytes, offset;
} block;

static int by_falling_size(const void *a, const void *b)
{
    const block *x = a, *y = b;
    if (x->bytes != y->bytes)
        return x->bytes < y->bytes ? 1 : -1;
    return x->storage < y->storage ? -1 : 1;
}

static int by_offset(const void *a, const void *b)
{
    const block *x = *(const block *const *)a, *y = *(const block *const *)b;
    if (x->offset != y->offset)
        return x->offset < y->offset ? -1 : 1;
    return x->storage < y->storage ? -1 : 1;
}

// placed: by offset, those that live at the same time. The smallest gap that fits, or the end.
static uint64_t best_fit(const block *const *placed, int32_t count, uint64_t bytes)
{
    uint64_t end = 0, best = 0, best_gap = UINT64_MAX;
    for (int32_t i = 0; i < count; i++) {
        if (placed[i]->offset > end) {
            uint64_t gap = placed[i]->offset - end;
            if (gap >= bytes && gap < best_gap) {
                best = end;
                best_gap = gap;
            }
        }
        uint64_t past = husk__sum(placed[i]->offset, placed[i]->bytes);
        if (past > end)
            end = past;
    }
    return best_gap == UINT64_MAX ? end : best;
}

static int32_t find_blocks(const husk__schedule *schedule, block *blocks)
{
    int32_t count = 0;
    for (int32_t i = 0; i < schedule->storage_count; i++) {
        const husk__storage *storage = &schedule->storages[i];
        if (storage->region == HUSK__REGION_ARENA && storage->last >= 0 && storage->shares == i)
            blocks[count++] = (block){i, storage->first, storage->last, husk__aligned(storage->bytes), 0};
    }
    for (int32_t i = 0; i < schedule->storage_count; i++) {
        const husk__storage *storage = &schedule->storages[i];
        if (storage->region != HUSK__REGION_ARENA || storage->last < 0 || storage->shares == i)
            continue;
        for (int32_t b = 0; b < count; b++)
            if (blocks[b].storage == storage->shares && blocks[b].last < storage->last)
                blocks[b].last = storage->last;
    }
    return count;
}

husk_status husk__arena_plan(husk__schedule *schedule)
{
    find_times(schedule);
    take_over(schedule);
    size_t capacity = (size_t)schedule->storage_count + 1;
    block *blocks = malloc(sizeof *blocks * capacity);
    const block **placed = malloc(sizeof *placed * capacity);
    if (!blocks || !placed) {
        free(blocks);
        free(placed);
        return husk__train_no_memory(&schedule->scope);
    }
    int32_t count = find_blocks(schedule, blocks);
    qsort(blocks, (size_t)count, sizeof *blocks, by_falling_size);
    for (int32_t i = 0; i < count; i++) {
        block *own = &blocks[i];
        int32_t meets = 0;
        for (int32_t j = 0; j < i; j++)
            if (schedule->keep_values || (blocks[j].first <= own->last && own->first <= blocks[j].last))
                placed[meets++] = &blocks[j];
        qsort(placed, (size_t)meets, sizeof *placed, by_offset);
        own->offset = best_fit(placed, meets, own->bytes);
        schedule->storages[own->storage].offset = own->offset;
        schedule->unshared = husk__sum(schedule->unshared, own->bytes);
        if (husk__sum(own->offset, own->bytes) > schedule->arena)
            schedule->arena = husk__sum(own->offset, own->bytes);
    }
    for (int32_t i = 0; i < schedule->storage_count; i++) {
        husk__storage *storage = &schedule->storages[i];
        if (storage->region == HUSK__REGION_ARENA && storage->shares != i)
            storage->offset = schedule->storages[storage->shares].offset;
    }
    free(blocks);
    free(placed);
    return HUSK_OK;
}
