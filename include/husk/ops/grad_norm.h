/* SPDX-License-Identifier: MIT */
/** @file
 * The norm of a whole list of tensors, and the coefficient that limits it.
 *
 *     EUCLIDEAN   norm = sqrt(sum x^2)     over all elements of all tensors
 *     MAXIMUM     norm = max |x|           PyTorch's norm_type inf; NaN if any element is
 *     coefficient = min(1, max_norm / (norm + 1e-6))          NaN where the norm is, as in PyTorch
 *
 * Multiplied with the coefficient, the tensors have a norm of at most max_norm. This is for gradients: PyTorch's
 * clip_grad_norm_ is husk_grad_norm() followed by husk_grad_scale() with the coefficient, or by husk_optimizer() with
 * it.
 *
 * Nothing is read back: both numbers stay on the device.
 */
#ifndef HUSK_OPS_GRAD_NORM_H
#define HUSK_OPS_GRAD_NORM_H

#include <husk/tensor.h>

HUSK_BEGIN_DECLS

/** The kinds of norm. */
typedef enum husk_grad_norm_kind { HUSK_GRAD_NORM_EUCLIDEAN = 0, HUSK_GRAD_NORM_MAXIMUM = 1 } husk_grad_norm_kind;

/** Options of husk_grad_norm(). */
typedef struct husk_grad_norm_params {
    uint32_t size; /**< sizeof this struct; HUSK_GRAD_NORM_PARAMS() sets it. */
    husk_grad_norm_kind kind;
    float max_norm;      /**< For the coefficient. 0 means infinity: the coefficient is 1. */
    const char *variant; /**< NULL: the library chooses. */
} husk_grad_norm_params;

/** Makes a husk_grad_norm_params; see husk/export.h. */
#define HUSK_GRAD_NORM_PARAMS(...) HUSK_MAKE(husk_grad_norm_params, __VA_ARGS__)

/**
 * Enqueue the norm and the coefficient.
 *
 * - The tensors are f32, f16 or bf16, and may differ in that. They have rank 0 to 8. Their dimensions may be in any
 *   order in memory, but without gaps between the elements. Zero-sized tensors are legal and add nothing.
 * - norm and coefficient are f32 with one element. Either may be NULL. They overlap nothing.
 * - f64 does not mix: if one tensor is f64, all are, and norm and coefficient too.
 * - Sixteen tensors share one launch.
 * - Partial sums are divided by the sizes of the tensors alone, so the same call gives the same bits.
 *
 * @par Error
 * Relative to the norm: half the bound of a sum of as many squares (docs/operators.md), and 4 units of 2^-24, since
 * OpenCL allows a root 3 ulp. For f64, 2^-53 replaces 2^-24. Squares beyond f32's range make the norm infinite, as in
 * PyTorch.
 */
HUSK_API husk_status husk_grad_norm(husk_queue *queue, const husk_grad_norm_params *params,
                                    const husk_tensor *const *tensors, size_t count, const husk_tensor *norm,
                                    const husk_tensor *coefficient);

HUSK_END_DECLS

#endif
