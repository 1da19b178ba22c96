/* SPDX-License-Identifier: MIT */
/*
 * ref/attention/rotary.h: rotary position embedding and its gradient.
 */
#ifndef HUSK_REF_ATTENTION_ROTARY_H
#define HUSK_REF_ATTENTION_ROTARY_H

#include <husk/ops/rotary.h>

#include "ref/ref.h"

HUSK_BEGIN_DECLS

typedef struct husk_ref_rotary {
    const husk_rotary_params *params; /* NULL for the defaults */
    const husk_ref_array *x;          /* dy of the gradient */
    const husk_ref_array *positions, *cosines, *sines; /* or NULL */
    bool is_gradient;
    const husk_ref_array *before; /* the gradient: dx before the call, for accumulate */
} husk_ref_rotary;

void husk_ref_rotary_run(const husk_ref_rotary *op, const husk_ref_array *y);
husk_ref_value husk_ref_rotary_at(const husk_ref_rotary *op, const int64_t *index);
husk_ref_function husk_ref_rotary_function(const husk_ref_rotary *op);

HUSK_END_DECLS

#endif
