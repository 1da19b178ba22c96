/* SPDX-License-Identifier: MIT */
/*
 * ops/layout/pad_problem.h: a tensor x and a padded one y, or their gradients; what husk_pad and husk_pad_backward
 * share.
 */
#ifndef HUSK_OPS_LAYOUT_PAD_PROBLEM_H
#define HUSK_OPS_LAYOUT_PAD_PROBLEM_H

#include <husk/ops/pad.h>

#include "select/plan.h"

/* A dimension as cl/lib/pad.clh has it. */
typedef struct husk__pad_dimension {
    int64_t extent, before, total, x_stride, y_stride;
} husk__pad_dimension;

typedef struct husk__pad_problem {
    bool is_gradient, adds;
    husk_dtype dtype;
    husk_pad_mode mode;
    int64_t fill; /* the value's bits */
    int32_t rank; /* 1 at least; the last dimension is the row */
    husk__pad_dimension dimensions[HUSK_MAX_RANK];
} husk__pad_problem;

typedef struct husk__pad_arguments {
    const husk_tensor *x, *y; /* dx, dy */
} husk__pad_arguments;

extern const husk__variant *const husk__pad_variants[];

void husk__pad_describe(const void *problem, husk__key *key);
void husk__pad_classify(const void *problem, husk__text *text);
void husk__pad_write_case(const void *problem, const void *arguments, husk__case *c);

/* is_gradient: which of the two calls, whose arguments have other names and another order. */
husk_status husk__pad_validate(husk_queue *queue, const husk_pad_params *params, bool is_gradient,
                               const husk__pad_arguments *given, const husk__scope *scope);
/* x and y are valid; the one that is written is not empty. */
husk__pad_problem husk__pad_resolve(const husk_pad_params *params, bool is_gradient, const husk__pad_arguments *given);
husk_status husk__pad_enqueue(husk_queue *queue, const husk__op *op, const husk_pad_params *params, bool is_gradient,
                              const husk__pad_arguments *given, const husk__scope *scope);
/* The program that calls on this device usually take. */
husk_status husk__pad_prewarm(husk_queue *queue, const husk__op *op, bool is_gradient, const husk__scope *scope);

#endif
