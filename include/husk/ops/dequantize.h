/* SPDX-License-Identifier: MIT */
/*
 * husk/ops/dequantize.h: integers of eight bits as the floats that they stand for.
 *
 *     y = (x - zero) * scale
 *
 * x: i8 or u8, rank 0 to 8. y: x's shape in f32, f16 or bf16. Any strides; y must not overlap anything. params, scale
 * and zero as for husk/ops/quantize.h; zero has x's dtype.
 *
 * ONNX's DequantizeLinear, PyTorch's dequantize. One rounding in f32: |error| <= 2^-24 |y|, and what storing as f16 or
 * bf16 costs. Without elements nothing happens. Integers have no gradient.
 */
#ifndef HUSK_OPS_DEQUANTIZE_H
#define HUSK_OPS_DEQUANTIZE_H

#include <husk/ops/quantize.h>

HUSK_BEGIN_DECLS

typedef husk_quantize_params husk_dequantize_params;

#define HUSK_DEQUANTIZE_PARAMS HUSK_QUANTIZE_PARAMS

/* params: NULL for the defaults. */
HUSK_API husk_status husk_dequantize(husk_queue *queue, const husk_dequantize_params *params, const husk_tensor *x,
                                     const husk_tensor *scale, const husk_tensor *zero, const husk_tensor *y);

HUSK_END_DECLS

#endif
