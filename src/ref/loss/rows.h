/* SPDX-License-Identifier: MIT */
/*
 * ref/loss/rows.h: the description of a loss and of its gradient; where rows lie, what they want and come to.
 */
#ifndef HUSK_REF_LOSS_ROWS_H
#define HUSK_REF_LOSS_ROWS_H

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

/* An element's loss and its derivative by x, both without its weight. */
typedef struct husk_ref_loss_element {
    double value, magnitude;
    double slope, slope_magnitude;
    double weight;
} husk_ref_loss_element;

husk_loss_kind husk_ref_loss_kind(const husk_ref_loss *op);
bool husk_ref_loss_has_rows(const husk_ref_loss *op);
bool husk_ref_loss_has_labels(const husk_ref_loss *op);
/* The dimension of the classes. */
int32_t husk_ref_loss_axis(const husk_ref_loss *op);
/* The shape of all rows' (or elements') losses; returns its rank. */
int32_t husk_ref_loss_shape(const husk_ref_loss *op, int64_t *shape);
/* Where a row's class lies in x. */
void husk_ref_loss_locate(const husk_ref_loss *op, const int64_t *index, int64_t class, int64_t *at);
/* q of husk/ops/loss.h. */
double husk_ref_loss_wanted(const husk_ref_loss *op, const int64_t *index, int64_t class);
husk_ref_loss_element husk_ref_loss_element_at(const husk_ref_loss *op, const int64_t *at);
husk_ref_loss_row husk_ref_loss_row_at(const husk_ref_loss *op, const int64_t *index);

HUSK_END_DECLS

#endif
