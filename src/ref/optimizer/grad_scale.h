/* SPDX-License-Identifier: MIT */
/* ref/optimizer/grad_scale.h: a list of tensors multiplied in place, see husk/ops/grad_scale.h. */
#ifndef HUSK_REF_OPTIMIZER_GRAD_SCALE_H
#define HUSK_REF_OPTIMIZER_GRAD_SCALE_H

#include <husk/ops/grad_scale.h>

#include "ref/ref.h"

HUSK_BEGIN_DECLS

/* One tensor of the list. */
typedef struct husk_ref_grad_scale {
    const husk_grad_scale_params *params; /* NULL for the defaults */
    const husk_ref_array *before;
    double by; /* 1 where there is none */
} husk_ref_grad_scale;

husk_ref_value husk_ref_grad_scale_at(const husk_ref_grad_scale *op, const int64_t *index);
husk_ref_function husk_ref_grad_scale_function(const husk_ref_grad_scale *op);
void husk_ref_grad_scale_run(const husk_ref_grad_scale *op, const husk_ref_array *x);
/* Whether the tensor holds a number that is not finite. */
bool husk_ref_grad_scale_found(const husk_ref_array *x);

HUSK_END_DECLS

#endif
