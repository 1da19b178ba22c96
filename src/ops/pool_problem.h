/* SPDX-License-Identifier: MIT */
/*
 * ops/pool_problem.h: pooling with every option resolved, between ops/pool.c, which makes it, and the variants.
 */
#ifndef HUSK_OPS_POOL_PROBLEM_H
#define HUSK_OPS_POOL_PROBLEM_H

#include <husk/ops/pool.h>

#include "select/plan.h"

/* Depth, height, width; 1-D and 2-D pooling have leading dimensions of one element. */
enum { POOL_D = 0, POOL_H = 1, POOL_W = 2 };

typedef struct husk__pool_problem {
    husk_pool_kind kind;
    bool has_indices;
    bool indices_are_long;
    bool count_pad;
    int64_t batch, channels;
    int64_t in[3], out[3];
    int64_t window[3], stride[3], pad[3], dilation[3];
    int64_t limit[3]; /* in + pad_end */
    /* n, c, d, h, w, in elements. Those of dimensions of one element are 1 for c and w, else 0. */
    int64_t x_strides[5], y_strides[5], indices_strides[5];
} husk__pool_problem;

typedef struct husk__pool_arguments {
    const husk_tensor *x, *y, *indices; /* indices: NULL where the problem has none */
} husk__pool_arguments;

extern const husk__variant husk__pool_planes, husk__pool_channels, husk__pool_window, husk__pool_direct;

#endif
