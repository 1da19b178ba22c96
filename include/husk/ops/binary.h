/* SPDX-License-Identifier: MIT */
/*
 * husk/ops/binary.h: two tensors, element by element, with broadcasting.
 *
 *     ADD             y = alpha a + beta b
 *     SUBTRACT        y = alpha a - beta b
 *     MULTIPLY        y = alpha a b
 *     DIVIDE          y = alpha a / b
 *     MAXIMUM         y = max(a, b)        NaN if either is NaN
 *     MINIMUM         y = min(a, b)        NaN if either is NaN
 *     POWER           y = a^b              as C's pow
 *     EQUAL ... GREATER_EQUAL   y = 1 where a == b, a != b, a < b, a <= b, a > b, a >= b; else 0
 *
 * These are PyTorch's and ONNX's operators (beta is the alpha of PyTorch's add and sub); a comparison answers in the
 * inputs' dtype.
 *
 * Shapes broadcast as in NumPy, PyTorch and ONNX: aligned at the last dimension, dimensions of 1 (or none) are
 * repeated. y has the broadcast shape.
 */
#ifndef HUSK_OPS_BINARY_H
#define HUSK_OPS_BINARY_H

#include <husk/gradient.h>

HUSK_BEGIN_DECLS

#define HUSK_BINARY_LIST(X)                                                                         \
    X(ADD, 0, "add")                                                                                \
    X(SUBTRACT, 1, "subtract")                                                                      \
    X(MULTIPLY, 2, "multiply")                                                                      \
    X(DIVIDE, 3, "divide")                                                                          \
    X(MAXIMUM, 4, "maximum")                                                                        \
    X(MINIMUM, 5, "minimum")                                                                        \
    X(POWER, 6, "power")                                                                            \
    X(EQUAL, 7, "equal")                                                                            \
    X(NOT_EQUAL, 8, "not_equal")                                                                    \
    X(LESS, 9, "less")                                                                              \
    X(LESS_EQUAL, 10, "less_equal")                                                                 \
    X(GREATER, 11, "greater")                                                                       \
    X(GREATER_EQUAL, 12, "greater_equal")

typedef enum husk_binary_op {
#define HUSK_BINARY_ENUM(name, number, text) HUSK_BINARY_##name = number,
    HUSK_BINARY_LIST(HUSK_BINARY_ENUM)
#undef HUSK_BINARY_ENUM
} husk_binary_op;

/* "add" ...; "unknown" for a number that is none. */
HUSK_API const char *husk_binary_name(husk_binary_op op);

typedef struct husk_binary_params {
    uint32_t size; /* sizeof this struct: husk_binary_defaults sets it */
    husk_binary_op op;
    float alpha, beta;   /* for the kinds above that have them: finite, 0 included */
    uint32_t accumulate; /* husk_accumulate's bits, for the gradient alone */
    const char *variant; /* NULL: chosen */
} husk_binary_params;

/* To be changed afterwards: alpha and beta 1, all else 0. NULL params are those of ADD. */
static inline husk_binary_params husk_binary_defaults(husk_binary_op op)
{
    husk_binary_params made = HUSK_ZEROS;
    made.size = (uint32_t)sizeof made;
    made.op = op;
    made.alpha = made.beta = 1;
    return made;
}

/*
 * All tensors: one dtype (f32, f16, bf16, f64), any strides, rank 0 to 8; y may be a or b itself where that has y's
 * shape, otherwise y must not overlap them. A zero-sized y does nothing. MULTIPLY and DIVIDE compute a b and a / b
 * before alpha: where that leaves the range y is infinite, or loses what is below. |error| in units of 2^-24, one for
 * each rounding: ADD and SUBTRACT 3 (|alpha a| + |beta b|), MULTIPLY 2 |y|, DIVIDE 7 |y| and POWER 32 |y| (OpenCL
 * allows the division 2.5 ulp, pow 16); the others are exact. What is below 2^-126 may count as zero. In f16 and bf16
 * half a unit in the last place beside that.
 */
HUSK_API husk_status husk_binary(husk_queue *queue, const husk_binary_params *params, const husk_tensor *a,
                                 const husk_tensor *b, const husk_tensor *y);

/*
 * The gradients by a and by b (either may be NULL: it is not wanted), each summed over the dimensions in which its
 * input was broadcast, in an order that the shapes alone decide.
 *
 *     ADD, SUBTRACT      da = alpha dy, db = beta dy or -beta dy; a and b are not read and may be NULL
 *     MULTIPLY           da = alpha dy b, db = alpha dy a
 *     DIVIDE             da = alpha dy / b, db = -alpha dy a / b^2
 *     MAXIMUM, MINIMUM   dy goes to the one taken, half to each where they are equal; all to both beside a NaN
 *     POWER              da = dy b a^(b - 1), 0 where b = 0; db = dy a^b ln a, 0 where a = 0 <= b
 *
 * as PyTorch has them. Comparisons have no gradient. db of DIVIDE is made of dy / b and a / b, those of MULTIPLY of dy
 * b and dy a, before alpha: where one of these leaves the range, so does the gradient.
 *
 * dy has the broadcast shape; a, b, da, db are of shapes that broadcast to it, da and db as a and b. All have one dtype
 * (f32, f16, bf16, f64) and any strides. da and db overlap nothing. accumulate: HUSK_ACCUMULATE_INPUTS adds to both. A
 * sum without terms is 0. |error| of a term, in units of 2^-24 of its size: ADD and SUBTRACT 1, MULTIPLY 2, DIVIDE 16,
 * POWER 48 and, of da, |b - 1| |ln |a|| for rounding b - 1, else 0; of a sum of n terms beside that (n + 4) 2^-24
 * sum |terms|, of which tests allow 4 + 2 sqrt n (docs/operators.md).
 */
HUSK_API husk_status husk_binary_backward(husk_queue *queue, const husk_binary_params *params, const husk_tensor *a,
                                          const husk_tensor *b, const husk_tensor *dy, const husk_tensor *da,
                                          const husk_tensor *db);

HUSK_END_DECLS

#endif
