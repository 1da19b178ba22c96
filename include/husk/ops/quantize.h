/* SPDX-License-Identifier: MIT */
/*
 * husk/ops/quantize.h: floats as integers of eight bits.
 *
 *     y = saturate(round(x / scale) + zero)          round: to nearest, ties to even
 *
 * x: f32, f16 or bf16, rank 0 to 8. y: x's shape in i8 (-128 to 127) or u8 (0 to 255). Any strides; y must not overlap
 * anything.
 *
 *     scale   f32: of one element, for all of x (per tensor); or [channels], one for each index of dimension `axis`
 *     zero    the zero points: scale's shape in y's dtype; NULL: all 0
 *
 * This is ONNX's QuantizeLinear (whose axis is 1 unless given), and PyTorch's quantize_per_tensor and
 * quantize_per_channel, which multiply by 1 / scale instead and so may give the neighbour where x / scale lies next to
 * a tie. What is past the range becomes its end, infinity too. A NaN becomes the zero point (elsewhere it is undefined,
 * mostly the lowest number), as does 0 / 0. Scales are positive numbers; others do what the formula says.
 *
 * Exact, except where x / scale, computed with an error of 5 * 2^-24 (OpenCL's 2.5 ulp), is that near a tie: there
 * either neighbour. Without elements nothing happens. There is no gradient: it would be zero wherever it is defined.
 */
#ifndef HUSK_OPS_QUANTIZE_H
#define HUSK_OPS_QUANTIZE_H

#include <husk/tensor.h>

HUSK_BEGIN_DECLS

/* What a tensor of quantized numbers q stands for: (q - zero) * scale. Operators on such tensors take it. */
typedef struct husk_quantization {
    float scale; /* 0 means 1 */
    int32_t zero;
} husk_quantization;

typedef struct husk_quantize_params {
    uint32_t size;       /* sizeof this struct: HUSK_QUANTIZE_PARAMS sets it */
    int32_t axis; /* the dimension of the channels, 0 the first, -1 the last (husk/tensor.h); without channels
                            it does not count */
    const char *variant; /* NULL: chosen */
} husk_quantize_params;

#define HUSK_QUANTIZE_PARAMS(...) HUSK_MAKE(husk_quantize_params, __VA_ARGS__)

/* params: NULL for the defaults. */
HUSK_API husk_status husk_quantize(husk_queue *queue, const husk_quantize_params *params, const husk_tensor *x,
                                   const husk_tensor *scale, const husk_tensor *zero, const husk_tensor *y);

HUSK_END_DECLS

#endif
