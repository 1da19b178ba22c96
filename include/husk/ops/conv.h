/* SPDX-License-Identifier: MIT */
/** @file
 * Convolution in one, two and three dimensions (the cross-correlation of deep learning), and its gradients.
 *
 *     y[n, k, o] = activation(bias[k] + sum over c, r of w[k, c, r] * x[n, g(k) * C/groups + c, i])
 *     with i = o * stride - pad + r * dilation, elements outside x counting as 0, per space dimension
 *
 *     out = floor((in + pad + pad_end - dilation * (filter - 1) - 1) / stride) + 1,   pad_end = pad + pad_end_extra
 *
 * g(k) is the group of filter k.
 *
 * ## Tensors
 *
 * | tensor | shape | dtype |
 * | --- | --- | --- |
 * | x | [N, C, space...], rank 3, 4 or 5 | f32, f16, bf16 or f64 |
 * | w | [K, C / groups, filter...] | as x; or packed weights |
 * | bias | [K], packed; or NULL | as x, or f32 |
 * | y | [N, K, out...] | as x, or f32 |
 *
 * - x and y may have any strides, as long as y's elements do not coincide. Packed NCHW and packed channels-last
 *   (husk_tensor_make_channels_last()) are the fast layouts.
 * - w may have any strides.
 * - y must not overlap anything.
 * - C and K are multiples of groups. A depthwise convolution has groups == C.
 * - N of 0 does nothing. C of 0 gives the bias.
 *
 * HUSK_UNSUPPORTED is returned for:
 *
 * - sizes, strides, padding or dilation of 2^29 or more;
 * - 2^31 or more positions in an image of y, or elements of a filter;
 * - more than 2^50 of N * C * out * filter, of N * K * in * filter, or of elements of x with its padding.
 *
 * ## Arithmetic
 *
 * - f16 and bf16 are widened when they are read. Sums are f32 from the first product to the last, and are rounded once,
 *   to nearest, when y is stored. Past f16's range (65504) y is infinite.
 * - Packed weights are f32 inside, whatever w's dtype is.
 * - f64 does not mix with other dtypes, bias and gradients included, and is computed in f64. Only the activation's
 *   slope is an f32 number.
 *
 * ## Error
 *
 * For each element before the activation, with J = C / groups * filter elements:
 *
 *     |error| <= (4 + 2 sqrt J) * 2^-24 * (sum |w x| + |bias|)      2^-53 in f64
 *
 * f16 and bf16 add half a unit in the last place. This bound is for rounding errors of either sign. If hundreds of
 * terms or more have one sign and similar size, all variants except implicit_gemm and panels may err by as much as
 * (4 + J) * 2^-24 times the same sum (docs/operators.md).
 *
 * NaN and infinity propagate. Denormals may be flushed to zero.
 *
 * ## Winograd's algorithm
 *
 * Winograd's algorithm (arXiv 1509.09308) computes tiles of outputs together. It may be used in these cases only:
 *
 * - The precision is HIGH or MEDIUM.
 * - params.winograd is 1.
 * - The call or HUSK_VARIANT names its variant. A tuning database alone is not enough.
 *
 * Otherwise, as by default in the precision HIGHEST, no element of y, dx or dw depends on elements that its formula
 * does not contain.
 *
 * With Winograd, the bound above is multiplied by the ratio that husk_plan_error_factor() includes; docs/operators.md
 * derives it. The sum in the bound is the largest sum of a tile, in which all elements of a filter count, also those
 * that meet only padding. NaN and infinity reach all elements of a tile.
 */
#ifndef HUSK_OPS_CONV_H
#define HUSK_OPS_CONV_H

#include <husk/gradient.h>
#include <husk/ops/activation.h>
#include <husk/plan.h>

HUSK_BEGIN_DECLS

/** The most space dimensions. */
#define HUSK_MAX_SPACE 3

/** Options of convolutions. The arrays have one number for each space dimension, in their order. */
typedef struct husk_conv_params {
    uint32_t size;                     /**< sizeof this struct; HUSK_CONV_PARAMS() sets it. */
    int64_t stride[HUSK_MAX_SPACE];    /**< 0 means 1. */
    int64_t pad[HUSK_MAX_SPACE];       /**< Padding before the first element. */
    int64_t pad_end_extra[HUSK_MAX_SPACE]; /**< Padding after the last element, minus pad. May be negative. */
    int64_t dilation[HUSK_MAX_SPACE];  /**< 0 means 1. */
    int64_t groups;                    /**< 0 means 1. */
    husk_act activation;
    float activation_slope;            /**< LEAKY_RELU only, as in husk_activation_params. */
    husk_precision precision;
    uint32_t winograd;                 /**< 1: Winograd's algorithm may be used whatever the precision is. */
    uint32_t accumulate;               /**< Gradients only: bits of husk_accumulate. */
    uint64_t workspace_limit;          /**< Most bytes of scratch memory; 0: the default of husk_plan_workspace(). */
    const char *variant;               /**< NULL: the library chooses. Else a name, or "name:configuration". */
} husk_conv_params;

/** Makes a husk_conv_params; see husk/export.h. */
#define HUSK_CONV_PARAMS(...) HUSK_MAKE(husk_conv_params, __VA_ARGS__)

/**
 * Enqueue the convolution. Plain weights are packed again in every call.
 *
 * @param params NULL for the defaults
 */
HUSK_API husk_status husk_conv(husk_queue *queue, const husk_conv_params *params, const husk_tensor *x,
                               const husk_tensor *w, const husk_tensor *bias, const husk_tensor *y);

/**
 * The shape that y must have.
 *
 * @param shape receives as many numbers as x has dimensions
 */
HUSK_API husk_status husk_conv_output_shape(const husk_conv_params *params, const husk_tensor *x, const husk_tensor *w,
                                            int64_t shape[HUSK_MAX_RANK], husk_error *error);

/** Create a plan for these shapes, strides and options. Buffers and offsets of the tensors are ignored. */
HUSK_API husk_status husk_conv_plan_create(husk_context *context, const husk_conv_params *params, const husk_tensor *x,
                                           const husk_tensor *w, const husk_tensor *bias, const husk_tensor *y,
                                           husk_plan **plan, husk_error *error);
/** Enqueue a run of the plan. */
HUSK_API husk_status husk_conv_plan_run(husk_plan *plan, husk_queue *queue, const husk_tensor *x, const husk_tensor *w,
                                        const husk_tensor *bias, const husk_tensor *y);
/**
 * Pack weights for the plan. Uses on other queues must be ordered after the packing.
 *
 * The packed weights fit every plan on this context with the same weight shape, groups, variant and configuration.
 * For the variant cpu_matrix, the plans must also agree in three points: the precision, whether x's channels lie side
 * by side in memory, and whether x is one element wide where the filter is.
 *
 * Any other plan refuses the packed weights with HUSK_INVALID_ARGUMENT.
 */
HUSK_API husk_status husk_conv_plan_pack(husk_plan *plan, husk_queue *queue, const husk_tensor *w,
                                         husk_packed **packed);

/**
 * Enqueue the data gradient: PyTorch's conv_backward, and ONNX's ConvTranspose.
 *
 * With C and K the channels and filters of a group:
 *
 *     dx[n, g C + c, i] = sum over k, r of  w[g K + k, c, r] * dy[n, g K + k, (i + pad - r * dilation) / stride]
 *                         where that is a whole number and lies inside dy
 *
 * - params are those of forward. The activation must be NONE: its gradient is husk_activation_backward().
 * - w is plain, not packed. dy and w have one dtype; dx has the same, or f32. Sums are f32 and rounded once.
 * - dx has x's shape, and any strides that do not make two elements coincide. dy and w have any strides.
 * - dx overlaps nothing.
 * - HUSK_ACCUMULATE_INPUTS adds to dx.
 * - Without filters, dx is 0. Otherwise, an empty tensor does nothing.
 *
 * @par Error
 * With J = filters of a group * filter elements:
 *
 *     |error| <= (4 + 2 sqrt J) * 2^-24 * sum of the absolute products (and what is added to)
 *
 * with the same remarks as for the forward call. If Winograd is chosen, the bound is Winograd's: see
 * husk_plan_error_factor() of husk_queue_plan(). NaN and infinity propagate. Those of w may also reach elements that
 * they meet only in the padding.
 */
HUSK_API husk_status husk_conv_backward_data(husk_queue *queue, const husk_conv_params *params, const husk_tensor *w,
                                             const husk_tensor *dy, const husk_tensor *dx);
/**
 * Enqueue the weight gradient and the gradient of the bias. One of dw and dbias may be NULL.
 *
 * With C the channels of a group:
 *
 *     dw[k, c, r] = sum over n, o of  dy[n, k, o] * x[n, g(k) C + c, o * stride - pad + r * dilation]
 *     dbias[k]    = sum over n, o of  dy[n, k, o]
 *
 * - params are those of forward. The activation must be NONE: its gradient is husk_activation_backward().
 * - dy and x have one dtype; dw and dbias each have the same, or f32. Sums are f32 and rounded once.
 * - dw and dbias have the shapes of w and bias, and any strides that do not make two elements coincide. dy and x have
 *   any strides.
 * - dw and dbias overlap nothing.
 * - HUSK_ACCUMULATE_PARAMETERS adds to dw and dbias.
 * - N of 0 gives a dw and dbias of 0. Otherwise, an empty tensor does nothing.
 *
 * @par Error
 * With J = N * positions of an image of y:
 *
 *     |error| <= (4 + 2 sqrt J) * 2^-24 * sum of the absolute products (and what is added to)
 *
 * with the same remarks as for the forward call. NaN and infinity propagate. Those of dy may also reach elements of dw
 * that they meet only in the padding.
 */
HUSK_API husk_status husk_conv_backward_weights(husk_queue *queue, const husk_conv_params *params, const husk_tensor *x,
                                                const husk_tensor *dy, const husk_tensor *dw, const husk_tensor *dbias);

/**
 * Enqueue the transposed convolution, PyTorch's conv_transpose: y = activation(bias + the data gradient of x).
 *
 *     in = floor((out + pad + pad_end - dilation * (filter - 1) - 1) / stride) + 1
 *
 * | tensor | shape |
 * | --- | --- |
 * | x | [N, K, in...] |
 * | w | [K, C / groups, filter...] |
 * | bias | [C], packed; or NULL |
 * | y | [N, C, out...] |
 *
 * @par Shape of y
 * With a stride, several shapes of y may satisfy the equation. The shape of the given y decides. PyTorch's
 * output_padding is the number of elements beyond the smallest shape:
 *
 *     (in - 1) * stride - pad - pad_end + dilation * (filter - 1) + 1
 *
 * As in PyTorch, it must be less than the stride or less than the dilation. What no element of x reaches is
 * activation(bias). For ONNX's output_shape with auto_pad, set pad and pad_end_extra.
 *
 * @par Gradients
 * With dz the gradient before the activation (husk_activation_backward()), they are other calls, with the same params
 * except that the activation is NONE:
 *
 * | gradient | call |
 * | --- | --- |
 * | of x | husk_conv() of dz and w |
 * | of w | husk_conv_backward_weights() with dz as x, and x as dy |
 * | of bias | husk_reduce(): the sum of dz over all dimensions except 1 |
 *
 * If output_padding is s strides or more, use a pad_end_extra that is s strides less in these calls. If pad_end is
 * smaller than that, pass dz without its last elements (husk_tensor_slice()), which no element of x reaches.
 */
HUSK_API husk_status husk_conv_transpose(husk_queue *queue, const husk_conv_params *params, const husk_tensor *x,
                                         const husk_tensor *w, const husk_tensor *bias, const husk_tensor *y);

HUSK_END_DECLS

#endif
