/* SPDX-License-Identifier: MIT */
/*
 * husk/ops/grad_norm.h: the norm of a whole list of tensors, and what to multiply them with so that it is at most a
 * given one. For gradients: PyTorch's clip_grad_norm_ is this, and husk_grad_scale by the coefficient, or
 * husk_optimizer with it.
 *
 *     EUCLIDEAN   norm = sqrt(sum x^2)     over all elements of all tensors
 *     MAXIMUM     norm = max |x|           PyTorch's norm_type inf; NaN if any element is
 *     coefficient = min(1, max_norm / (norm + 1e-6))          NaN where the norm is, as in PyTorch
 *
 * Nothing is read back: both numbers stay on the device.
 */
#ifndef HUSK_OPS_GRAD_NORM_H
#define HUSK_OPS_GRAD_NORM_H

#include <husk/tensor.h>

HUSK_BEGIN_DECLS

typedef enum husk_grad_norm_kind { HUSK_GRAD_NORM_EUCLIDEAN = 0, HUSK_GRAD_NORM_MAXIMUM = 1 } husk_grad_norm_kind;

typedef struct husk_grad_norm_params {
    uint32_t size; /* sizeof this struct: HUSK_GRAD_NORM_PARAMS sets it */
    husk_grad_norm_kind kind;
    float max_norm;      /* for the coefficient; 0 means infinity: it is 1 */
    const char *variant; /* NULL: chosen */
} husk_grad_norm_params;

#define HUSK_GRAD_NORM_PARAMS(...) HUSK_MAKE(husk_grad_norm_params, __VA_ARGS__)

/*
 * tensors: count of them, f32, f16 or bf16, not necessarily alike, rank 0 to 8, in any order of dimensions but without
 * gaps between the elements; zero-sized ones count nothing. norm and coefficient: f32 of one element; either may be
 * NULL, and they overlap nothing. Sixteen tensors go in one launch. Partial sums are divided by the tensors' sizes
 * alone, so that the same call gives the same bits. |error|: half that of a sum of as many squares (docs/operators.md),
 * relative to the norm, and 4 units of 2^-24, since OpenCL allows a root 3 ulp. Squares beyond f32 make the norm
 * infinite, as in PyTorch.
 * f64 stands alone: where one of the tensors is f64 all are, and norm and coefficient too; 2^-53 stands for 2^-24.
 */
HUSK_API husk_status husk_grad_norm(husk_queue *queue, const husk_grad_norm_params *params,
                                    const husk_tensor *const *tensors, size_t count, const husk_tensor *norm,
                                    const husk_tensor *coefficient);

HUSK_END_DECLS

#endif
