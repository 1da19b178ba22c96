/* SPDX-License-Identifier: MIT */
/*
 * ref/softmax/softmax.h: softmax and log-softmax over one axis, and their gradient, see husk/ops/softmax.h.
 */
#ifndef HUSK_REF_SOFTMAX_SOFTMAX_H
#define HUSK_REF_SOFTMAX_SOFTMAX_H

#include <husk/ops/softmax.h>

#include "ref/ref.h"

HUSK_BEGIN_DECLS

typedef struct husk_ref_softmax {
    const husk_softmax_params *params; /* NULL for the defaults */
    const husk_ref_array *x;
    double *rows; /* NULL, or the rows' maxima and sums from husk_ref_softmax_prepare */
} husk_ref_softmax;

/* y may be x. False when memory does not suffice. */
bool husk_ref_softmax_run(const husk_ref_softmax *op, const husk_ref_array *y);

/*
 * Compute every row's maximum and sum once, so that one output costs one exponential and not a row of them.
 * False when memory does not suffice; the description works all the same.
 */
bool husk_ref_softmax_prepare(husk_ref_softmax *op);
void husk_ref_softmax_release(husk_ref_softmax *op);

/*
 * One element of y, with the header's bounds, n the axis' length:
 *     softmax      (16 + 2 sqrt n + |x - max|) * 2^-24 * y + 2^-126
 *     log-softmax  (16 + 2 sqrt n) * 2^-24 * max(1, |y|)
 * x of -infinity in a row that is not all -infinity is exact.
 */
husk_ref_value husk_ref_softmax_at(const husk_ref_softmax *op, const int64_t *index);
husk_ref_function husk_ref_softmax_function(const husk_ref_softmax *op);

typedef struct husk_ref_softmax_backward {
    const husk_softmax_params *params; /* NULL for the defaults */
    const husk_ref_array *y, *dy;
    const husk_ref_array *dx; /* what is added to; NULL: nothing */
    double *rows;             /* NULL, or the rows' sums from husk_ref_softmax_backward_prepare */
} husk_ref_softmax_backward;

/* dx may be y or dy. False when memory does not suffice. */
bool husk_ref_softmax_backward_run(const husk_ref_softmax_backward *op, const husk_ref_array *dx);
/* Every row's sum once, as husk_ref_softmax_prepare. */
bool husk_ref_softmax_backward_prepare(husk_ref_softmax_backward *op);
void husk_ref_softmax_backward_release(husk_ref_softmax_backward *op);

/*
 * One element of dx, with the header's bounds and for denormals that are flushed, each at most 2^-126: the result and
 * the product before it; terms of the sum, times y; y itself, times what it is multiplied with.
 */
husk_ref_value husk_ref_softmax_backward_at(const husk_ref_softmax_backward *op, const int64_t *index);
husk_ref_function husk_ref_softmax_backward_function(const husk_ref_softmax_backward *op);

HUSK_END_DECLS

#endif
