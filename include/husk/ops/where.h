/* SPDX-License-Identifier: MIT */
/** @file
 * Selection between two tensors, element by element.
 *
 *     y = a where condition is not 0, else b
 *
 * This is PyTorch's torch.where and ONNX's Where. All three inputs broadcast as husk/ops/binary.h describes; y has the
 * broadcast shape.
 *
 * The condition has one of two dtypes:
 *
 * - u8, where PyTorch and ONNX take booleans.
 * - The dtype of a and b. So the result of a comparison of husk_binary() can be used as it is. NaN is not 0, -0 is 0,
 *   and numbers below 2^-126 may count as 0.
 */
#ifndef HUSK_OPS_WHERE_H
#define HUSK_OPS_WHERE_H

#include <husk/gradient.h>

HUSK_BEGIN_DECLS

/** Options of husk_where() and its gradient. */
typedef struct husk_where_params {
    uint32_t size;       /**< sizeof this struct; HUSK_WHERE_PARAMS() sets it. */
    uint32_t accumulate; /**< Gradient only: bits of husk_accumulate. */
    const char *variant; /**< NULL: the library chooses. */
} husk_where_params;

/** Makes a husk_where_params; see husk/export.h. */
#define HUSK_WHERE_PARAMS(...) HUSK_MAKE(husk_where_params, __VA_ARGS__)

/**
 * Enqueue the selection.
 *
 * - a, b and y have one dtype (f32, f16, bf16, f64), any strides, and rank 0 to 8.
 * - y may be an input itself if that has y's shape and dtype; otherwise y must not overlap them.
 * - A zero-sized y does nothing.
 * - The result is exact: y is a or b, also for NaN and infinity. Denormals may become 0.
 */
HUSK_API husk_status husk_where(husk_queue *queue, const husk_where_params *params, const husk_tensor *condition,
                                const husk_tensor *a, const husk_tensor *b, const husk_tensor *y);

/**
 * Enqueue the gradients by a and by b. Either may be NULL if it is not wanted.
 *
 *     da = dy where condition is not 0, else 0
 *     db = 0 where condition is not 0, else dy
 *
 * Each gradient is summed over the dimensions in which its input was broadcast, in an order that depends only on the
 * shapes.
 *
 * - dy has the broadcast shape. condition, da and db have shapes that broadcast to it.
 * - dy, da and db have one dtype (f32, f16, bf16, f64). The condition has that dtype or u8. Any strides.
 * - da and db overlap nothing.
 * - HUSK_ACCUMULATE_INPUTS adds to both.
 *
 * @par Error
 * Exact if nothing was broadcast. A sum of n terms has the bound of ADD's gradient in husk_binary_backward().
 */
HUSK_API husk_status husk_where_backward(husk_queue *queue, const husk_where_params *params,
                                         const husk_tensor *condition, const husk_tensor *dy, const husk_tensor *da,
                                         const husk_tensor *db);

HUSK_END_DECLS

#endif
