/* SPDX-License-Identifier: MIT */
/** @file
 * Resizing: images, volumes and sequences are sampled anew, from the nearest element or by interpolation.
 *
 * x is [N, C, x_1 ... x_s] and y is [N, C, y_1 ... y_s], with one to three dimensions of space. Element j of y lies at
 * the coordinate c(j) of x, in each dimension by itself:
 *
 * | coordinates | c(j), with r = y's extent / x's, or the given scale |
 * | --- | --- |
 * | HALF_PIXEL | (j + 0.5) / r - 0.5 |
 * | PYTORCH_HALF_PIXEL | the same, but 0 where y's extent is 1 |
 * | ALIGN_CORNERS | j (x's extent - 1) / (y's extent - 1); 0 where y's extent is 1. A scale is not used |
 * | ASYMMETRIC | j / r |
 *
 * With t = c - floor(c), y is a sum over what lies around c, the product of the weights of all dimensions being the
 * weight of an element. Elements outside of x are the nearest ones of x.
 *
 * | mode | elements | weights |
 * | --- | --- | --- |
 * | NEAREST | the one that c is rounded to: husk_resize_rounding | 1 |
 * | LINEAR | floor(c), floor(c) + 1 | 1 - t, t |
 * | CUBIC | floor(c) - 1 ... floor(c) + 2 | k(1 + t), k(t), k(1 - t), k(2 - t) |
 *
 *     k(d) = (a + 2) d^3 - (a + 3) d^2 + 1          d <= 1
 *     k(d) = a d^3 - 5 a d^2 + 8 a d - 4 a          1 < d < 2, with a = cubic_coefficient
 *
 * k is Keys' convolution kernel: Cubic convolution interpolation for digital image processing (IEEE Transactions on
 * Acoustics, Speech, and Signal Processing 29, 1981).
 *
 * Coordinates are ratios of whole numbers, and exact: no rounding decides which element is the nearest.
 *
 * ## PyTorch and ONNX
 *
 * This is ONNX's Resize (version 19), whose defaults are the defaults here, with the sizes of y's shape. Of it are not
 * here: antialias, exclude_outside, axes, tf_crop_and_resize, half_pixel_symmetric, and any other rank.
 *
 * | F.interpolate | here |
 * | --- | --- |
 * | nearest | NEAREST, ASYMMETRIC, FLOOR |
 * | nearest-exact | NEAREST, HALF_PIXEL, ROUND_PREFER_CEIL |
 * | linear, bilinear, trilinear, bicubic | LINEAR, CUBIC: HALF_PIXEL, or ALIGN_CORNERS with align_corners=True |
 * | scale_factor without recompute_scale_factor | scale |
 *
 * PyTorch computes coordinates in f32: where one is so near a boundary that rounding crosses it, it takes the other
 * element.
 */
#ifndef HUSK_OPS_RESIZE_H
#define HUSK_OPS_RESIZE_H

#include <husk/gradient.h>
#include <husk/ops/conv.h>

HUSK_BEGIN_DECLS

/** How elements are combined. The file's description has a table. */
typedef enum husk_resize_mode {
    HUSK_RESIZE_NEAREST = 0,
    HUSK_RESIZE_LINEAR = 1,
    HUSK_RESIZE_CUBIC = 2
} husk_resize_mode;

/** Where an element of y lies in x. The file's description has a table. */
typedef enum husk_resize_coordinates {
    HUSK_RESIZE_HALF_PIXEL = 0,
    HUSK_RESIZE_PYTORCH_HALF_PIXEL = 1,
    HUSK_RESIZE_ALIGN_CORNERS = 2,
    HUSK_RESIZE_ASYMMETRIC = 3
} husk_resize_coordinates;

/** What NEAREST makes of a coordinate that is no whole number. */
typedef enum husk_resize_rounding {
    HUSK_RESIZE_ROUND_PREFER_FLOOR = 0, /**< The nearest; the lower one in the middle. */
    HUSK_RESIZE_ROUND_PREFER_CEIL = 1,  /**< The nearest; the upper one in the middle. */
    HUSK_RESIZE_FLOOR = 2,              /**< The lower one. */
    HUSK_RESIZE_CEIL = 3                /**< The upper one. */
} husk_resize_rounding;

/** Options of husk_resize() and its gradient. */
typedef struct husk_resize_params {
    uint32_t size; /**< sizeof this struct; HUSK_RESIZE_PARAMS() sets it. */
    husk_resize_mode mode;
    husk_resize_coordinates coordinates;
    husk_resize_rounding rounding; /**< NEAREST only. */
    float cubic_coefficient;       /**< CUBIC only: a, from -1 to 0. 0: -0.75, as PyTorch and ONNX have it. */
    float scale[HUSK_MAX_SPACE]; /**< r, for each dimension of space; 0: what the extents give. */
    uint32_t accumulate;                /**< Gradient only: bits of husk_accumulate. */
    const char *variant;                /**< NULL: the library chooses. */
} husk_resize_params;

/** Makes a husk_resize_params; see husk/export.h. */
#define HUSK_RESIZE_PARAMS(...) HUSK_MAKE(husk_resize_params, __VA_ARGS__)

/**
 * Enqueue the resizing.
 *
 * - x and y have the same dtype, rank 3 to 5, the same N and C, and any strides. y does not overlap x.
 * - NEAREST copies bits, of any dtype. LINEAR and CUBIC take f32, f16, bf16 and f64, and compute in f32, or f64.
 * - A scale is positive. y's extents need not be what it makes of x's.
 * - A dimension without elements stays without elements. A zero-sized y does nothing.
 * - A dimension whose coordinates are its own positions is copied. Elsewhere an infinity or NaN makes y NaN or infinite
 *   also where its weight is 0.
 * - Extents and scales whose exact coordinates exceed 62 bits are refused as unsupported.
 *
 * @par Error
 * For a sum of n elements x with weights w; NEAREST is exact:
 *
 *     |error| <= (n + 4) 2^-24 sum |w x| + e 2^-24 sum |x|
 *
 * where the second part is what the rounding of weights costs: in s dimensions of space e is 3 s for LINEAR and 24 s
 * for CUBIC. The tests allow 4 + 2 sqrt n in place of n + 4 (docs/operators.md).
 */
HUSK_API husk_status husk_resize(husk_queue *queue, const husk_resize_params *params, const husk_tensor *x,
                                 const husk_tensor *y);

/**
 * Enqueue the gradient: dx[i] is the sum of w dy[j] over all elements j of y that read x[i], with their weights.
 *
 * - The order of a sum depends only on the shapes and options.
 * - dy and dx have one dtype (f32, f16, bf16, f64) and any strides. They do not overlap.
 * - An element of x that is not read has a gradient of 0.
 * - HUSK_ACCUMULATE_INPUTS adds to dx.
 *
 * The error is that of husk_resize(), of sums over dy; a sum of one term of weight 1 is exact.
 */
HUSK_API husk_status husk_resize_backward(husk_queue *queue, const husk_resize_params *params, const husk_tensor *dy,
                                          const husk_tensor *dx);

HUSK_END_DECLS

#endif
