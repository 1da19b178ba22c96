/* SPDX-License-Identifier: MIT */
/*
 * ops/elementwise/elementwise.h: operators that compute y = element(u, v, w), every element by itself: their problem,
 * their two variants, their call. Such an operator has the kernels cl/NAME_vector.cl and cl/NAME_grid.cl, made of
 * cl/lib/map.clh, with an element() of its own; it checks its arguments and says here which function is meant.
 */
#ifndef HUSK_OPS_ELEMENTWISE_ELEMENTWISE_H
#define HUSK_OPS_ELEMENTWISE_ELEMENTWISE_H

#include "select/plan.h"

enum { HUSK__ELEMENTWISE_INPUTS = 3 };

typedef struct husk__elementwise {
    int32_t inputs; /* 1, 2 or 3: u, v, w */
    int32_t kind;   /* element()'s, and its numbers */
    float numbers[3];
    bool is_smooth;       /* exp, tanh and their like: bound by arithmetic, not by memory */
    bool adds;            /* y += */
    const char *function; /* its name in tuning databases; lives for ever */
    const char *options;  /* which program has this kind: "" or " -DNAME"; lives for ever */
    husk_tensor y, x[HUSK__ELEMENTWISE_INPUTS]; /* bare */
} husk__elementwise;

/* What a call is given. */
typedef struct husk__elementwise_arguments {
    const husk_tensor *y, *x[HUSK__ELEMENTWISE_INPUTS];
} husk__elementwise_arguments;

/* The rest of an operator's row: `.name = "NAME", HUSK__ELEMENTWISE_OP, .prewarm = ...`. */
#define HUSK__ELEMENTWISE_OP                                                                            \
    .problem_size = sizeof(husk__elementwise), .variants = husk__elementwise_variants,                  \
    .describe = husk__elementwise_describe, .classify = husk__elementwise_classify

extern const husk__variant *const husk__elementwise_variants[];
void husk__elementwise_describe(const void *problem, husk__key *key);
void husk__elementwise_classify(const void *problem, husk__text *text);
/* What their cases have in common, behind the keys of their own: dtype, and dir=bwd; and the strides. */
void husk__elementwise_end_case(const husk__elementwise *problem, bool is_gradient, husk__case *c);
/* The case of one that has nothing but a count and a function, which is left out where it is the usual one. */
void husk__elementwise_write_case(const husk__elementwise *problem, const char *op, const char *key, const char *usual,
                                  bool is_gradient, husk__case *c);

/* Fills in the tensors and enqueues; the arguments have been checked. */
husk_status husk__elementwise_call(husk_queue *queue, const husk__op *op, const char *variant,
                                   husk__elementwise problem, const husk__elementwise_arguments *given,
                                   const husk__scope *scope);
/* The same on a vector of 64 f32 numbers that is every tensor: for prewarming. */
husk_status husk__elementwise_prewarm(husk_queue *queue, const husk__op *op, husk__elementwise problem,
                                      const husk__scope *scope);

/* y as x, which it may be or has nothing of. */
husk_status husk__elementwise_check(husk_queue *queue, const husk_tensor *x, const husk_tensor *y,
                                    const husk__scope *scope);
/* Gradients of y = f(x): x, y (one of them may be NULL) and dx as dy; dx may be one of them or has nothing of it. */
husk_status husk__elementwise_check_backward(husk_queue *queue, const husk_tensor *x, const husk_tensor *y,
                                             const husk_tensor *dy, const husk_tensor *dx, const husk__scope *scope);

#endif
