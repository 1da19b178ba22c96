/* SPDX-License-Identifier: MIT */
/*
 * ref/elementwise/dropout.h: dropout and its gradient.
 */
#ifndef HUSK_REF_ELEMENTWISE_DROPOUT_H
#define HUSK_REF_ELEMENTWISE_DROPOUT_H

#include <husk/ops/dropout.h>

#include "ref/ref.h"

HUSK_BEGIN_DECLS

/* Whether element number `position`, counted row-major, is kept. */
bool husk_ref_dropout_keeps(const husk_dropout_params *params, int64_t position);

typedef struct husk_ref_dropout {
    const husk_dropout_params *params; /* NULL for the defaults */
    const husk_ref_array *x;
} husk_ref_dropout;

void husk_ref_dropout_run(const husk_ref_dropout *op, const husk_ref_array *y);
husk_ref_value husk_ref_dropout_at(const husk_ref_dropout *op, const int64_t *index);
husk_ref_function husk_ref_dropout_function(const husk_ref_dropout *op);

typedef struct husk_ref_dropout_backward {
    const husk_dropout_params *params; /* NULL for the defaults */
    const husk_ref_array *dy;
    const husk_ref_array *before; /* dx before the call, for accumulate */
} husk_ref_dropout_backward;

void husk_ref_dropout_backward_run(const husk_ref_dropout_backward *op, const husk_ref_array *dx);
husk_ref_value husk_ref_dropout_backward_at(const husk_ref_dropout_backward *op, const int64_t *index);
husk_ref_function husk_ref_dropout_backward_function(const husk_ref_dropout_backward *op);

HUSK_END_DECLS

#endif
