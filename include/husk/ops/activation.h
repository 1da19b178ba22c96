/* SPDX-License-Identifier: MIT */
/*
 * husk/ops/activation.h: activations, alone; and their names as the last step of other operators.
 *
 *     NONE        y = x
 *     RELU        y = max(x, 0)
 *     LEAKY_RELU  y = x for x >= 0, slope * x below
 *     RELU6       y = min(max(x, 0), 6)
 *     GELU        y = x * Phi(x) = x/2 * (1 + erf(x / sqrt 2))         arXiv 1606.08415
 *     GELU_TANH   y = x/2 * (1 + tanh(sqrt(2/pi) * (x + 0.044715 x^3)))  the same paper's approximation
 *     SILU        y = x * sigmoid(x)
 *     SIGMOID     y = 1 / (1 + e^-x)
 *     TANH        y = tanh(x)
 *
 * NaN gives NaN everywhere, ReLU included.
 */
#ifndef HUSK_OPS_ACTIVATION_H
#define HUSK_OPS_ACTIVATION_H

#include <husk/gradient.h>

HUSK_BEGIN_DECLS

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

typedef enum husk_act {
#define HUSK_ACT_ENUM(name, number, text) HUSK_ACT_##name = number,
    HUSK_ACT_LIST(HUSK_ACT_ENUM)
#undef HUSK_ACT_ENUM
} husk_act;

/* "relu" ...; "unknown" for a number that is no activation. */
HUSK_API const char *husk_act_name(husk_act act);

typedef struct husk_activation_params {
    uint32_t size;       /* sizeof this struct: HUSK_ACTIVATION_PARAMS sets it */
    husk_act activation;
    float slope;         /* LEAKY_RELU alone, which has no default: PyTorch's and ONNX's is 0.01, 0 is RELU */
    const char *variant; /* NULL: chosen */
    uint32_t accumulate; /* husk_accumulate's bits, for the gradient alone */
} husk_activation_params;

#define HUSK_ACTIVATION_PARAMS(...) HUSK_MAKE(husk_activation_params, __VA_ARGS__)

/*
 * y = activation(x). x and y: the same shape and dtype (f32, f16, bf16, f64), any strides; y may be x itself, otherwise
 * they must not overlap. What is stored as f16 or bf16 is computed in f32 and rounded to nearest.
 * The piecewise linear kinds are exact but for the product with the slope. With u = 2^-24
 *     SIGMOID, TANH, SILU   |error| <= 8 u |y| + t
 *     GELU_TANH             |error| <= 16 u |x| + 4 |z| u |y| + t,   z = 1.6 |x| (1 + 0.045 x^2), at most 104
 *     GELU                  |error| <= 16 u |x| + t, since OpenCL allows erf 16 ulp of 1
 * t = 2^-126 max(1, |x|), for denormals that become zero. Signs are kept: below zero no smooth kind but SIGMOID is
 * positive, above it none is negative. In f16 and bf16 half a unit in the last place of y beside that.
 */
HUSK_API husk_status husk_activation(husk_queue *queue, const husk_activation_params *params,
                                     const husk_tensor *x, const husk_tensor *y);

/*
 * dx = dy * activation'(x), from what forward read (x), what it wrote (y), or either: one of them may be NULL.
 *
 *     x    every kind
 *     y    NONE, RELU, LEAKY_RELU with a slope >= 0, RELU6, SIGMOID, TANH: the kinds that PyTorch computes in place.
 *          Where both are given, y is read for these and x for the others.
 *
 * At kinks and for NaN as PyTorch: RELU and RELU6 have derivative 0 at 0 and 6, LEAKY_RELU the slope at 0; of a NaN
 * RELU and RELU6 pass dy on, LEAKY_RELU slope * dy, the smooth kinds give NaN. At infinities, where PyTorch's GELU,
 * GELU_TANH and SILU give NaN, derivatives are their limits, 0 and 1.
 *
 * All tensors: one shape, one dtype (f32, f16, bf16, f64), any strides; dx may be dy itself, x or y, otherwise dx must
 * not overlap them. accumulate: HUSK_ACCUMULATE_INPUTS adds to dx. A zero-sized tensor does nothing. The piecewise
 * linear kinds are exact but for the product with the slope. The smooth ones: |error| <= 8 * 2^-24 * |dy| (GELU and
 * GELU_TANH 16), derivatives being at most 1.13: as many roundings of intermediate values as in the formula, and what
 * OpenCL allows erf; in f16 and bf16 half a unit in the last place beside that.
 */
HUSK_API husk_status husk_activation_backward(husk_queue *queue, const husk_activation_params *params,
                                              const husk_tensor *x, const husk_tensor *y, const husk_tensor *dy,
                                              const husk_tensor *dx);

HUSK_END_DECLS

#endif
