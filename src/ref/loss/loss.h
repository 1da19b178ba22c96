/* SPDX-License-Identifier: MIT */
/*
 * ref/loss/loss.h: loss functions and their gradients, see husk/ops/loss.h.
 */
#ifndef HUSK_REF_LOSS_LOSS_H
#define HUSK_REF_LOSS_LOSS_H

#include <husk/ops/loss.h>

#include "ref/ref.h"

HUSK_BEGIN_DECLS

/* What a row, or an element, comes to. */
typedef struct husk_ref_loss_row {
    double value, magnitude, bound; /* its loss; bound but for the error of sums over rows */
    double weight;                  /* what MEAN divides by the sum of */
    double maximum, sum;            /* CROSS_ENTROPY: the largest x, and the sum of e^(x - maximum) */
    double total, absolute;         /* CROSS_ENTROPY: sum of q, and of |q| */
    bool is_counted;                /* its label is neither ignored nor out of range */
} husk_ref_loss_row;

typedef struct husk_ref_loss {
    const husk_loss_params *params; /* NULL for the defaults */
    const husk_ref_array *x, *target;
    const husk_ref_array *weight, *positive_weight; /* NULL: 1 */
    const husk_ref_array *dloss;                    /* backward */
    const husk_ref_array *dx;                       /* backward: what is added to; NULL: nothing */
    husk_ref_loss_row *rows;                        /* NULL, or all rows from husk_ref_loss_prepare */
    double divisor, divisor_error;                  /* set with rows: MEAN's, its relative error in 2^-24 */
} husk_ref_loss;

/* Rows and the divisor once. False when memory does not suffice. */
bool husk_ref_loss_prepare(husk_ref_loss *op);
void husk_ref_loss_release(husk_ref_loss *op);

bool husk_ref_loss_run(const husk_ref_loss *op, const husk_ref_array *loss);
bool husk_ref_loss_backward_run(const husk_ref_loss *op, const husk_ref_array *dx);

/* One output with the header's bound; op is prepared. */
husk_ref_value husk_ref_loss_at(const husk_ref_loss *op, const int64_t *index);
husk_ref_value husk_ref_loss_backward_at(const husk_ref_loss *op, const int64_t *index);
husk_ref_function husk_ref_loss_function(const husk_ref_loss *op);
husk_ref_function husk_ref_loss_backward_function(const husk_ref_loss *op);

HUSK_END_DECLS

#endif
