/* SPDX-License-Identifier: MIT */
/** @file
 * Concatenation of tensors along a dimension.
 *
 *     y[..., starts[i] + k, ...] = inputs[i][..., k, ...]        starts[i]: the sum of the extents of earlier inputs
 *
 * ## PyTorch and ONNX
 *
 * | operation | in Husk |
 * | --- | --- |
 * | torch.cat, ONNX's Concat | husk_concat() |
 * | torch.split, torch.chunk, ONNX's Split | husk_tensor_slice(), which costs nothing; husk_copy() to pack a slice |
 * | torch.stack | husk_tensor_reshape() adds a dimension of one element to each input, then husk_concat() |
 */
#ifndef HUSK_OPS_CONCAT_H
#define HUSK_OPS_CONCAT_H

#include <husk/gradient.h>

HUSK_BEGIN_DECLS

/** Options of husk_concat() and its gradient. */
typedef struct husk_concat_params {
    uint32_t size;       /**< sizeof this struct; HUSK_CONCAT_PARAMS() sets it. */
    int32_t axis;        /**< 0 is the first dimension, -1 the last; see husk/tensor.h. */
    uint32_t accumulate; /**< Gradient only: bits of husk_accumulate. */
    const char *variant; /**< NULL: the library chooses. */
} husk_concat_params;

/** Makes a husk_concat_params; see husk/export.h. */
#define HUSK_CONCAT_PARAMS(...) HUSK_MAKE(husk_concat_params, __VA_ARGS__)

/**
 * Enqueue the concatenation.
 *
 * - All tensors have the same dtype, whichever it is, since bits are copied. Any strides; those of inputs may be 0.
 * - All have the same rank, 1 to 8, and the same shape except along the axis, where y has the sum.
 * - Inputs may be zero-sized along the axis.
 * - y overlaps no input.
 * - An input that is already in place, as a slice of y, need not be passed. Write directly there to save the copy.
 *
 * Up to 8 inputs share one launch if all tensors are contiguous in memory, in y's order, along the axis and the
 * dimensions inside it. Otherwise each input is one launch.
 *
 * @param count 1 or more, without a limit
 */
HUSK_API husk_status husk_concat(husk_queue *queue, const husk_concat_params *params, const husk_tensor *const *inputs,
                                 size_t count, const husk_tensor *y);

/**
 * Enqueue the gradients: gradients[i] is dy's slice, or is added to with HUSK_ACCUMULATE_INPUTS.
 *
 * - A gradient that is NULL is not wanted.
 * - dy and the gradients have one dtype: f32, f16, bf16 or f64. The gradients overlap nothing.
 * - The result is exact, except for the addition, which is rounded once.
 * - If a slice of dy serves as well, husk_tensor_slice() gives it at no cost.
 *
 * @param extents the extents of the inputs along the axis, `count` of them; may be NULL if all gradients are wanted
 */
HUSK_API husk_status husk_concat_backward(husk_queue *queue, const husk_concat_params *params, const int64_t *extents,
                                          const husk_tensor *dy, const husk_tensor *const *gradients, size_t count);

HUSK_END_DECLS

#endif
