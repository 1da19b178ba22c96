/* SPDX-License-Identifier: MIT */
/** @file
 * What the gradients of all operators have in common.
 *
 * A gradient is called as
 *
 *     husk_<op>_backward(queue, params, what forward read or saved ..., output gradient, wanted gradients ...)
 *
 * - It takes the params struct of the forward call.
 * - A gradient that is NULL is not computed. At least one must be wanted.
 * - A gradient has the shape and dtype of the tensor whose gradient it is.
 * - Gradients are overwritten, unless params.accumulate asks to add to the existing content. Accumulation sums the
 *   gradients of parameters over several batches, and the gradients of an input that has several users.
 * - Gradients are deterministic: the same call gives the same bits, whatever else the device does. The library never
 *   chooses a variant that is not deterministic.
 */
#ifndef HUSK_GRADIENT_H
#define HUSK_GRADIENT_H

#include <husk/tensor.h>

HUSK_BEGIN_DECLS

/** Bits of a params struct's `accumulate`. */
typedef enum husk_accumulate {
    HUSK_ACCUMULATE_INPUTS = 1,     /**< Add to the gradients of inputs and of initial states. */
    HUSK_ACCUMULATE_PARAMETERS = 2, /**< Add to the gradients of weights, biases and scales. */
    HUSK_ACCUMULATE_ALL = 3
} husk_accumulate;

HUSK_END_DECLS

#endif
