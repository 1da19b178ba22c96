/* SPDX-License-Identifier: MIT */
/** @file
 * Dequantization: integers of eight bits become the floats that they stand for.
 *
 *     y = (x - zero) * scale
 *
 * | tensor | shape | dtype |
 * | --- | --- | --- |
 * | x | rank 0 to 8 | i8 or u8 |
 * | scale | as for husk_quantize() | f32 |
 * | zero | as for husk_quantize() | as x |
 * | y | x's shape | f32, f16 or bf16 |
 *
 * - Any strides. y must not overlap anything.
 * - Without elements nothing happens.
 * - Integers have no gradient.
 *
 * This is ONNX's DequantizeLinear and PyTorch's dequantize.
 *
 * ## Error
 *
 * One rounding in f32, and the rounding of storing as f16 or bf16:
 *
 *     |error| <= 2^-24 |y|
 */
#ifndef HUSK_OPS_DEQUANTIZE_H
#define HUSK_OPS_DEQUANTIZE_H

#include <husk/ops/quantize.h>

HUSK_BEGIN_DECLS

/** Options of husk_dequantize(): those of husk_quantize(). */
typedef husk_quantize_params husk_dequantize_params;

/** Makes a husk_dequantize_params; see husk/export.h. */
#define HUSK_DEQUANTIZE_PARAMS HUSK_QUANTIZE_PARAMS

/**
 * Enqueue the dequantization.
 *
 * @param params NULL for the defaults
 */
HUSK_API husk_status husk_dequantize(husk_queue *queue, const husk_dequantize_params *params, const husk_tensor *x,
                                     const husk_tensor *scale, const husk_tensor *zero, const husk_tensor *y);

HUSK_END_DECLS

#endif
