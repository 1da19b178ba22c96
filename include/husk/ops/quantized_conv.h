/* SPDX-License-Identifier: MIT */
/*
 * husk/ops/quantized_conv.h: convolution of integers of eight bits, summed up in i32.
 *
 *     s[n, k, o] = sum over c, r of w[k, c, r] * (x[n, g(k) * C/groups + c, i] - x.zero)            exactly
 *     with i = o * stride - pad + r * dilation, elements outside x counting as x.zero, per space dimension
 *
 *     y in i32              s
 *     y in f32, f16, bf16   v = x.scale * w_scale[k] * s[n, k, o] + bias[k],  y = activation(v)
 *     y in i8, u8           saturate(round(activation(v) / y.scale) + y.zero), as husk_quantize does it
 *
 *     x        [N, C, space...]             i8 or u8; rank 3, 4 or 5
 *     w        [K, C / groups, filter...]   i8, or packed for a plan; its zero point is 0 (symmetric weights)
 *     w_scale  f32, one element, or [K]: one for each output channel; NULL where y is i32
 *     bias     f32 [K], or NULL, as it must be where y is i32
 *     y        [N, K, out...]               husk_conv_output_shape gives its shape
 *
 * params, strides, groups, overlaps and zero sizes are husk_conv's; its precision and accumulate do not count, and its
 * variant names one of quantized_conv. Channels last (husk_tensor_make_channels_last) is the fast layout of x and y:
 * others are laid out so on the way. x and y quantizations, and errors: husk/ops/quantized_gemm.h, whose sums, scales
 * and rounding these are.
 *
 * The same as ONNX's ConvInteger (y in i32, no zero point of w) and QLinearConv (y quantized; its bias is i32, at scale
 * x.scale * w_scale, ours f32), PyTorch's quantized conv, oneDNN's convolution with src, weights and dst scales and
 * zero points. There is no gradient: train in floats.
 */
#ifndef HUSK_OPS_QUANTIZED_CONV_H
#define HUSK_OPS_QUANTIZED_CONV_H

#include <husk/ops/conv.h>
#include <husk/ops/quantize.h>

HUSK_BEGIN_DECLS

typedef husk_conv_params husk_quantized_conv_params;

#define HUSK_QUANTIZED_CONV_PARAMS HUSK_CONV_PARAMS

/* params: NULL for the defaults. Plain weights are packed anew in every call. */
HUSK_API husk_status husk_quantized_conv(husk_queue *queue, const husk_quantized_conv_params *params,
                                         const husk_tensor *x, const husk_quantization *x_quantization,
                                         const husk_tensor *w, const husk_tensor *w_scale, const husk_tensor *bias,
                                         const husk_tensor *y, const husk_quantization *y_quantization);

/*
 * A plan, and weights packed for it, as husk_conv_plan_create has them; x's and y's values belong to the run. Packing
 * is UNSUPPORTED where the plan's variant takes w as it is ("grid"): then run it with w itself.
 */
HUSK_API husk_status husk_quantized_conv_plan_create(husk_context *context, const husk_quantized_conv_params *params,
                                                     const husk_tensor *x, const husk_tensor *w,
                                                     const husk_tensor *w_scale, const husk_tensor *bias,
                                                     const husk_tensor *y, husk_plan **plan, husk_error *error);
HUSK_API husk_status husk_quantized_conv_plan_run(husk_plan *plan, husk_queue *queue, const husk_tensor *x,
                                                  const husk_quantization *x_quantization, const husk_tensor *w,
                                                  const husk_tensor *w_scale, const husk_tensor *bias,
                                                  const husk_tensor *y, const husk_quantization *y_quantization);
HUSK_API husk_status husk_quantized_conv_plan_pack(husk_plan *plan, husk_queue *queue, const husk_tensor *w,
                                                   husk_packed **packed);

HUSK_END_DECLS

#endif
