/* SPDX-License-Identifier: MIT */
/*
 * ops/softmax/backward_problem.h: softmax's gradient with every option resolved, between ops/softmax/backward.c, which
 * makes it, and the variants; and what they share.
 */
#ifndef HUSK_OPS_SOFTMAX_BACKWARD_PROBLEM_H
#define HUSK_OPS_SOFTMAX_BACKWARD_PROBLEM_H

#include <husk/ops/softmax.h>

#include "runtime/strided.h"
#include "select/plan.h"

typedef struct husk__softmax_backward_problem {
    int32_t axis;
    bool is_log;
    bool accumulates;
    husk_tensor y, dy, dx; /* no buffers */
} husk__softmax_backward_problem;

typedef struct husk__softmax_backward_arguments {
    const husk_tensor *y, *dy, *dx;
} husk__softmax_backward_arguments;

/* Rows along the axis. Of every dimension x_stride is y's, y_stride dx's, z_stride dy's: dx decides their order. */
typedef struct husk__softmax_backward_geometry {
    husk__strided_dimension axis;
    husk__strided_dimension inner; /* the one with the smallest strides beside the axis */
    husk__strided outer;           /* without axis and inner */
    husk__strided rows;            /* without axis alone */
    int64_t row_count;
    husk_dtype dtype;
} husk__softmax_backward_geometry;

/* A variant's state: everything a launch needs but the buffers. */
typedef struct husk__softmax_backward_launch {
    const husk__kernel *kernels[2]; /* one stage, or partial and apply */
    husk__softmax_backward_geometry shape;
    husk__range range;
    int64_t units;      /* rows, strips or blocks in all */
    int64_t share;      /* ... that a work-group takes */
    int32_t width;      /* columns: of a strip */
    int32_t block;      /* elements of a row's block; 0: rows are whole */
    int32_t row_blocks; /* blocks of a row */
} husk__softmax_backward_launch;

husk__softmax_backward_geometry husk__softmax_backward_geometry_of(const husk__softmax_backward_problem *problem);

/* The plan's state with its shape; NULL without memory. It is freed with the plan. */
husk__softmax_backward_launch *husk__softmax_backward_make_launch(husk_plan *plan);

extern const husk__variant husk__softmax_backward_rows, husk__softmax_backward_columns,
    husk__softmax_backward_registers, husk__softmax_backward_workgroup;

#endif
