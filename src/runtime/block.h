/* SPDX-License-Identifier: MIT */
/*
 * runtime/block.h: blocks of device memory, and which commands use them.
 */
#ifndef HUSK_RUNTIME_BLOCK_H
#define HUSK_RUNTIME_BLOCK_H

#include "runtime/clock.h"

typedef struct husk__use {
    husk__clock *clock;
    uint64_t number;
} husk__use;

enum { HUSK__BLOCK_USES = 8 }; /* that a block has room for by itself */

/* One cl_mem. Buffers and views hold it; at the last release it returns to the pool with its uses. */
typedef struct husk__block {
    atomic_int references;
    struct husk__block *next; /* in the pool's list of free blocks, or of live ones */
    struct husk__block *previous; /* of live ones */
    uint64_t serial;          /* among its context's, from 1: a cl_mem may have the address of one that is gone */
    cl_mem mem;
    cl_mem root;          /* whose memory it is: mem's own, or that of the buffer which mem is a part of */
    uint64_t root_offset; /* bytes into it */
    uint64_t bytes;
    uint64_t band;   /* of them, the guard band at either end: guard_bands.c; 0: none */
    _Atomic(const char *) last_kernel; /* that used a block with bands; NULL: none has */
    bool is_foreign; /* an application's cl_mem: not pooled */
    atomic_int maps; /* not unmapped yet; a block that is released mapped is not pooled either */
    pthread_mutex_t lock;
    int use_count, use_capacity;
    husk__use *uses; /* first_uses, or more */
    husk__use first_uses[HUSK__BLOCK_USES];
} husk__block;

/* Of one reference; NULL without memory. */
husk__block *husk__block_create(uint64_t serial, cl_mem mem, uint64_t bytes);
void husk__block_destroy(husk__block *block);
/* One reference more, where it is not on its way out. */
bool husk__block_refer(husk__block *block);

/* The queue's next command touches the block. */
void husk__block_used(husk__block *block, husk__clock *clock, uint64_t number);
/* NULL: all have ended. */
const husk__use *husk__block_first_unended(const husk__block *block);
/* Where nobody has waited for the queues, they are asked. */
void husk__block_ask(const husk__block *block);
void husk__block_drop_ended_uses(husk__block *block);
void husk__block_forget_uses(husk__block *block);

/* Whether two blocks, which may be NULL, are the same memory: an application may wrap it twice, and parts of it. */
static inline bool husk__blocks_meet(const husk__block *a, const husk__block *b)
{
    return a && b && a->root == b->root;
}

#endif
