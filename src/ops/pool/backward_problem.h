/* SPDX-License-Identifier: MIT */
/*
 * ops/pool/backward_problem.h: pooling's gradient with every option resolved, between ops/pool/backward.c, which
 * makes it, and the variants.
 */
#ifndef HUSK_OPS_POOL_BACKWARD_PROBLEM_H
#define HUSK_OPS_POOL_BACKWARD_PROBLEM_H

#include "ops/pool/problem.h"

typedef struct husk__pool_backward_problem {
    husk__pool_problem pool; /* x is dx, y is dy; MAX has indices always */
    bool accumulates;
    bool recomputes; /* MAX: forward finds the indices anew, into scratch memory, where pool.indices_strides are */
    int64_t source_strides[5]; /* x's where it recomputes, and no dimensions were merged otherwise than dx's; else 0 */
} husk__pool_backward_problem;

typedef struct husk__pool_backward_arguments {
    const husk_pool_params *params;
    const husk_tensor *x, *indices; /* NULL where the problem has none */
    const husk_tensor *dy, *dx;
} husk__pool_backward_arguments;

/* ---- maxima found anew: ops/pool/backward_indices.c ---- */

/* Indices of dy's shape in scratch memory, in the memory order of dx where channels are last there. */
husk_tensor husk__pool_backward_saved(const husk_tensor *dy, bool is_channels_last, bool is_long);
/* What a run of every variant begins with: the indices, which are given or found anew. Untouched for AVG. */
uint64_t husk__pool_backward_workspace(const husk__candidate *candidate);
husk_status husk__pool_backward_indices(const husk_plan *plan, husk_queue *queue,
                                        const husk__pool_backward_arguments *given, const husk__scratch *scratch,
                                        husk_tensor *indices);

extern const husk__variant husk__pool_backward_planes, husk__pool_backward_channels, husk__pool_backward_direct;

#endif
