/* SPDX-License-Identifier: MIT */
/** @file
 * Copies y = x, from any strides to any strides, and from one dtype to another.
 *
 * This turns a view (husk/tensor.h) into a packed tensor: transposes, NCHW to NHWC and back, slices, broadcasts.
 *
 * - x and y have rank 0 to 8 and any strides; x may have strides of 0.
 * - x has y's shape, or broadcasts to it as in PyTorch and ONNX: the shapes are aligned at their ends, dimensions of
 *   one element are repeated, and missing ones are added in front.
 * - y must not overlap x.
 * - A zero-sized y does nothing.
 *
 * ## Dtypes
 *
 * If x and y have the same dtype, whichever it is, the bits are copied, also those of NaN and of denormals.
 *
 * f32, f16, bf16, i32, i64 and u8 are converted to each other:
 *
 * | from | to | conversion |
 * | --- | --- | --- |
 * | floats | floats | to nearest, ties to even; past its range f16 is infinite |
 * | integers | floats | the same; to f16 and bf16 by way of f32 |
 * | floats | integers | towards zero; the nearest end if out of range; 0 for NaN |
 * | integers | integers | the lowest bits, as in C and PyTorch |
 *
 * C, PyTorch and ONNX leave the conversion of NaN and of floats out of range to integers undefined.
 */
#ifndef HUSK_OPS_COPY_H
#define HUSK_OPS_COPY_H

#include <husk/tensor.h>

HUSK_BEGIN_DECLS

/** Options of husk_copy(). */
typedef struct husk_copy_params {
    uint32_t size;       /**< sizeof this struct; HUSK_COPY_PARAMS() sets it. */
    const char *variant; /**< NULL: the library chooses. */
} husk_copy_params;

/** Makes a husk_copy_params; see husk/export.h. */
#define HUSK_COPY_PARAMS(...) HUSK_MAKE(husk_copy_params, __VA_ARGS__)

/** Enqueue the copy. */
HUSK_API husk_status husk_copy(husk_queue *queue, const husk_copy_params *params, const husk_tensor *x,
                               const husk_tensor *y);

HUSK_END_DECLS

#endif
