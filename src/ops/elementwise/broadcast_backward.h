/* SPDX-License-Identifier: MIT */
/*
 * ops/elementwise/broadcast_backward.h: gradients of operators of two inputs a and b that may be broadcast: their
 * problem, their two variants, their call. Each gradient that is wanted is a launch of its own: a map where its input
 * was not broadcast (runtime/map.h), a sum where it was (runtime/sum.h). Such an operator has the kernels
 * cl/elementwise/NAME_vector.cl and cl/elementwise/NAME_grid.cl; it checks its arguments and says here what is meant.
 */
#ifndef HUSK_OPS_ELEMENTWISE_BROADCAST_BACKWARD_H
#define HUSK_OPS_ELEMENTWISE_BROADCAST_BACKWARD_H

#include "select/plan.h"

/* Gradients by number, and inputs where there is one for each. */
enum { HUSK__BY_A, HUSK__BY_B, HUSK__BROADCAST_INPUTS };

/* What computes the gradient by one input: element()'s kind, its number, and which tensors are v and w (-1: none). */
typedef struct husk__broadcast_recipe {
    int32_t kind;
    float number;
    int32_t v, w;
} husk__broadcast_recipe;

typedef struct husk__broadcast_backward {
    husk__broadcast_recipe recipes[HUSK__BROADCAST_INPUTS];
    const char *function; /* its name in tuning databases; lives for ever */
    const char *options;  /* which program has these kinds: "" or " -DNAME"; lives for ever */
    bool adds;
    bool is_wanted[HUSK__BROADCAST_INPUTS];
    husk_tensor dy, read[HUSK__BROADCAST_INPUTS], gradient[HUSK__BROADCAST_INPUTS]; /* bare; of rank 0: not read */
} husk__broadcast_backward;

/* What a call is given; NULL for what is not. */
typedef struct husk__broadcast_arguments {
    const husk_tensor *dy, *read[HUSK__BROADCAST_INPUTS], *gradient[HUSK__BROADCAST_INPUTS];
} husk__broadcast_arguments;

/* The rest of an operator's row: `.name = "NAME", HUSK__BROADCAST_BACKWARD_OP, .prewarm = ...`. */
#define HUSK__BROADCAST_BACKWARD_OP                                                                           \
    .problem_size = sizeof(husk__broadcast_backward), .variants = husk__broadcast_variants,                   \
    .describe = husk__broadcast_describe, .classify = husk__broadcast_classify

extern const husk__variant *const husk__broadcast_variants[];
void husk__broadcast_describe(const void *problem, husk__key *key);
void husk__broadcast_classify(const void *problem, husk__text *text);
/* What their cases have in common, behind the keys of their own. */
void husk__broadcast_end_case(const husk__broadcast_backward *problem, husk__case *c);

/* Fills in the tensors and enqueues; the arguments have been checked. */
husk_status husk__broadcast_call(husk_queue *queue, const husk__op *op, const char *variant,
                                 husk__broadcast_backward problem, const husk__broadcast_arguments *given,
                                 const husk__scope *scope);
/* The same on a vector of 64 f32 numbers, and their sum: for prewarming. */
husk_status husk__broadcast_prewarm(husk_queue *queue, const husk__op *op, husk__broadcast_backward problem,
                                    const husk__scope *scope);

#endif
