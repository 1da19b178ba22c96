/* SPDX-License-Identifier: MIT */
/*
 * ops/softmax/problem.h: softmax with every option resolved, between ops/softmax/softmax.c, which makes it, and the
 * variants; and what they share.
 */
#ifndef HUSK_OPS_SOFTMAX_PROBLEM_H
#define HUSK_OPS_SOFTMAX_PROBLEM_H

#include <husk/ops/softmax.h>

#include "runtime/strided.h"
#include "select/plan.h"

/* Every option resolved, every shape and stride, no buffer. */
typedef struct husk__softmax_problem {
    int32_t axis;
    bool is_log;
    husk_tensor x, y;
} husk__softmax_problem;

/* What a run is given beside the plan. */
typedef struct husk__softmax_arguments {
    const husk_tensor *x, *y;
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

/* The plan's state with its shape; NULL without memory. It is freed with the plan. */
husk__softmax_launch *husk__softmax_make_launch(husk_plan *plan);

/* Whether the device has something to do for all its units with so many independent pieces. */
bool husk__softmax_fills(const husk_device_traits *traits, int64_t pieces);

/* Kernels count along the axis in int. */
bool husk__softmax_supports(const husk__candidate *candidate, char reason[HUSK__REASON_CAPACITY]);

extern const husk__variant husk__softmax_rows, husk__softmax_columns, husk__softmax_registers;
extern const husk__variant husk__softmax_workgroup;

#endif
