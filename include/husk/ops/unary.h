/* SPDX-License-Identifier: MIT */
/*
 * husk/ops/unary.h: functions of one number, element by element. Activations have an operator of their own
 * (husk/ops/activation.h).
 *
 *     NEGATE      y = -x                      SQRT     y = sqrt x          EXP     y = e^x
 *     ABSOLUTE    y = |x|                     RSQRT    y = 1 / sqrt x      EXPM1   y = e^x - 1
 *     SIGN        y = -1, 0, 1                FLOOR    downwards           LOG     y = ln x
 *     SQUARE      y = x x                     CEIL     upwards             LOG1P   y = ln(1 + x)
 *     RECIPROCAL  y = 1 / x                   ROUND    half to even        SIN, COS
 *     CLAMP       y = min(max(x, low), high)  POWER    y = x^exponent, as C's pow
 *
 * NaN gives NaN, but SIGN(NaN) = 0 as in PyTorch and POWER with exponent 0 is 1. These are PyTorch's and ONNX's
 * definitions (CLAMP: ONNX's Clip; where low > high, y = high), but for POWER of -infinity with exponents -1/2 and 1/2:
 * 0 and infinity here, as C's pow and ONNX's Pow, while PyTorch takes a root there and gives NaN.
 */
#ifndef HUSK_OPS_UNARY_H
#define HUSK_OPS_UNARY_H

#include <husk/gradient.h>

HUSK_BEGIN_DECLS

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

typedef enum husk_unary_op {
#define HUSK_UNARY_ENUM(name, number, text) HUSK_UNARY_##name = number,
    HUSK_UNARY_LIST(HUSK_UNARY_ENUM)
#undef HUSK_UNARY_ENUM
} husk_unary_op;

/* "negate" ...; "unknown" for a number that is none. */
HUSK_API const char *husk_unary_name(husk_unary_op op);

typedef struct husk_unary_params {
    uint32_t size;       /* sizeof this struct: HUSK_UNARY_PARAMS sets it */
    husk_unary_op op;
    float low, high;     /* CLAMP alone, as they are; infinity for none, not NaN */
    float exponent;      /* POWER alone, as it is */
    uint32_t accumulate; /* husk_accumulate's bits, for the gradient alone */
    const char *variant; /* NULL: chosen */
} husk_unary_params;

#define HUSK_UNARY_PARAMS(...) HUSK_MAKE(husk_unary_params, __VA_ARGS__)

/*
 * x and y: one shape, one dtype (f32, f16, bf16, f64), any strides; y may be x itself, otherwise they must not
 * overlap. A zero-sized tensor does nothing. |error| <= 8 * 2^-24 * |y|, POWER 32 * 2^-24 * |y|: what OpenCL allows
 * its functions (4 ulp and 16 ulp); RSQRT 10 * 2^-24 * |y|, a root's 3 ulp and a division's 2.5. NEGATE, ABSOLUTE,
 * SIGN, FLOOR, CEIL, ROUND and CLAMP are exact. What is below 2^-126 may count as zero. In f16 and bf16 half a unit in
 * the last place beside that.
 */
HUSK_API husk_status husk_unary(husk_queue *queue, const husk_unary_params *params, const husk_tensor *x,
                                const husk_tensor *y);

/*
 * dx = dy * f'(x), from what forward read (x), what it wrote (y), or either: one of them may be NULL.
 *
 *     x    every kind
 *     y    NEGATE, SIGN, FLOOR, CEIL, ROUND (which need neither), RECIPROCAL, SQRT, RSQRT, EXP, EXPM1. Where both are
 *          given, y is read for these and x for the others.
 *
 * As PyTorch: SIGN, FLOOR, CEIL and ROUND have the gradient 0; ABSOLUTE dy * SIGN(x); CLAMP dy where
 * low <= x <= high, else 0; POWER dy * exponent * x^(exponent - 1), with exponent 0 the gradient 0
 * (of -infinity with exponents 1/2 and 3/2 PyTorch gives NaN, as above).
 *
 * All tensors: one shape, one dtype (f32, f16, bf16, f64), any strides; dx may be dy itself, x or y, otherwise dx must
 * not overlap them. accumulate: HUSK_ACCUMULATE_INPUTS adds to dx. |error| <= 16 * 2^-24 * |dx|, RSQRT 32, POWER
 * 40 + |exponent - 1| |ln |x||: a function's own and the products' roundings, and that of exponent - 1.
 */
HUSK_API husk_status husk_unary_backward(husk_queue *queue, const husk_unary_params *params, const husk_tensor *x,
                                         const husk_tensor *y, const husk_tensor *dy, const husk_tensor *dx);

HUSK_END_DECLS

#endif
