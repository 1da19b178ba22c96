/* SPDX-License-Identifier: MIT */
/*
 * dist/replica.h: the same graph in every rank, as this rank has it.
 */
#ifndef HUSK_DIST_REPLICA_H
#define HUSK_DIST_REPLICA_H

#include "dist/rank.h"

/*
 * Host memory that the driver has pinned, where that matters: a buffer that stays mapped. (The gradients themselves
 * must not be mapped while kernels write to other parts of them.)
 */
typedef struct husk__pinned {
    husk_buffer *buffer;
    void *host;
} husk__pinned;

struct husk_parallel {
    husk_dist *dist;
    husk_graph *graph;
    husk_parallel_params params;
    husk_dtype dtype;
    husk_queue *queue; /* the library's thread's */
    husk__pinned staging[HUSK__WINDOW]; /* in turn */
    struct husk__part *parts; /* dist/exchange.c */
    size_t part_count;
    size_t posted; /* parts of this step */
    bool is_due;   /* the last of `accumulate` batches */
    bool listens;  /* to the graph's buckets */
};

/* The graph's failure, as that of the run. */
husk_status husk__replica_failed(const husk_parallel *own, husk_status status, const husk__dist_scope *scope);

#endif
