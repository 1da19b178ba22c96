/* SPDX-License-Identifier: MIT */
/*
 * ops/elementwise/dropout_problem.h: dropout and its gradient are one computation; what the two operators share.
 */
#ifndef HUSK_OPS_ELEMENTWISE_DROPOUT_PROBLEM_H
#define HUSK_OPS_ELEMENTWISE_DROPOUT_PROBLEM_H

#include <husk/ops/dropout.h>

#include "select/plan.h"

/* y = m x, or y += m x; for the gradient x is dy and y dx. The seed belongs to a run. */
typedef struct husk__dropout_problem {
    bool is_gradient, adds;
    husk_tensor x, y;
} husk__dropout_problem;

typedef struct husk__dropout_arguments {
    const husk_tensor *x, *y;
    uint64_t seed, offset;
    float p;
} husk__dropout_arguments;

extern const husk__variant *const husk__dropout_variants[];

void husk__dropout_describe(const void *problem, husk__key *key);
void husk__dropout_classify(const void *problem, husk__text *text);
void husk__dropout_write_case(const void *problem, const void *arguments, husk__case *c);

/* The names of x and y are those of the call's arguments. */
husk_status husk__dropout_validate(husk_queue *queue, const husk_dropout_params *params, const husk_tensor *x,
                                   const char *x_name, const husk_tensor *y, const char *y_name,
                                   const husk__scope *scope);
husk_status husk__dropout_enqueue(husk_queue *queue, const husk__op *op, bool is_gradient,
                                  const husk_dropout_params *params, const husk_tensor *x, const husk_tensor *y,
                                  const husk__scope *scope);
/* The operator's program, on one vector of numbers. */
husk_status husk__dropout_prewarm(husk_queue *queue, const husk__op *op, bool is_gradient, const husk__scope *scope);

#endif
