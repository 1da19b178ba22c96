/* SPDX-License-Identifier: MIT */
/*
 * ops/attention/rotary_problem.h: rotary position embedding and its gradient are one computation; what the two
 * operators share.
 */
#ifndef HUSK_OPS_ATTENTION_ROTARY_PROBLEM_H
#define HUSK_OPS_ATTENTION_ROTARY_PROBLEM_H

#include <husk/ops/rotary.h>

#include "select/plan.h"

/* For the gradient x is dy and y dx. Positions and frequencies belong to a run. A tensor that is not there: rank 0. */
typedef struct husk__rotary_problem {
    bool is_gradient, adds, is_interleaved, is_in_place;
    int64_t turned;
    husk_tensor x, positions, cosines, sines, y;
} husk__rotary_problem;

typedef struct husk__rotary_arguments {
    const husk_tensor *x, *positions, *cosines, *sines, *y;
    int64_t first_position;
    uint64_t ratio; /* base^(-2 / turned), in 2^-64 */
} husk__rotary_arguments;

extern const husk__op husk__op_rotary, husk__op_rotary_backward;
extern const husk__variant *const husk__rotary_variants[];

void husk__rotary_describe(const void *problem, husk__key *key);
void husk__rotary_classify(const void *problem, husk__text *text);
void husk__rotary_write_case(const void *problem, const void *arguments, husk__case *c);

/* Which of the two operators is called. */
typedef struct husk__rotary_operator {
    const husk__op *op;
    bool is_gradient;
} husk__rotary_operator;

/* x and y by the names of the call's arguments: x and y, or dy and dx. */
husk_status husk__rotary_validate(husk_queue *queue, const husk__rotary_operator *called,
                                  const husk_rotary_params *params, const husk__rotary_arguments *given,
                                  const husk__scope *scope);
husk_status husk__rotary_enqueue(husk_queue *queue, const husk__rotary_operator *called,
                                 const husk_rotary_params *params, const husk__rotary_arguments *given,
                                 const husk__scope *scope);
/* The operator's program, on two rows. */
husk_status husk__rotary_prewarm(husk_queue *queue, const husk__rotary_operator *called, const husk__scope *scope);

#endif
