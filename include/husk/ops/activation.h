/* SPDX-License-Identifier: MIT */
/** @file
 * Activations, as an operator and as the last step of other operators.
 *
 *     NONE        y = x
 *     RELU        y = max(x, 0)
 *     LEAKY_RELU  y = x for x >= 0, slope * x below
 *     RELU6       y = min(max(x, 0), 6)
 *     GELU        y = x * Phi(x) = x/2 * (1 + erf(x / sqrt 2))           arXiv 1606.08415
 *     GELU_TANH   y = x/2 * (1 + tanh(sqrt(2/pi) * (x + 0.044715 x^3)))  the same paper's approximation
 *     SILU        y = x * sigmoid(x)
 *     SIGMOID     y = 1 / (1 + e^-x)
 *     TANH        y = tanh(x)
 *
 * NaN gives NaN for every kind, RELU included.
 */
#ifndef HUSK_OPS_ACTIVATION_H
#define HUSK_OPS_ACTIVATION_H

#include <husk/gradient.h>

HUSK_BEGIN_DECLS

/** Every activation: name, number, text. */
#define HUSK_ACT_LIST(X)                                                                            \
    X(NONE, 0, "none")                                                                              \
    X(RELU, 1, "relu")                                                                              \
    X(LEAKY_RELU, 2, "leaky_relu")                                                                  \
    X(RELU6, 3, "relu6")                                                                            \
    X(GELU, 4, "gelu")                                                                              \
    X(GELU_TANH, 5, "gelu_tanh")                                                                    \
    X(SILU, 6, "silu")                                                                              \
    X(SIGMOID, 7, "sigmoid")                                                                        \
    X(TANH, 8, "tanh")

/** The activations. The file's description has their formulas. */
typedef enum husk_act {
#define HUSK_ACT_ENUM(name, number, text) HUSK_ACT_##name = number,
    HUSK_ACT_LIST(HUSK_ACT_ENUM)
#undef HUSK_ACT_ENUM
} husk_act;

/** An activation's name, such as "relu"; "unknown" for any other number. */
HUSK_API const char *husk_act_name(husk_act act);

/** Options of husk_activation() and its gradient. */
typedef struct husk_activation_params {
    uint32_t size;       /**< sizeof this struct; HUSK_ACTIVATION_PARAMS() sets it. */
    husk_act activation;
    float slope;         /**< LEAKY_RELU only. There is no default: PyTorch and ONNX use 0.01; 0 is RELU. */
    const char *variant; /**< NULL: the library chooses. */
    uint32_t accumulate; /**< Gradient only: bits of husk_accumulate. */
} husk_activation_params;

/** Makes a husk_activation_params; see husk/export.h. */
#define HUSK_ACTIVATION_PARAMS(...) HUSK_MAKE(husk_activation_params, __VA_ARGS__)

/**
 * Enqueue y = activation(x).
 *
 * - x and y have the same shape and dtype (f32, f16, bf16, f64) and any strides.
 * - y may be x itself; otherwise they must not overlap.
 * - f16 and bf16 are computed in f32 and rounded to nearest.
 *
 * @par Error
 * The piecewise linear kinds are exact, except for the product with the slope. For the others, with u = 2^-24 and
 * t = 2^-126 max(1, |x|) for denormals that become zero:
 *
 *     SIGMOID, TANH, SILU   |error| <= 8 u |y| + t
 *     GELU_TANH             |error| <= 16 u |x| + 4 |z| u |y| + t,   z = 1.6 |x| (1 + 0.045 x^2), at most 104
 *     GELU                  |error| <= 16 u |x| + t, since OpenCL allows erf 16 ulp of 1
 *
 * f16 and bf16 add half a unit in the last place of y.
 *
 * Signs are kept: for x below zero, no smooth kind except SIGMOID gives a positive y; for x above zero, none gives a
 * negative y.
 */
HUSK_API husk_status husk_activation(husk_queue *queue, const husk_activation_params *params, const husk_tensor *x,
                                     const husk_tensor *y);

/**
 * Enqueue the gradient dx = dy * activation'(x).
 *
 * It is computed from what forward read (x), from what it wrote (y), or from either. One of them may be NULL:
 *
 * | given | kinds |
 * | --- | --- |
 * | x | all |
 * | y | NONE, RELU, LEAKY_RELU with a slope >= 0, RELU6, SIGMOID, TANH: the kinds that PyTorch computes in place |
 * | x and y | y is read for the kinds of the previous row, x for the others |
 *
 * - All tensors have one shape and one dtype (f32, f16, bf16, f64), and any strides.
 * - dx may be dy, x or y itself; otherwise it must not overlap them.
 * - HUSK_ACCUMULATE_INPUTS adds to dx.
 * - A zero-sized tensor does nothing.
 *
 * @par Kinks, NaN and infinity
 * Kinks and NaN are as in PyTorch:
 * - At kinks, the derivative of RELU is 0 at 0, of RELU6 0 at 0 and 6, and of LEAKY_RELU the slope at 0.
 * - For an x of NaN, RELU and RELU6 give dy, LEAKY_RELU gives slope * dy, and the smooth kinds give NaN.
 *
 * @par
 * At infinities derivatives are their limits, 0 and 1. PyTorch's GELU, GELU_TANH and SILU give NaN there.
 *
 * @par Error
 * The piecewise linear kinds are exact, except for the product with the slope. The smooth kinds, whose derivatives are
 * at most 1.13:
 *
 *     |error| <= 8 * 2^-24 * |dy|       GELU and GELU_TANH: 16 in place of 8
 *
 * These are the roundings of the intermediate values in the formula, and what OpenCL allows erf. f16 and bf16 add half
 * a unit in the last place.
 */
HUSK_API husk_status husk_activation_backward(husk_queue *queue, const husk_activation_params *params,
                                              const husk_tensor *x, const husk_tensor *y, const husk_tensor *dy,
                                              const husk_tensor *dx);

HUSK_END_DECLS

#endif
