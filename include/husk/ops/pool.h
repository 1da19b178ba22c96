/* SPDX-License-Identifier: MIT */
/** @file
 * Maximum and average pooling in one, two and three dimensions, and their gradients.
 *
 *     out = floor((in + pad + pad_end - dilation * (window - 1) - 1) / stride) + 1,   pad_end = pad + pad_end_extra
 *
 * With ceil_mode the quotient is rounded up instead, and out is one less if the last window would start past in + pad.
 * That is the rule of PyTorch and, since opset 19, of ONNX.
 *
 * ## Tensors
 *
 * | tensor | shape | dtype | strides |
 * | --- | --- | --- | --- |
 * | x | [N, C, space...], rank 3, 4 or 5 | f32, f16, bf16 or f64 | any |
 * | y | [N, C, out...] | as x | any, if elements do not coincide |
 * | indices | [N, C, out...]; or NULL; MAX only | i32 or i64 | as y |
 *
 * - pad and pad_end are less than the window's extent.
 * - y and indices must not overlap anything.
 *
 * ## MAX
 *
 * y is the largest element in the window. Padding never wins. A NaN in the window gives NaN, as in PyTorch.
 *
 * indices receives the position of that element in the channel's space, row-major, as PyTorch's return_indices:
 *
 * | window | y | index |
 * | --- | --- | --- |
 * | several largest elements | their value | the first |
 * | several NaN | NaN | the first (PyTorch: the last) |
 * | only padding | -infinity | -1 |
 *
 * ## AVG
 *
 * y is the mean. Padding is not counted, which is the default of ONNX and oneDNN. With count_pad, PyTorch's default,
 * padding is counted, but never what lies past in + pad + pad_end. A window over nothing gives 0.
 *
 *     |error| <= (4 + 2 sqrt window elements) * 2^-24 * sum |x| / count
 */
#ifndef HUSK_OPS_POOL_H
#define HUSK_OPS_POOL_H

#include <husk/gradient.h>
#include <husk/ops/conv.h>

HUSK_BEGIN_DECLS

/** The kinds of pooling. */
typedef enum husk_pool_kind { HUSK_POOL_MAX = 0, HUSK_POOL_AVG = 1 } husk_pool_kind;

/** Options of husk_pool() and its gradient. The arrays have one number for each space dimension, in their order. */
typedef struct husk_pool_params {
    uint32_t size;                    /**< sizeof this struct; HUSK_POOL_PARAMS() sets it. */
    husk_pool_kind kind;
    int64_t window[HUSK_MAX_SPACE];   /**< Required unless global is set. */
    int64_t stride[HUSK_MAX_SPACE];   /**< 0 means as window, PyTorch's default. ONNX's default is 1. */
    int64_t pad[HUSK_MAX_SPACE];      /**< Padding before the first element. */
    int64_t pad_end_extra[HUSK_MAX_SPACE]; /**< Padding after the last element, minus pad. May be negative. */
    int64_t dilation[HUSK_MAX_SPACE]; /**< 0 means 1. */
    uint32_t global;       /**< Not 0: the window is all of space; window, stride, pad and dilation are not set. */
    uint32_t ceil_mode;               /**< Not 0: the quotient of `out` is rounded up. */
    uint32_t count_pad;               /**< Not 0: AVG counts padding. */
    uint32_t accumulate;              /**< Gradient only: HUSK_ACCUMULATE_INPUTS adds to dx. */
    const char *variant;              /**< NULL: the library chooses. */
} husk_pool_params;

/** Makes a husk_pool_params; see husk/export.h. */
#define HUSK_POOL_PARAMS(...) HUSK_MAKE(husk_pool_params, __VA_ARGS__)

/** Enqueue the pooling. */
HUSK_API husk_status husk_pool(husk_queue *queue, const husk_pool_params *params, const husk_tensor *x,
                               const husk_tensor *y, const husk_tensor *indices);

/**
 * The shape that y must have.
 *
 * @param shape receives as many numbers as x has dimensions
 */
HUSK_API husk_status husk_pool_output_shape(const husk_pool_params *params, const husk_tensor *x,
                                            int64_t shape[HUSK_MAX_RANK], husk_error *error);

/**
 * Enqueue the gradient: PyTorch's max_pool_backward and avg_pool_backward. ONNX has no operators for them.
 *
 * dx is the sum over the windows in which an element lies:
 *
 * - MAX: of dy where the element was the maximum. forward's indices say where that is. Without indices it is found in x
 *   by forward's rule: the first largest, or the first NaN. A window over only padding adds to no element.
 * - AVG: of dy / the count of the window, as forward counts.
 *
 * Windows may overlap. Sums are formed without atomics, in an order that depends only on the shapes.
 *
 * - params are those of forward.
 * - MAX needs indices, or x if indices is NULL. AVG reads neither: x may be NULL, indices must be NULL.
 * - dx is [N, C, space...] and dy is [N, C, out...]. They have one dtype (f32, f16, bf16, f64) and any strides. dx's
 *   elements do not coincide, and dx overlaps nothing.
 * - indices must be those that forward wrote. An index outside of its window names some element of its channel, or
 *   none; which of them differs between variants.
 * - HUSK_ACCUMULATE_INPUTS adds to dx.
 * - A zero-sized dx does nothing.
 *
 * @par Error
 * For an element in T windows, with the terms t:
 *
 *     |error| <= (8 + 2 sqrt T) * 2^-24 * sum |t|
 *
 * A part of it comes from the reciprocals of the counts (docs/operators.md). MAX is exact if T is 1. Adding to dx costs
 * 2 * 2^-24 (|dx before| + |gradient|) more. NaN and infinity in dy go where the formula sends them.
 */
HUSK_API husk_status husk_pool_backward(husk_queue *queue, const husk_pool_params *params, const husk_tensor *x,
                                        const husk_tensor *indices, const husk_tensor *dy, const husk_tensor *dx);

HUSK_END_DECLS

#endif
