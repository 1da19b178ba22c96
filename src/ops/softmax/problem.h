/* SPDX-License-Identifier: MIT */
/*
 * ops/softmax/problem.h: softmax and its gradient go through rows in the same ways; what the two operators and their
 * variants share.
 */
#ifndef HUSK_OPS_SOFTMAX_PROBLEM_H
#define HUSK_OPS_SOFTMAX_PROBLEM_H

#include <husk/ops/softmax.h>

#include "runtime/strided.h"
#include "select/plan.h"

/* Every option resolved, every shape and stride, no buffer. For the gradient x is forward's y, y is dx and z is dy. */
typedef struct husk__softmax_problem {
    int32_t axis;
    bool is_log;
    bool is_gradient, accumulates;
    husk_tensor x, y, z; /* z: the gradient alone */
} husk__softmax_problem;

/* What a run is given beside the plan. */
typedef struct husk__softmax_arguments {
    const husk_tensor *x, *y, *z;
} husk__softmax_arguments;

/*
 * The problem as kernels see it: rows along the axis, numbered over the inner dimension (the one with the
 * smallest strides beside the axis) and the outer ones. Making it is cheap.
 */
typedef struct husk__softmax_geometry {
    husk__strided_dimension axis;
    husk__strided_dimension inner;
    husk__strided outer; /* without axis and inner */
    husk__strided rows;  /* without axis alone */
    int64_t row_count;
    husk_dtype dtype;
    bool is_gradient;
} husk__softmax_geometry;

/* A variant's state: everything a launch needs but the buffers. */
typedef struct husk__softmax_launch {
    const husk__kernel *kernels[2]; /* one stage, or partial and apply */
    husk__softmax_geometry shape;
    husk__range range;
    int64_t units;      /* rows, strips or blocks in all */
    int64_t share;      /* ... that a work-group takes */
    int32_t width;      /* columns: of a strip */
    int32_t block;      /* elements of a row's block; 0: rows are whole */
    int32_t row_blocks; /* blocks of a row */
} husk__softmax_launch;

husk__softmax_geometry husk__softmax_geometry_of(const husk__softmax_problem *problem);
/* Whether every tensor has what follows in this dimension next to it in memory. */
bool husk__softmax_is_packed(const husk__softmax_geometry *shape, const husk__strided_dimension *dimension);

/* The plan's state with its shape; NULL without memory. It is freed with the plan. */
husk__softmax_launch *husk__softmax_make_launch(husk_plan *plan);

/* Whether the device has something to do for all its units with so many independent pieces. */
bool husk__softmax_fills(const husk_device_traits *traits, int64_t pieces);

/* Bytes that the first of two stages leaves of a block: forward a maximum and a sum, the gradient a sum. */
uint64_t husk__softmax_partial_size(const husk__softmax_geometry *shape);

/*
 * The kernels of cl/softmax/VARIANT.cl, or of backward_VARIANT.cl, into the plan's state: one, or two where rows are
 * cut into blocks.
 */
husk_status husk__softmax_get_kernels(husk_plan *plan, const char *options, const husk__scope *scope);

/*
 * Parts of kernels' argument lists, which return their end. What is read stands before what is written; is_partial: of
 * a first stage, which writes no y.
 */
enum { HUSK__SOFTMAX_ARGS = 4 + HUSK__STRIDED_ARGS + HUSK__STRIDED_OUTER + 14 }; /* of any kernel, at most */
husk__arg *husk__softmax_write_tensors(const husk_plan *plan, const husk__softmax_arguments *given,
                                       const husk__scratch *scratch, bool is_partial, husk__arg *end);
/* STRIDED_PARAMS, STRIDED_Z_PARAMS of the gradient, and the axis' extent. */
husk__arg *husk__softmax_write_rows(const husk__softmax_geometry *shape, const husk__strided *rows, husk__arg *end);
husk__arg *husk__softmax_write_strides(const husk__softmax_geometry *shape, const husk__strided_dimension *dimension,
                                       bool is_partial, husk__arg *end);
husk__arg *husk__softmax_write_options(const husk_plan *plan, bool is_partial, husk__arg *end);

/* Kernels count along the axis in int. */
bool husk__softmax_supports(const husk__candidate *candidate, char reason[HUSK__REASON_CAPACITY]);

void husk__softmax_describe(const void *problem, husk__key *key);
void husk__softmax_classify(const void *problem, husk__text *text);
void husk__softmax_write_case(const void *problem, const void *arguments, husk__case *c);

/* params and tensors are valid. */
husk_status husk__softmax_enqueue(husk_queue *queue, const husk__op *op, bool is_gradient,
                                  const husk_softmax_params *params, const husk__softmax_arguments *given,
                                  const husk__scope *scope);
/* The last axis and the one before it, on a few numbers. */
husk_status husk__softmax_prewarm(husk_queue *queue, const husk__op *op, bool is_gradient, const husk__scope *scope);

/* The variants of both operators. */
extern const husk__variant husk__softmax_rows, husk__softmax_columns, husk__softmax_workgroup, husk__softmax_registers;

#endif
