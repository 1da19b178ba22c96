/* SPDX-License-Identifier: MIT */
/*
 * ref/elementwise/binary.h: two tensors, element by element, with broadcasting.
 */
#ifndef HUSK_REF_ELEMENTWISE_BINARY_H
#define HUSK_REF_ELEMENTWISE_BINARY_H

#include <husk/ops/binary.h>

#include "ref/ref.h"

HUSK_BEGIN_DECLS

typedef struct husk_ref_binary {
    const husk_binary_params *params; /* NULL for the defaults */
    const husk_ref_array *a, *b;
} husk_ref_binary;

void husk_ref_binary_run(const husk_ref_binary *op, const husk_ref_array *y);
husk_ref_value husk_ref_binary_at(const husk_ref_binary *op, const int64_t *index);
husk_ref_function husk_ref_binary_function(const husk_ref_binary *op);

/* The gradient by a, or by b, of what forward reads; summed over dimensions that were broadcast. */
typedef struct husk_ref_binary_backward {
    const husk_binary_params *params;      /* NULL for the defaults */
    const husk_ref_array *a, *b;           /* NULL where the kind does not read them */
    const husk_ref_array *dy;
    const husk_ref_array *gradient;        /* its shape: a's or b's */
    const husk_ref_array *before;          /* it before the call, for accumulate */
    bool by_b;
} husk_ref_binary_backward;

void husk_ref_binary_backward_run(const husk_ref_binary_backward *op, const husk_ref_array *gradient);
husk_ref_value husk_ref_binary_backward_at(const husk_ref_binary_backward *op, const int64_t *index);
husk_ref_function husk_ref_binary_backward_function(const husk_ref_binary_backward *op);

/* The offset of the element that an array broadcast to `rank` dimensions has at an index. */
int64_t husk_ref_broadcast_offset(const husk_ref_array *array, int32_t rank, const int64_t *index);

HUSK_END_DECLS

#endif
