/* SPDX-License-Identifier: MIT */
/*
 * ref/elementwise/where.h: one of two tensors, element by element, with broadcasting.
 */
#ifndef HUSK_REF_ELEMENTWISE_WHERE_H
#define HUSK_REF_ELEMENTWISE_WHERE_H

#include <husk/ops/where.h>

#include "ref/ref.h"

HUSK_BEGIN_DECLS

typedef struct husk_ref_where {
    const husk_ref_array *condition, *a, *b;
} husk_ref_where;

void husk_ref_where_run(const husk_ref_where *op, const husk_ref_array *y);
husk_ref_value husk_ref_where_at(const husk_ref_where *op, const int64_t *index);
husk_ref_function husk_ref_where_function(const husk_ref_where *op);

/* The gradient by a, or by b; summed over dimensions that were broadcast. */
typedef struct husk_ref_where_backward {
    const husk_where_params *params; /* NULL for the defaults */
    const husk_ref_array *condition, *dy;
    const husk_ref_array *gradient; /* its shape: a's or b's */
    const husk_ref_array *before;   /* it before the call, for accumulate */
    bool by_b;
} husk_ref_where_backward;

void husk_ref_where_backward_run(const husk_ref_where_backward *op, const husk_ref_array *gradient);
husk_ref_value husk_ref_where_backward_at(const husk_ref_where_backward *op, const int64_t *index);
husk_ref_function husk_ref_where_backward_function(const husk_ref_where_backward *op);

HUSK_END_DECLS

#endif
