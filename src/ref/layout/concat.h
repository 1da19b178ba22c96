/* SPDX-License-Identifier: MIT */
/* ref/layout/concat.h: tensors one after the other along a dimension, see husk/ops/concat.h. */
#ifndef HUSK_REF_LAYOUT_CONCAT_H
#define HUSK_REF_LAYOUT_CONCAT_H

#include <husk/ops/concat.h>

#include "ref/ref.h"

HUSK_BEGIN_DECLS

typedef struct husk_ref_concat {
    const husk_concat_params *params; /* NULL for the defaults */
    const husk_ref_array *inputs;     /* count of them */
    size_t count;
} husk_ref_concat;

void husk_ref_concat_run(const husk_ref_concat *op, const husk_ref_array *y);
husk_ref_value husk_ref_concat_at(const husk_ref_concat *op, const int64_t *index);
husk_ref_function husk_ref_concat_function(const husk_ref_concat *op);

/* The gradient by the input that begins at `start` along the axis. */
typedef struct husk_ref_concat_backward {
    const husk_concat_params *params; /* NULL for the defaults */
    const husk_ref_array *dy;
    const husk_ref_array *gradient; /* its shape: the input's */
    const husk_ref_array *before;   /* it before the call, for accumulate */
    int64_t start;
} husk_ref_concat_backward;

void husk_ref_concat_backward_run(const husk_ref_concat_backward *op, const husk_ref_array *gradient);
husk_ref_value husk_ref_concat_backward_at(const husk_ref_concat_backward *op, const int64_t *index);
husk_ref_function husk_ref_concat_backward_function(const husk_ref_concat_backward *op);

HUSK_END_DECLS

#endif
