/* SPDX-License-Identifier: MIT */
/*
 * husk/ops/conv.h: convolution in one, two and three dimensions (the cross-correlation of deep learning).
 *
 *     y[n, k, o] = activation(bias[k] + sum over c, r of w[k, c, r] * x[n, g(k) * C/groups + c, i])
 *     with i = o * stride - pad + r * dilation, elements outside x counting as 0, per space dimension
 *
 *     x     [N, C, space...]             f32, f16, bf16 or f64; rank 3, 4 or 5
 *     w     [K, C / groups, filter...]   as x, or packed
 *     bias  [K], or NULL                 as x, or f32; packed
 *     y     [N, K, out...]               as x, or f32
 *     out = floor((in + pad + pad_end - dilation * (filter - 1) - 1) / stride) + 1,   pad_end = pad + pad_end_extra
 *
 * x and y may have any strides that do not make y's elements coincide; packed NCHW and packed channels-last
 * (husk_tensor_make_channels_last) are the fast ones. w may have any strides. y must not overlap anything.
 * C and K are multiples of groups; depthwise is groups == C. N of 0 does nothing; C of 0 gives the bias.
 * UNSUPPORTED: sizes, strides, padding and dilation of 2^29 and more; 2^31 positions in an image of y, or elements of a
 * filter; and more than 2^50 of N * C * out * filter, N * K * in * filter, or elements of x with its padding.
 *
 * f16 and bf16 are widened when they are read; sums are f32 from their first product to their last, and rounded once,
 * to nearest, when y is stored. Past f16's range (65504) y is infinite. Packed weights are f32 inside, whatever w is.
 * f64 stands alone, bias and gradients included, and is computed in f64; the slope is an f32 number there, too.
 *
 * Error, per element, with J = C / groups * filter elements: |error| <= (4 + 2 sqrt J) * 2^-24 * (sum |w x| + |bias|)
 * before the activation, and half a unit in the last place of f16 or bf16; in f64 2^-53 instead of 2^-24. That is for
 * rounding errors of either sign: where hundreds of terms and more are of one sign and alike, all but implicit_gemm and
 * panels may err by as much as (4 + J) * 2^-24 times the same (docs/operators.md). NaN and infinity propagate.
 * Denormals may be flushed to zero.
 *
 * In the precision HIGHEST no element of y, dx or dw depends on what it does not see. Winograd's algorithm (arXiv
 * 1509.09308), which computes tiles of outputs together, is taken in HIGH and MEDIUM, where params.winograd is 1, and
 * where a call or HUSK_VARIANT names its variant; a tuning database is no leave. Its bound is the above times
 * husk_plan_error_factor's ratio (docs/operators.md derives it), of the largest sum in a tile, where all of a filter
 * counts that meets padding there as well; NaN and infinity reach all of a tile.
 *
 * The gradients, of y = conv(x, w) + bias (PyTorch's conv_backward; ONNX's ConvTranspose is the first one):
 *
 *     dx[n, g C + c, i] = sum over k, r of  w[g K + k, c, r] * dy[n, g K + k, (i + pad - r * dilation) / stride]
 *                         where that is a whole number and lies inside dy; C channels and K filters in a group
 *     dw[k, c, r]       = sum over n, o of  dy[n, k, o] * x[n, g(k) C + c, o * stride - pad + r * dilation]
 *     dbias[k]          = sum over n, o of  dy[n, k, o]
 *
 * They take forward's params, whose activation must be NONE: its gradient is husk_activation_backward's.
 * dy and w, or dy and x, are of one dtype; dx, dw and dbias each of that, or f32, rounded once from f32 sums.
 * dx, dw and dbias have the shapes of x, w and bias and any strides that do not make two elements one; dy and the
 * others any at all. Outputs overlap nothing. N of 0 gives dw and dbias of 0, no filters dx of 0; other empty ones do
 * nothing. Error: that of a sum of J products, K times the filter's elements for dx, N times y's positions for others,
 *     |error| <= (4 + 2 sqrt J) * 2^-24 * sum of the absolute products (and what is added to), as above.
 * Where Winograd is chosen for dx its bound is Winograd's (husk_plan_error_factor of husk_queue_plan). NaN and infinity
 * propagate; those of w (in dx) and of dy (in dw) may also reach elements that they meet in the padding alone.
 */
#ifndef HUSK_OPS_CONV_H
#define HUSK_OPS_CONV_H

#include <husk/gradient.h>
#include <husk/ops/activation.h>
#include <husk/plan.h>

HUSK_BEGIN_DECLS

#define HUSK_MAX_SPACE 3

typedef struct husk_conv_params {
    uint32_t size;                     /* sizeof this struct: HUSK_CONV_PARAMS sets it */
    int64_t stride[HUSK_MAX_SPACE];    /* one a space dimension, in their order; 0 means 1 */
    int64_t pad[HUSK_MAX_SPACE];       /* before the first element */
    int64_t pad_end_extra[HUSK_MAX_SPACE]; /* after the last: so much more than pad, negative: less */
    int64_t dilation[HUSK_MAX_SPACE];  /* 0 means 1 */
    int64_t groups;                    /* 0 means 1 */
    husk_act activation;
    float activation_slope; /* LEAKY_RELU alone, as in husk_activation_params */
    husk_precision precision;
    uint32_t winograd; /* 1: Winograd's algorithm may be taken, whatever the precision; see above */
    uint32_t accumulate;               /* of gradients alone: HUSK_ACCUMULATE_ bits */
    uint64_t workspace_limit; /* most bytes of scratch; 0: the default, see husk_plan_workspace */
    const char *variant;               /* NULL: chosen; else a name, or "name:configuration" */
} husk_conv_params;

#define HUSK_CONV_PARAMS(...) HUSK_MAKE(husk_conv_params, __VA_ARGS__)

/* Enqueue the convolution. params: NULL for the defaults. Plain weights are packed anew in every call. */
HUSK_API husk_status husk_conv(husk_queue *queue, const husk_conv_params *params, const husk_tensor *x,
                               const husk_tensor *w, const husk_tensor *bias, const husk_tensor *y);

/* The shape that y must have; shape receives x's rank numbers. */
HUSK_API husk_status husk_conv_output_shape(const husk_conv_params *params, const husk_tensor *x,
                                            const husk_tensor *w, int64_t shape[HUSK_MAX_RANK],
                                            husk_error *error);

/* A plan for these shapes, strides and options; buffers and offsets do not count. */
HUSK_API husk_status husk_conv_plan_create(husk_context *context, const husk_conv_params *params,
                                           const husk_tensor *x, const husk_tensor *w,
                                           const husk_tensor *bias, const husk_tensor *y, husk_plan **plan,
                                           husk_error *error);
HUSK_API husk_status husk_conv_plan_run(husk_plan *plan, husk_queue *queue, const husk_tensor *x,
                                        const husk_tensor *w, const husk_tensor *bias, const husk_tensor *y);
/*
 * Pack weights for the plan; uses on other queues must be ordered after it. The packed weights fit every
 * plan of the same weight shape, groups, variant and configuration on this context; others refuse them
 * (INVALID_ARGUMENT), as do those of amx where the precision differs, x has its channels elsewhere, or is one
 * element wide where the filter is.
 */
HUSK_API husk_status husk_conv_plan_pack(husk_plan *plan, husk_queue *queue, const husk_tensor *w,
                                         husk_packed **packed);

/* The gradient by the data. w: plain. HUSK_ACCUMULATE_INPUTS adds it to dx. */
HUSK_API husk_status husk_conv_backward_data(husk_queue *queue, const husk_conv_params *params, const husk_tensor *w,
                                             const husk_tensor *dy, const husk_tensor *dx);
/* The gradients by the weights and the bias, of which one may be NULL. HUSK_ACCUMULATE_PARAMETERS adds them. */
HUSK_API husk_status husk_conv_backward_weights(husk_queue *queue, const husk_conv_params *params, const husk_tensor *x,
                                                const husk_tensor *dy, const husk_tensor *dw, const husk_tensor *dbias);

/*
 * The transposed convolution, PyTorch's conv_transpose: y = activation(bias + the gradient by the data of x).
 *
 *     x [N, K, in...]   w [K, C / groups, filter...]   bias [C], packed, or NULL   y [N, C, out...]
 *     in = floor((out + pad + pad_end - dilation * (filter - 1) - 1) / stride) + 1
 *
 * Where a stride leaves several shapes of y for which that holds, y's own says which it is: PyTorch's output_padding is
 * the number of elements past the fewest, (in - 1) * stride - pad - pad_end + dilation * (filter - 1) + 1. As there it
 * is less than the stride or less than the dilation; what no element of x reaches is activation(bias). ONNX's
 * output_shape with auto_pad is said by pad and pad_end_extra.
 *
 * Its gradients, with dz the gradient before the activation (husk_activation_backward), are other calls with the same
 * params, activation NONE: by x husk_conv of dz and w, by w husk_conv_backward_weights with dz as x and x as dy, by
 * bias the sum of dz over all dimensions but 1 (husk_reduce). Of an output_padding of s strides and more pad_end_extra
 * is s strides less there; where pad_end has not so much, dz goes without its last elements (husk_tensor_slice), which
 * no element of x reaches.
 */
HUSK_API husk_status husk_conv_transpose(husk_queue *queue, const husk_conv_params *params, const husk_tensor *x,
                                         const husk_tensor *w, const husk_tensor *bias, const husk_tensor *y);

HUSK_END_DECLS

#endif
