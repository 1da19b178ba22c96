/* SPDX-License-Identifier: MIT */
/* ref/optimizer/grad_norm.h: the norm of a list of tensors, see husk/ops/grad_norm.h. */
#ifndef HUSK_REF_OPTIMIZER_GRAD_NORM_H
#define HUSK_REF_OPTIMIZER_GRAD_NORM_H

#include <husk/ops/grad_norm.h>

#include "ref/ref.h"

HUSK_BEGIN_DECLS

typedef struct husk_ref_grad_norm {
    const husk_grad_norm_params *params; /* NULL for the defaults */
    const husk_ref_array *const *tensors;
    size_t count;
    bool is_coefficient; /* which of the two numbers the functions below speak of */
} husk_ref_grad_norm;

husk_ref_value husk_ref_grad_norm_at(const husk_ref_grad_norm *op, const int64_t *index);
husk_ref_function husk_ref_grad_norm_function(const husk_ref_grad_norm *op);
double husk_ref_grad_norm_run(const husk_ref_grad_norm *op);

HUSK_END_DECLS

#endif
