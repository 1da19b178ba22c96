/* SPDX-License-Identifier: MIT */
/*
 * ops/reduce/problem.h: a reduction with every option resolved, between ops/reduce/reduce.c, which makes it, the
 * variants, and ops/reduce/backward.c, which needs reductions of its own.
 */
#ifndef HUSK_OPS_REDUCE_PROBLEM_H
#define HUSK_OPS_REDUCE_PROBLEM_H

#include <husk/ops/reduce.h>

#include "runtime/walk.h"
#include "select/plan.h"

/* Kinds beyond husk_reduce_kind, for gradients: y gets pairs. The numbers are those of cl/lib/reduction.clh. */
enum {
    HUSK__REDUCE_MAX_COUNT = 10, /* the largest, and how many elements are equal to it */
    HUSK__REDUCE_MIN_COUNT = 11,
    HUSK__REDUCE_PRODUCT_ZEROS = 12 /* the product of what is not zero, and the number of zeros */
};

/* What y's elements are: RESULT_ of cl/lib/reduction.clh. */
typedef enum husk__reduce_result {
    HUSK__REDUCE_DATA = 0,
    HUSK__REDUCE_I32 = 1,
    HUSK__REDUCE_I64 = 2,
    HUSK__REDUCE_PAIR = 3
} husk__reduce_result;

typedef struct husk__reduce_problem {
    int32_t kind; /* a husk_reduce_kind, or one of the above */
    husk__reduce_result result;
    uint32_t reduced; /* bit d: dimension d is */
    husk_tensor x;
    husk_tensor y; /* of x's rank, with extent 1 and stride 0 where x is reduced */
} husk__reduce_problem;

typedef struct husk__reduce_arguments {
    const husk_tensor *x, *y; /* y: its buffer and offset count */
} husk__reduce_arguments;

/* The problem as kernels see it. Tensor 0 of the walks is x; 1 is y in kept, the position in reduced. */
typedef struct husk__reduce_geometry {
    husk__walk kept;
    husk__walk reduced;
    int64_t rows;  /* results */
    int64_t count; /* elements of each */
} husk__reduce_geometry;

husk__reduce_geometry husk__reduce_geometry_of(const husk__reduce_problem *problem);
/* The case, up to its dir, of x, or what has its shape. */
void husk__reduce_begin_case(husk_reduce_kind kind, const husk_tensor *x, uint32_t reduced, husk__case *c);

/* y as a problem has it: of x's rank, strides resolved. y may have dropped the reduced dimensions. */
husk_tensor husk__reduce_align(const husk_tensor *y, const husk_tensor *x, uint32_t reduced);
/* params' axes as bits of x's dimensions, from the first. argument: x's name. */
husk_status husk__reduce_axes(const husk_reduce_params *params, const husk_tensor *x, const char *argument,
                              uint32_t *reduced, const husk__scope *scope);
/* y's shape is x's without the reduced dimensions, or with 1 in their place. */
husk_status husk__reduce_check_shape(const husk_tensor *y, const char *argument, const husk_tensor *x, uint32_t reduced,
                                     const husk__scope *scope);

extern const husk__variant husk__reduce_rows, husk__reduce_columns, husk__reduce_workgroup;

#endif
