/* SPDX-License-Identifier: MIT */
/** @file
 * Padding: a tensor is enlarged or cut at its edges.
 *
 *     y[j] = x[source(j - before)], in every dimension; y's extents are before + x's + after
 *
 * | mode | what lies outside of x |
 * | --- | --- |
 * | CONSTANT | params.value |
 * | REFLECT | x mirrored at its first and last element, which are not repeated: source(-1) is 1 |
 * | REPLICATE | the nearest element |
 * | CIRCULAR | x repeated again and again |
 *
 * Negative widths cut off as many elements.
 *
 * ## PyTorch and ONNX
 *
 * This is PyTorch's F.pad, whose list of widths begins with the last dimension, and ONNX's Pad with the modes constant,
 * reflect, edge and wrap. With a negative width, what is added on the other side is made of all of x. PyTorch's
 * circular mode repeats only what is left.
 */
#ifndef HUSK_OPS_PAD_H
#define HUSK_OPS_PAD_H

#include <husk/gradient.h>

HUSK_BEGIN_DECLS

/** What lies outside of x. The file's description has a table. */
typedef enum husk_pad_mode {
    HUSK_PAD_CONSTANT = 0,
    HUSK_PAD_REFLECT = 1,
    HUSK_PAD_REPLICATE = 2,
    HUSK_PAD_CIRCULAR = 3
} husk_pad_mode;

/** Options of husk_pad() and its gradient. */
typedef struct husk_pad_params {
    uint32_t size; /**< sizeof this struct; HUSK_PAD_PARAMS() sets it. */
    husk_pad_mode mode;
    double value;        /**< CONSTANT only. It is rounded to the dtype; for integers it must be a whole number. */
    int64_t before[HUSK_MAX_RANK], /**< Elements added in front, for each dimension of x; negative: cut off. */
        after[HUSK_MAX_RANK];      /**< Elements added at the end, likewise. */
    uint32_t accumulate; /**< Gradient only: bits of husk_accumulate. */
    const char *variant; /**< NULL: the library chooses. */
} husk_pad_params;

/** Makes a husk_pad_params; see husk/export.h. */
#define HUSK_PAD_PARAMS(...) HUSK_MAKE(husk_pad_params, __VA_ARGS__)

/**
 * Enqueue the padding.
 *
 * - x and y have the same dtype, whichever it is, since bits are copied. Rank 0 to 8, any strides.
 * - y does not overlap x.
 * - No more may be cut off than there is.
 * - Widths are less than x's extent for REFLECT, and at most x's extent for CIRCULAR.
 * - For all modes except CONSTANT, a dimension without elements stays without elements.
 * - A zero-sized y does nothing.
 */
HUSK_API husk_status husk_pad(husk_queue *queue, const husk_pad_params *params, const husk_tensor *x,
                              const husk_tensor *y);

/**
 * Enqueue the gradient: dx[i] is the sum of dy[j] over all j that are made of x[i].
 *
 * - The order of a sum depends only on the shapes.
 * - What was cut off has a gradient of 0.
 * - dy and dx have one dtype (f32, f16, bf16, f64) and any strides. They do not overlap.
 * - HUSK_ACCUMULATE_INPUTS adds to dx.
 *
 * @par Error
 * For a sum of n terms; exact if n is 1:
 *
 *     |error| <= (n + 4) 2^-24 sum |terms|
 *
 * The tests allow 4 + 2 sqrt n in place of n + 4 (docs/operators.md).
 */
HUSK_API husk_status husk_pad_backward(husk_queue *queue, const husk_pad_params *params, const husk_tensor *dy,
                                       const husk_tensor *dx);

HUSK_END_DECLS

#endif
