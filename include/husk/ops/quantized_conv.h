/* SPDX-License-Identifier: MIT */
/** @file
 * Convolution of integers of eight bits, with sums in i32.
 *
 *     s[n, k, o] = sum over c, r of w[k, c, r] * (x[n, g(k) * C/groups + c, i] - x.zero)            exactly
 *     with i = o * stride - pad + r * dilation, elements outside x counting as x.zero, per space dimension
 *
 *     y in i32              s
 *     y in f32, f16, bf16   v = x.scale * w_scale[k] * s[n, k, o] + bias[k],  y = activation(v)
 *     y in i8, u8           saturate(round(activation(v) / y.scale) + y.zero), as husk_quantize does it
 *
 * ## Tensors
 *
 * | tensor | shape | dtype |
 * | --- | --- | --- |
 * | x | [N, C, space...], rank 3, 4 or 5 | i8 or u8 |
 * | w | [K, C / groups, filter...]; or packed for a plan | i8; its zero point is 0 (symmetric weights) |
 * | w_scale | one element, or [K], one for each output channel; NULL if y is i32 | f32 |
 * | bias | [K]; may be NULL, and must be if y is i32 | f32 |
 * | y | [N, K, out...], see husk_conv_output_shape() | i32, f32, f16, bf16, i8 or u8 |
 *
 * - Strides, groups, overlaps and zero sizes are as for husk_conv().
 * - params are those of husk_conv(). Its precision and accumulate are ignored; the variant is one of quantized_conv.
 * - Channels last (husk_tensor_make_channels_last()) is the fast layout of x and y. Other layouts are converted to it.
 * - The quantizations of x and y, the sums, scales, rounding and errors are those of husk/ops/quantized_gemm.h.
 * - There is no gradient: train in floats.
 *
 * ## PyTorch, ONNX and oneDNN
 *
 * | there | here |
 * | --- | --- |
 * | ONNX's ConvInteger | y in i32, no zero point of w |
 * | ONNX's QLinearConv | y quantized; bias is i32 there, with the scale x.scale * w_scale, and f32 here |
 * | PyTorch's quantized conv | the same |
 * | oneDNN's convolution with scales and zero points of src, weights and dst | the same |
 */
#ifndef HUSK_OPS_QUANTIZED_CONV_H
#define HUSK_OPS_QUANTIZED_CONV_H

#include <husk/ops/conv.h>
#include <husk/ops/quantize.h>

HUSK_BEGIN_DECLS

/** Options of husk_quantized_conv(): those of husk_conv(). */
typedef husk_conv_params husk_quantized_conv_params;

/** Makes a husk_quantized_conv_params; see husk/export.h. */
#define HUSK_QUANTIZED_CONV_PARAMS HUSK_CONV_PARAMS

/**
 * Enqueue the convolution. Plain weights are packed again in every call.
 *
 * @param params NULL for the defaults
 */
HUSK_API husk_status husk_quantized_conv(husk_queue *queue, const husk_quantized_conv_params *params,
                                         const husk_tensor *x, const husk_quantization *x_quantization,
                                         const husk_tensor *w, const husk_tensor *w_scale, const husk_tensor *bias,
                                         const husk_tensor *y, const husk_quantization *y_quantization);

/** Create a plan, as husk_conv_plan_create() does. The quantizations of x and y are arguments of the run. */
HUSK_API husk_status husk_quantized_conv_plan_create(husk_context *context, const husk_quantized_conv_params *params,
                                                     const husk_tensor *x, const husk_tensor *w,
                                                     const husk_tensor *w_scale, const husk_tensor *bias,
                                                     const husk_tensor *y, husk_plan **plan, husk_error *error);
/** Enqueue a run of the plan. */
HUSK_API husk_status husk_quantized_conv_plan_run(husk_plan *plan, husk_queue *queue, const husk_tensor *x,
                                                  const husk_quantization *x_quantization, const husk_tensor *w,
                                                  const husk_tensor *w_scale, const husk_tensor *bias,
                                                  const husk_tensor *y, const husk_quantization *y_quantization);
/**
 * Pack weights for the plan, as husk_conv_plan_pack() does.
 *
 * @retval HUSK_UNSUPPORTED The plan's variant takes w as it is ("grid"). Run the plan with w itself.
 */
HUSK_API husk_status husk_quantized_conv_plan_pack(husk_plan *plan, husk_queue *queue, const husk_tensor *w,
                                                   husk_packed **packed);

HUSK_END_DECLS

#endif
