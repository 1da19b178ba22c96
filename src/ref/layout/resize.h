/* SPDX-License-Identifier: MIT */
/* ref/layout/resize.h: tensors that are sampled anew, and the gradient: see husk/ops/resize.h. */
#ifndef HUSK_REF_LAYOUT_RESIZE_H
#define HUSK_REF_LAYOUT_RESIZE_H

#include <husk/ops/resize.h>

#include "ref/ref.h"

HUSK_BEGIN_DECLS

typedef struct husk_ref_resize {
    const husk_resize_params *params;
    const husk_ref_array *x;
    const int64_t *shape; /* y's */
} husk_ref_resize;

void husk_ref_resize_run(const husk_ref_resize *op, const husk_ref_array *y);
husk_ref_value husk_ref_resize_at(const husk_ref_resize *op, const int64_t *index);
husk_ref_function husk_ref_resize_function(const husk_ref_resize *op);

typedef struct husk_ref_resize_backward {
    const husk_resize_params *params;
    const husk_ref_array *dy;
    const husk_ref_array *dx;     /* its shape */
    const husk_ref_array *before; /* it before the call, for accumulate */
} husk_ref_resize_backward;

void husk_ref_resize_backward_run(const husk_ref_resize_backward *op, const husk_ref_array *dx);
husk_ref_value husk_ref_resize_backward_at(const husk_ref_resize_backward *op, const int64_t *index);
husk_ref_function husk_ref_resize_backward_function(const husk_ref_resize_backward *op);

/* What element j of y, of m, reads in a dimension d of space where x has n elements; weights as a product's factors. */
typedef struct husk_ref_resize_taps {
    int count;
    int64_t source[4];
    double weight[4];
} husk_ref_resize_taps;

husk_ref_resize_taps husk_ref_resize_taps_of(const husk_resize_params *params, int32_t d, int64_t n, int64_t m,
                                             int64_t j);

HUSK_END_DECLS

#endif
