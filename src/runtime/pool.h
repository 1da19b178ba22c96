/* SPDX-License-Identifier: MIT */
/*
 * runtime/pool.h: size-classed memory that is used again. The lock is the caller's where a comment says so.
 */
#ifndef HUSK_RUNTIME_POOL_H
#define HUSK_RUNTIME_POOL_H

#include <husk/buffer.h>
#include <husk/context.h>

#include "runtime/block.h"

enum { HUSK__SIZE_CLASSES = 256 };

typedef struct husk__pool {
    pthread_mutex_t lock;
    husk__block *free[HUSK__SIZE_CLASSES];
    husk__block *live; /* those that somebody has, but for foreign ones */
    uint64_t keep_bytes;   /* at most that much is kept for use again */
    _Atomic uint64_t made; /* blocks, foreign memory among them */
    husk_memory_stats stats;
    uint64_t guarded_bytes; /* of the live ones, in blocks with guard bands */
} husk__pool;

void husk__pool_init(husk__pool *pool, uint64_t budget, uint64_t keep_bytes);
/* Blocks that nobody has go, and live ones keep no queue whose commands have ended. */
void husk__pool_trim(husk__pool *pool, uint64_t keep_bytes);
void husk__pool_destroy(husk__pool *pool);

/* The number of the class that serves so many bytes, and what its blocks have. */
int husk__pool_class(uint64_t bytes, uint64_t *class_bytes);
/* A record of memory that was made for this pool; NULL without host memory. */
husk__block *husk__pool_record(husk__pool *pool, cl_mem mem, uint64_t bytes);
/*
 * A block of the class that is free now, or after a wait where the budget forbids another one, even in the place of
 * those that are idle; NULL where a new one is to be made. Called with the lock held.
 */
husk__block *husk__pool_reuse(husk__pool *pool, int class, uint64_t bytes);
/*
 * Free blocks go until the budget has room for so many bytes more. The driver has the memory of one that commands use
 * until they have ended, whoever has released it, so they are waited for. False where what is live leaves no room.
 * Called with the lock held, which is let go meanwhile.
 */
bool husk__pool_make_room(husk__pool *pool, uint64_t bytes);
/*
 * Where the driver is short, whatever the budget says: what is idle goes, else the largest once its command has ended.
 * False where there is nothing left to return. As above.
 */
bool husk__pool_give_back(husk__pool *pool);
/*
 * Most drivers of GPUs have memory for a buffer made when a command first uses it, and refuse that command where there
 * is none. Whether one that was answered so is to be enqueued again, as free blocks have been returned to the driver.
 */
bool husk__pool_gives_way(husk__pool *pool, cl_int code);

/* Into the list of live blocks, and out of it, with the lock held. */
void husk__pool_enlist(husk__pool *pool, husk__block *block);
void husk__pool_strike(husk__pool *pool, husk__block *block);
/* Nobody has the block any more: it is kept for the class, or returned to the driver, as it is of class -1. */
void husk__pool_put(husk__pool *pool, husk__block *block, int class);
/*
 * The live block of this memory with a reference to it: one that the pool does not know of would not keep it from
 * handing the memory out again. NULL: it is not the pool's.
 */
husk__block *husk__pool_share(husk__pool *pool, cl_mem mem);
/* The latest live block with guard bands that was made before the block of this number, with a reference; or NULL. */
husk__block *husk__pool_share_guarded(husk__pool *pool, uint64_t serial);

#endif
