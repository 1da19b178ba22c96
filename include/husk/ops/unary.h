/* SPDX-License-Identifier: MIT */
/** @file
 * Functions of one number, element by element.
 *
 * Activations have an operator of their own; see husk/ops/activation.h.
 *
 *     NEGATE      y = -x                      SQRT     y = sqrt x          EXP     y = e^x
 *     ABSOLUTE    y = |x|                     RSQRT    y = 1 / sqrt x      EXPM1   y = e^x - 1
 *     SIGN        y = -1, 0, 1                FLOOR    downwards           LOG     y = ln x
 *     SQUARE      y = x x                     CEIL     upwards             LOG1P   y = ln(1 + x)
 *     RECIPROCAL  y = 1 / x                   ROUND    half to even        SIN, COS
 *     CLAMP       y = min(max(x, low), high)  POWER    y = x^exponent, as C's pow
 *
 * NaN gives NaN, with two exceptions: SIGN(NaN) is 0 as in PyTorch, and POWER with exponent 0 is 1.
 *
 * ## PyTorch and ONNX
 *
 * The definitions are those of PyTorch and ONNX. CLAMP is ONNX's Clip; where low > high, y = high.
 *
 * One case differs from PyTorch: POWER of -infinity with the exponents -1/2 and 1/2 is 0 and infinity, as with C's pow
 * and ONNX's Pow. PyTorch takes a root there and gives NaN.
 */
#ifndef HUSK_OPS_UNARY_H
#define HUSK_OPS_UNARY_H

#include <husk/gradient.h>

HUSK_BEGIN_DECLS

/** Every kind: name, number, text. */
#define HUSK_UNARY_LIST(X)                                                                          \
    X(NEGATE, 0, "negate")                                                                          \
    X(ABSOLUTE, 1, "absolute")                                                                      \
    X(SIGN, 2, "sign")                                                                              \
    X(SQUARE, 3, "square")                                                                          \
    X(RECIPROCAL, 4, "reciprocal")                                                                  \
    X(SQRT, 5, "sqrt")                                                                              \
    X(RSQRT, 6, "rsqrt")                                                                            \
    X(FLOOR, 7, "floor")                                                                            \
    X(CEIL, 8, "ceil")                                                                              \
    X(ROUND, 9, "round")                                                                            \
    X(CLAMP, 10, "clamp")                                                                           \
    X(EXP, 11, "exp")                                                                               \
    X(EXPM1, 12, "expm1")                                                                           \
    X(LOG, 13, "log")                                                                               \
    X(LOG1P, 14, "log1p")                                                                           \
    X(SIN, 15, "sin")                                                                               \
    X(COS, 16, "cos")                                                                               \
    X(POWER, 17, "power")

/** The kinds. The file's description has their formulas. */
typedef enum husk_unary_op {
#define HUSK_UNARY_ENUM(name, number, text) HUSK_UNARY_##name = number,
    HUSK_UNARY_LIST(HUSK_UNARY_ENUM)
#undef HUSK_UNARY_ENUM
} husk_unary_op;

/** A kind's name, such as "negate"; "unknown" for any other number. */
HUSK_API const char *husk_unary_name(husk_unary_op op);

/** Options of husk_unary() and its gradient. */
typedef struct husk_unary_params {
    uint32_t size;       /**< sizeof this struct; HUSK_UNARY_PARAMS() sets it. */
    husk_unary_op op;
    float low,           /**< CLAMP only. Taken as it is, also 0; -infinity for no bound; not NaN. */
        high;            /**< CLAMP only. Taken as it is, also 0; infinity for no bound; not NaN. */
    float exponent;      /**< POWER only. Taken as it is, also 0. */
    uint32_t accumulate; /**< Gradient only: bits of husk_accumulate. */
    const char *variant; /**< NULL: the library chooses. */
} husk_unary_params;

/** Makes a husk_unary_params; see husk/export.h. */
#define HUSK_UNARY_PARAMS(...) HUSK_MAKE(husk_unary_params, __VA_ARGS__)

/**
 * Enqueue y = f(x).
 *
 * - x and y have one shape, one dtype (f32, f16, bf16, f64) and any strides.
 * - y may be x itself; otherwise they must not overlap.
 * - A zero-sized tensor does nothing.
 *
 * @par Error
 * The bounds are what OpenCL allows its functions: 4 ulp, pow 16 ulp; for RSQRT a root's 3 ulp and a division's 2.5.
 *
 *     NEGATE, ABSOLUTE, SIGN, FLOOR, CEIL, ROUND, CLAMP   exact
 *     POWER                                               |error| <= 32 * 2^-24 * |y|
 *     RSQRT                                               |error| <= 10 * 2^-24 * |y|
 *     others                                              |error| <= 8 * 2^-24 * |y|
 *
 * Numbers below 2^-126 may count as zero. f16 and bf16 add half a unit in the last place.
 */
HUSK_API husk_status husk_unary(husk_queue *queue, const husk_unary_params *params, const husk_tensor *x,
                                const husk_tensor *y);

/**
 * Enqueue the gradient dx = dy * f'(x).
 *
 * It is computed from what forward read (x), from what it wrote (y), or from either. One of them may be NULL:
 *
 * | given | kinds |
 * | --- | --- |
 * | x | all |
 * | y | RECIPROCAL, SQRT, RSQRT, EXP, EXPM1; also NEGATE, SIGN, FLOOR, CEIL, ROUND, which need neither |
 * | x and y | y is read for the kinds of the previous row, x for the others |
 *
 * These kinds are as in PyTorch:
 *
 *     SIGN, FLOOR, CEIL, ROUND   0
 *     ABSOLUTE                   dy * SIGN(x)
 *     CLAMP                      dy where low <= x <= high, else 0
 *     POWER                      dy * exponent * x^(exponent - 1); 0 with exponent 0
 *
 * For POWER of -infinity with the exponents 1/2 and 3/2 PyTorch gives NaN, for the same reason as forward.
 *
 * - All tensors have one shape, one dtype (f32, f16, bf16, f64) and any strides.
 * - dx may be dy, x or y itself; otherwise it must not overlap them.
 * - HUSK_ACCUMULATE_INPUTS adds to dx.
 *
 * @par Error
 * It comes from the function itself and from the roundings of the products and of exponent - 1.
 *
 *     POWER    |error| <= (40 + |exponent - 1| |ln |x||) * 2^-24 * |dx|
 *     RSQRT    |error| <= 32 * 2^-24 * |dx|
 *     others   |error| <= 16 * 2^-24 * |dx|
 */
HUSK_API husk_status husk_unary_backward(husk_queue *queue, const husk_unary_params *params, const husk_tensor *x,
                                         const husk_tensor *y, const husk_tensor *dy, const husk_tensor *dx);

HUSK_END_DECLS

#endif
