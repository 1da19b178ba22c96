/* SPDX-License-Identifier: MIT */
/*
 * ref/elementwise/unary.h: functions of one number, element by element, and their gradients.
 */
#ifndef HUSK_REF_ELEMENTWISE_UNARY_H
#define HUSK_REF_ELEMENTWISE_UNARY_H

#include <husk/ops/unary.h>

#include "ref/ref.h"

HUSK_BEGIN_DECLS

typedef struct husk_ref_unary {
    const husk_unary_params *params; /* NULL for the defaults */
    const husk_ref_array *x;
} husk_ref_unary;

void husk_ref_unary_run(const husk_ref_unary *op, const husk_ref_array *y);
husk_ref_value husk_ref_unary_at(const husk_ref_unary *op, const int64_t *index);
husk_ref_function husk_ref_unary_function(const husk_ref_unary *op);

typedef struct husk_ref_unary_backward {
    const husk_unary_params *params; /* NULL for the defaults */
    const husk_ref_array *x, *y;     /* one may be NULL; which one is read, the header says */
    const husk_ref_array *dy;
    const husk_ref_array *before; /* dx before the call, for accumulate */
} husk_ref_unary_backward;

void husk_ref_unary_backward_run(const husk_ref_unary_backward *op, const husk_ref_array *dx);
husk_ref_value husk_ref_unary_backward_at(const husk_ref_unary_backward *op, const int64_t *index);
husk_ref_function husk_ref_unary_backward_function(const husk_ref_unary_backward *op);

/* What rounding exponent - 1 makes of |x|^(exponent - 1), in units of 2^-24 of it; 0 where that is 0, infinite, NaN. */
double husk_ref_exponent_error(double exponent, double x);

HUSK_END_DECLS

#endif
