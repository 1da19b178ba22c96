/* SPDX-License-Identifier: MIT */
/*
 * runtime/memory.h: a context's memory: blocks of its pool, new ones, and an application's own.
 */
#ifndef HUSK_RUNTIME_MEMORY_H
#define HUSK_RUNTIME_MEMORY_H

#include "base/error.h"
#include "runtime/block.h"

/* The memory begins behind the block's guard band, if it has one. */
husk_status husk__block_take(husk_context *context, uint64_t bytes, husk__block **block, const husk__scope *scope);
/* A block around a cl_mem, or the pool's own one that has its memory, which begins at *offset of that. */
husk_status husk__block_wrap(husk_context *context, cl_mem mem, uint64_t bytes, husk__block **block, uint64_t *offset,
                             const husk__scope *scope);
/* At the last release it returns to the pool with its uses. NULL is legal. */
void husk__block_release(husk_context *context, husk__block *block);

#endif
