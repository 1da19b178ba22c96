/* SPDX-License-Identifier: MIT */
/*
 * train/graph/arena.h: where the tensors of a schedule lie.
 */
#ifndef HUSK_TRAIN_GRAPH_ARENA_H
#define HUSK_TRAIN_GRAPH_ARENA_H

#include "train/graph/schedule.h"

#define HUSK__ALIGNMENT 64

/* What does not fit 64 bits is more than any device has: such a sum stays the largest number, and is refused later. */
static inline uint64_t husk__sum(uint64_t a, uint64_t b)
{
    return a > UINT64_MAX - b ? UINT64_MAX : a + b;
}

static inline uint64_t husk__aligned(uint64_t bytes)
{
    return (bytes + HUSK__ALIGNMENT - 1) / HUSK__ALIGNMENT * HUSK__ALIGNMENT;
}

/*
 * When each storage is needed, which ones are made in place of others, and an offset for each in the arena. Sets first,
 * last, shares and offset of storages, is_idle of calls, and the schedule's sizes.
 *
 * In place: a call's output takes the memory of an input that it may overwrite (slot.in_place), that nobody needs later
 * and that has the same layout.
 * Offsets: storages in the order of falling size, each in the smallest gap that fits among those placed already whose
 * times overlap its own (best fit; Pisarchyk, Lee: Efficient Memory Management for Deep Neural Net Inference, 2020).
 */
husk_status husk__arena_plan(husk__schedule *schedule);

#endif
