/* SPDX-License-Identifier: MIT */
/*
 * husk/ops/copy.h: y = x, from any strides to any strides, from one dtype to another.
 *
 * This is what makes a view (husk/tensor.h) a packed tensor: transposes, NCHW to NHWC and back, slices, broadcasts.
 *
 * x and y: rank 0 to 8, any strides; x's shape is y's or broadcasts to it: aligned at the ends, dimensions of one
 * element are repeated and missing ones put in front (as in PyTorch and ONNX). x may have strides of 0. y must not
 * overlap x.
 * A zero-sized y does nothing.
 *
 * The same dtype, whichever it is: bits are copied, those of NaN and of denormals too. f32, f16, bf16, i32, i64 and u8
 * become each other:
 *     to floats    rounded to nearest, ties to even (integers to f16 and bf16 by way of f32); f16 past its range is
 *                  infinite
 *     to integers  from floats: towards zero, the nearest end where the value is out of range, 0 for NaN (C and PyTorch
 *                  leave these two open, ONNX too); from integers: the lowest bits, as in C and PyTorch
 */
#ifndef HUSK_OPS_COPY_H
#define HUSK_OPS_COPY_H

#include <husk/tensor.h>

HUSK_BEGIN_DECLS

typedef struct husk_copy_params {
    uint32_t size;       /* sizeof this struct: HUSK_COPY_PARAMS sets it */
    const char *variant; /* NULL: chosen */
} husk_copy_params;

#define HUSK_COPY_PARAMS(...) HUSK_MAKE(husk_copy_params, __VA_ARGS__)

HUSK_API husk_status husk_copy(husk_queue *queue, const husk_copy_params *params, const husk_tensor *x,
                               const husk_tensor *y);

HUSK_END_DECLS

#endif
