/* SPDX-License-Identifier: MIT */
/*
 * train/check/conv_problem.h: a convolution, or a gradient of one, that is being verified.
 */
#ifndef HUSK_TRAIN_CHECK_CONV_PROBLEM_H
#define HUSK_TRAIN_CHECK_CONV_PROBLEM_H

#include "train/check/drawn.h"
#include "train/check/verify.h"

enum { HUSK__CONV_FORWARD, HUSK__CONV_BACKWARD_DATA, HUSK__CONV_BACKWARD_WEIGHTS };
/* What they are in forward, or the gradients by these. */
enum { HUSK__OF_X, HUSK__OF_W, HUSK__OF_Y, HUSK__OF_BIAS, HUSK__CONV_OPERANDS };
/* At most so many products are formed by the sums. */
#define HUSK__CONV_PRODUCTS (1 << 25)

typedef struct husk__conv_check {
    int kind;
    const husk__call *call;
    husk_queue *queue;
    husk__finding *finding;
    husk__drawn operands[HUSK__CONV_OPERANDS];
    bool is_output[HUSK__CONV_OPERANDS];
    bool accumulates;
    husk_dtype dtype;                   /* of the inputs */
    husk_dtype stored;                  /* of the output, the narrowest one */
    int64_t groups, in_group, of_group; /* channels and filters of a group */
    int64_t in[3], out[3], filter[3], stride[3], pad[3], dilation[3];
    int64_t inside, outside, taps; /* elements of a channel of x, of y, of a filter's channel */
    double terms;                  /* products an element */
    int64_t *images, count;        /* those that are looked at */
    double factor;                 /* husk_plan_error_factor of the plan */
    double tolerance;              /* of a sum */
    double scale;                  /* whole numbers over this */
    husk_act activation;
    double slope;
    double *t, *s, *u;          /* numbers of images, filters, channels */
    double *image;              /* of any operand */
    double *of_x, *of_y, *of_w; /* weighted sums of images, filters, channels */
    double *got, *wanted;       /* and of outputs */
} husk__conv_check;

/* Positions o of dy whose element o * stride - pad + tap * dilation is inside x, of one dimension. */
typedef struct husk__reach {
    int64_t first, past, begin; /* begin: the element at position 0 */
} husk__reach;

husk__reach husk__reach_of(const husk__conv_check *c, int d, int64_t tap);
/* The position whose tap meets element i of a dimension; -1: there is none. */
int64_t husk__position_of(const husk__conv_check *c, int d, int64_t i, int64_t tap);

#endif
