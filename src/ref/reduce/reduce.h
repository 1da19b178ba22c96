/* SPDX-License-Identifier: MIT */
/*
 * ref/reduce/reduce.h: reductions over any set of axes and their gradient, see husk/ops/reduce.h.
 */
#ifndef HUSK_REF_REDUCE_REDUCE_H
#define HUSK_REF_REDUCE_REDUCE_H

#include <husk/ops/reduce.h>

#include "ref/ref.h"

HUSK_BEGIN_DECLS

typedef struct husk_ref_reduce {
    const husk_reduce_params *params; /* NULL for the defaults */
    const husk_ref_array *x;
    bool keep; /* y has 1 for every reduced dimension; else it is without them */
} husk_ref_reduce;

void husk_ref_reduce_run(const husk_ref_reduce *op, const husk_ref_array *y);

/* One element of y, with the header's bounds. */
husk_ref_value husk_ref_reduce_at(const husk_ref_reduce *op, const int64_t *index);
husk_ref_function husk_ref_reduce_function(const husk_ref_reduce *op);

typedef struct husk_ref_reduce_backward {
    const husk_reduce_params *params; /* NULL for the defaults */
    const husk_ref_array *x;          /* always, for its shape at the least */
    const husk_ref_array *y;          /* norm, log_sum_exp */
    const husk_ref_array *dy;
    bool keep;                /* y and dy have 1 for every reduced dimension */
    const husk_ref_array *dx; /* what is added to; NULL: nothing */
    struct husk_ref_reduce_row *rows; /* NULL, or what husk_ref_reduce_backward_prepare found */
} husk_ref_reduce_backward;

void husk_ref_reduce_backward_run(const husk_ref_reduce_backward *op, const husk_ref_array *dx);

/* Extremes and products of every result once, so that one element of dx does not cost all of its result's. */
bool husk_ref_reduce_backward_prepare(husk_ref_reduce_backward *op);
void husk_ref_reduce_backward_release(husk_ref_reduce_backward *op);

/* One element of dx, with the header's bounds. */
husk_ref_value husk_ref_reduce_backward_at(const husk_ref_reduce_backward *op, const int64_t *index);
husk_ref_function husk_ref_reduce_backward_function(const husk_ref_reduce_backward *op);

HUSK_END_DECLS

#endif
