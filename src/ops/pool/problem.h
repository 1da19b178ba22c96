/* SPDX-License-Identifier: MIT */
/*
 * ops/pool/problem.h: pooling with every option resolved, between the calls, which make it, and the variants; and what
 * pooling and its gradient share.
 */
#ifndef HUSK_OPS_POOL_PROBLEM_H
#define HUSK_OPS_POOL_PROBLEM_H

#include <husk/ops/pool.h>

#include "select/plan.h"

/* Depth, height, width; 1-D and 2-D pooling have leading dimensions of one element. */
enum { POOL_D = 0, POOL_H = 1, POOL_W = 2 };

typedef struct husk__pool_problem {
    husk_pool_kind kind;
    husk_dtype dtype;
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

/* ---- what pooling and its gradient share: ops/pool/problem.c ---- */

/* Kernels count positions in int; four of these add up without overflow. */
enum { HUSK__POOL_LARGEST = (1 << 29) - 1 };

/* One space dimension with its options resolved. */
typedef struct husk__pool_dimension {
    int64_t in, out, window, stride, pad, pad_end, dilation;
} husk__pool_dimension;

/* The params, and the dtype and rank of x or of what has its shape, which is called `argument`. */
husk_status husk__pool_check_params(const husk_pool_params *given, husk_pool_params *params, const husk_tensor *x,
                                    const char *argument, const husk__scope *scope);
/* Every space dimension of x, and y's shape by them. */
husk_status husk__pool_resolve_dimensions(const husk_pool_params *params, const husk_tensor *x,
                                          husk__pool_dimension dimensions[3], const husk__scope *scope);
void husk__pool_write_shape(const husk_tensor *x, const husk__pool_dimension dimensions[3], int64_t *shape);
/* Indices' kind, dtype and shape, which is that of `other`. */
husk_status husk__pool_check_indices(const husk_pool_params *params, const husk_tensor *indices, int32_t rank,
                                     const int64_t *shape, const char *other, const husk__scope *scope);
husk__pool_problem husk__pool_resolve(const husk_pool_params *params, const husk_tensor *x, const husk_tensor *y,
                                      const husk_tensor *indices, const husk__pool_dimension dimensions[3]);
/* Elements of y. */
int64_t husk__pool_outputs(const husk__pool_problem *problem);
void husk__pool_describe(const void *problem, husk__key *key);
void husk__pool_classify(const void *problem, husk__text *text);
/* The case, up to its dir. x: a run's x, or what has its shape, or NULL. */
void husk__pool_begin_case(const husk__pool_problem *problem, const husk_tensor *x, bool has_indices, husk__case *c);

/* Write why not; false. */
bool husk__pool_refuse(char reason[HUSK__REASON_CAPACITY], const char *text);
/* supports() of variants on GPUs, for a menu of select/grid.h. */
bool husk__pool_supports_direct(const husk__candidate *candidate, char reason[HUSK__REASON_CAPACITY]);
/*
 * The arguments that kernels begin with, 2 + 25 + 10 of them (x and y, or dx and dy; `option` stands behind count_pad),
 * and the 7 of indices.
 */
husk__arg *husk__pool_write_geometry(const husk__pool_problem *own, const husk_tensor *x, const husk_tensor *y,
                                     int32_t option, husk__arg *end);
husk__arg *husk__pool_write_indices(const husk__pool_problem *own, const husk_tensor *indices, husk__arg *end);

extern const husk__variant husk__pool_planes, husk__pool_channels, husk__pool_window, husk__pool_direct;

/* Nanoseconds of a CPU variant of pooling or of its gradient, by what a unit's operations are counted to be. */
double husk__pool_time(const husk__candidate *candidate, int64_t units, double unit_operations);

#endif
