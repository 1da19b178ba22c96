/* SPDX-License-Identifier: MIT */
/*
 * ref/loss/rows.h: what the references of losses and of their gradients share: where rows lie and what they want.
 */
#ifndef HUSK_REF_LOSS_ROWS_H
#define HUSK_REF_LOSS_ROWS_H

#include "ref/loss/loss.h"

HUSK_BEGIN_DECLS

/* An element's loss and its derivative by x, both without its weight. */
typedef struct husk_ref_loss_element {
    double value, magnitude;
    double slope, slope_magnitude;
    double weight;
} husk_ref_loss_element;

bool husk_ref_loss_has_rows(const husk_ref_loss *op);
bool husk_ref_loss_has_labels(const husk_ref_loss *op);
/* The dimension of the classes. */
int32_t husk_ref_loss_axis(const husk_ref_loss *op);
/* The shape of all rows' (or elements') losses; returns its rank. */
int32_t husk_ref_loss_shape(const husk_ref_loss *op, int64_t *shape);
/* Where a row's class lies in x. */
void husk_ref_loss_locate(const husk_ref_loss *op, const int64_t *index, int64_t class, int64_t *at);
/* q of husk/ops/loss.h. */
double husk_ref_loss_wanted(const husk_ref_loss *op, const int64_t *index, int64_t class);
husk_ref_loss_element husk_ref_loss_element_at(const husk_ref_loss *op, const int64_t *at);
husk_ref_loss_row husk_ref_loss_row_at(const husk_ref_loss *op, const int64_t *index);

HUSK_END_DECLS

#endif
