/* SPDX-License-Identifier: MIT */
/** @file
 * Quantization of floats to integers of eight bits.
 *
 *     y = saturate(round(x / scale) + zero)          round: to nearest, ties to even
 *
 * | tensor | shape | dtype |
 * | --- | --- | --- |
 * | x | rank 0 to 8 | f32, f16 or bf16 |
 * | scale | one element, for all of x (per tensor); or [channels], one for each index of dimension `axis` | f32 |
 * | zero | scale's shape; NULL: all 0 | as y |
 * | y | x's shape | i8 (-128 to 127) or u8 (0 to 255) |
 *
 * - Any strides. y must not overlap anything.
 * - Scales are positive numbers. Others do what the formula says.
 * - What is past the range becomes the end of the range, infinity too.
 * - NaN becomes the zero point, and so does 0 / 0.
 * - Without elements nothing happens.
 * - There is no gradient: it would be zero wherever it is defined.
 *
 * ## PyTorch and ONNX
 *
 * This is ONNX's QuantizeLinear, whose default axis is 1. It is also PyTorch's quantize_per_tensor and
 * quantize_per_channel. These multiply by 1 / scale instead, and so may give the neighbouring number where x / scale
 * lies next to a tie. In other libraries the result of NaN is undefined; mostly it is the lowest number.
 *
 * ## Error
 *
 * The result is exact, with one exception: x / scale is computed with an error of 5 * 2^-24 (OpenCL's 2.5 ulp). Where
 * it lies that near to a tie, the result is either neighbour.
 */
#ifndef HUSK_OPS_QUANTIZE_H
#define HUSK_OPS_QUANTIZE_H

#include <husk/tensor.h>

HUSK_BEGIN_DECLS

/** What a tensor of quantized numbers q stands for: (q - zero) * scale. Operators on such tensors take it. */
typedef struct husk_quantization {
    float scale; /**< 0 means 1. */
    int32_t zero;
} husk_quantization;

/** Options of husk_quantize() and husk_dequantize(). */
typedef struct husk_quantize_params {
    uint32_t size;       /**< sizeof this struct; HUSK_QUANTIZE_PARAMS() sets it. */
    int32_t axis;        /**< The dimension of the channels (husk/tensor.h). Ignored without channels. */
    const char *variant; /**< NULL: the library chooses. */
} husk_quantize_params;

/** Makes a husk_quantize_params; see husk/export.h. */
#define HUSK_QUANTIZE_PARAMS(...) HUSK_MAKE(husk_quantize_params, __VA_ARGS__)

/**
 * Enqueue the quantization.
 *
 * @param params NULL for the defaults
 */
HUSK_API husk_status husk_quantize(husk_queue *queue, const husk_quantize_params *params, const husk_tensor *x,
                                   const husk_tensor *scale, const husk_tensor *zero, const husk_tensor *y);

HUSK_END_DECLS

#endif
