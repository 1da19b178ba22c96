/* SPDX-License-Identifier: MIT */
/*
 * ref/elementwise/activation.h: activations, alone and as the last step of other operators.
 */
#ifndef HUSK_REF_ELEMENTWISE_ACTIVATION_H
#define HUSK_REF_ELEMENTWISE_ACTIVATION_H

#include <husk/ops/activation.h>

#include "ref/ref.h"

HUSK_BEGIN_DECLS

/* activation(x); slope is LEAKY_RELU's. */
double husk_ref_activate(husk_act act, float slope, double x);

/*
 * How far activation(x') may end from activation(x) when |x' - x| <= error and activation itself is computed
 * in f32:
 *     |computed(x') - activation(x)| <= L * error + own(x')
 * L is the largest slope the activation has anywhere. own is the header's bound.
 */
double husk_ref_activation_bound(husk_act act, float slope, double x, double error);

typedef struct husk_ref_activation {
    const husk_activation_params *params; /* NULL for the defaults */
    const husk_ref_array *x;
} husk_ref_activation;

void husk_ref_activation_run(const husk_ref_activation *op, const husk_ref_array *y);
husk_ref_value husk_ref_activation_at(const husk_ref_activation *op, const int64_t *index);
husk_ref_function husk_ref_activation_function(const husk_ref_activation *op);

/* The derivative at x, or where forward gave y: those that follow from y. Limits at infinities: the header has them. */
double husk_ref_activation_derivative(husk_act act, float slope, double x);
double husk_ref_activation_derivative_of_y(husk_act act, float slope, double y);

typedef struct husk_ref_activation_backward {
    const husk_activation_params *params; /* NULL for the defaults */
    const husk_ref_array *x, *y; /* one may be NULL; which one is read, the header says */
    const husk_ref_array *dy;
    const husk_ref_array *before; /* dx before the call, for accumulate */
} husk_ref_activation_backward;

void husk_ref_activation_backward_run(const husk_ref_activation_backward *op, const husk_ref_array *dx);
husk_ref_value husk_ref_activation_backward_at(const husk_ref_activation_backward *op, const int64_t *index);
husk_ref_function husk_ref_activation_backward_function(const husk_ref_activation_backward *op);

HUSK_END_DECLS

#endif
