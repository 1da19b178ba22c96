/* SPDX-License-Identifier: MIT */
/* ref/layout/pad.h: a tensor made larger at its edges, or smaller: see husk/ops/pad.h. */
#ifndef HUSK_REF_LAYOUT_PAD_H
#define HUSK_REF_LAYOUT_PAD_H

#include <husk/ops/pad.h>

#include "ref/ref.h"

HUSK_BEGIN_DECLS

typedef struct husk_ref_pad {
    const husk_pad_params *params;
    const husk_ref_array *x;
} husk_ref_pad;

void husk_ref_pad_run(const husk_ref_pad *op, const husk_ref_array *y);
husk_ref_value husk_ref_pad_at(const husk_ref_pad *op, const int64_t *index);
husk_ref_function husk_ref_pad_function(const husk_ref_pad *op);

typedef struct husk_ref_pad_backward {
    const husk_pad_params *params;
    const husk_ref_array *dy;
    const husk_ref_array *dx;     /* its shape */
    const husk_ref_array *before; /* it before the call, for accumulate */
} husk_ref_pad_backward;

void husk_ref_pad_backward_run(const husk_ref_pad_backward *op, const husk_ref_array *dx);
husk_ref_value husk_ref_pad_backward_at(const husk_ref_pad_backward *op, const int64_t *index);
husk_ref_function husk_ref_pad_backward_function(const husk_ref_pad_backward *op);

/* The element of n that position j of y is made of; -1: none. */
int64_t husk_ref_pad_source(husk_pad_mode mode, int64_t j, int64_t before, int64_t n);

HUSK_END_DECLS

#endif
