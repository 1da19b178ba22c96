/* SPDX-License-Identifier: MIT */
/*
 * husk/gradient.h: what the gradients of all operators have in common.
 *
 * husk_<op>_backward(queue, params, what forward read or saved ..., gradient of the output, gradients wanted ...)
 * takes the params struct of the forward call. A gradient that is NULL is not computed; one at least must be
 * wanted. Gradients have the shape and dtype of what they are the gradient of.
 *
 * They are written, unless params.accumulate asks for adding to what is there: to the parameters' gradients over
 * several batches, to an input's where it has several users.
 *
 * Gradients are deterministic: the same call gives the same bits, whatever else the device does. No variant that
 * does otherwise is chosen by itself.
 */
#ifndef HUSK_GRADIENT_H
#define HUSK_GRADIENT_H

#include <husk/tensor.h>

HUSK_BEGIN_DECLS

/* Bits of a params' accumulate. */
typedef enum husk_accumulate {
    HUSK_ACCUMULATE_INPUTS = 1,     /* the gradients of inputs (and of initial states) */
    HUSK_ACCUMULATE_PARAMETERS = 2, /* the gradients of weights, biases, scales */
    HUSK_ACCUMULATE_ALL = 3
} husk_accumulate;

HUSK_END_DECLS

#endif
