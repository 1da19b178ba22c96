/* SPDX-License-Identifier: MIT */
/*
 * ref/loss/loss.h: loss functions and their gradients, see husk/ops/loss.h.
 */
#ifndef HUSK_REF_LOSS_LOSS_H
#define HUSK_REF_LOSS_LOSS_H

#include "ref/loss/rows.h"

HUSK_BEGIN_DECLS

/* Rows and the divisor once. False when memory does not suffice. */
bool husk_ref_loss_prepare(husk_ref_loss *op);
void husk_ref_loss_release(husk_ref_loss *op);

bool husk_ref_loss_run(const husk_ref_loss *op, const husk_ref_array *loss);
bool husk_ref_loss_backward_run(const husk_ref_loss *op, const husk_ref_array *dx);

/* One output with the header's bound; op is prepared. */
husk_ref_value husk_ref_loss_at(const husk_ref_loss *op, const int64_t *index);
husk_ref_value husk_ref_loss_backward_at(const husk_ref_loss *op, const int64_t *index);
husk_ref_function husk_ref_loss_function(const husk_ref_loss *op);
husk_ref_function husk_ref_loss_backward_function(const husk_ref_loss *op);

HUSK_END_DECLS

#endif
