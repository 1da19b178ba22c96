/* SPDX-License-Identifier: MIT */
/** @file
 * Functions of two tensors, element by element, with broadcasting.
 *
 *     ADD             y = alpha a + beta b
 *     SUBTRACT        y = alpha a - beta b
 *     MULTIPLY        y = alpha a b
 *     DIVIDE          y = alpha a / b
 *     MAXIMUM         y = max(a, b)        NaN if either is NaN
 *     MINIMUM         y = min(a, b)        NaN if either is NaN
 *     POWER           y = a^b              as C's pow
 *     EQUAL           y = 1 where a == b, else 0
 *     NOT_EQUAL       y = 1 where a != b, else 0
 *     LESS            y = 1 where a < b, else 0
 *     LESS_EQUAL      y = 1 where a <= b, else 0
 *     GREATER         y = 1 where a > b, else 0
 *     GREATER_EQUAL   y = 1 where a >= b, else 0
 *
 * These are the operators of PyTorch and ONNX. beta is the `alpha` of PyTorch's add and sub. Unlike there, a comparison
 * gives its result in the dtype of the inputs.
 *
 * ## Broadcasting
 *
 * Shapes broadcast as in NumPy, PyTorch and ONNX: they are aligned at the last dimension, and dimensions of 1, or
 * missing ones, are repeated. y has the broadcast shape.
 */
#ifndef HUSK_OPS_BINARY_H
#define HUSK_OPS_BINARY_H

#include <husk/gradient.h>

HUSK_BEGIN_DECLS

/** Every kind: name, number, text. */
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

/** The kinds. The file's description has their formulas. */
typedef enum husk_binary_op {
#define HUSK_BINARY_ENUM(name, number, text) HUSK_BINARY_##name = number,
    HUSK_BINARY_LIST(HUSK_BINARY_ENUM)
#undef HUSK_BINARY_ENUM
} husk_binary_op;

/** A kind's name, such as "add"; "unknown" for any other number. */
HUSK_API const char *husk_binary_name(husk_binary_op op);

/** Options of husk_binary() and its gradient. */
typedef struct husk_binary_params {
    uint32_t size; /**< sizeof this struct; husk_binary_defaults() sets it. */
    husk_binary_op op;
    float alpha, /**< For the kinds whose formula has it. Finite; 0 is taken as it is. */
        beta;    /**< Likewise. */
    uint32_t accumulate; /**< Gradient only: bits of husk_accumulate. */
    const char *variant; /**< NULL: the library chooses. */
} husk_binary_params;

/** The defaults, to be changed afterwards: alpha and beta are 1, all else is 0. NULL params mean those of ADD. */
static inline husk_binary_params husk_binary_defaults(husk_binary_op op)
{
    husk_binary_params made = HUSK_ZEROS;
    made.size = (uint32_t)sizeof made;
    made.op = op;
    made.alpha = made.beta = 1;
    return made;
}

/**
 * Enqueue y = op(a, b).
 *
 * - All tensors have one dtype (f32, f16, bf16, f64), any strides, and rank 0 to 8.
 * - y may be a or b itself if that has y's shape; otherwise y must not overlap them.
 * - A zero-sized y does nothing.
 * - MULTIPLY and DIVIDE compute a b and a / b before they multiply with alpha. If that intermediate result overflows, y
 *   is infinite; if it underflows, y loses what is below the range.
 *
 * @par Error
 * In units of 2^-24, one for each rounding. OpenCL allows the division 2.5 ulp and pow 16 ulp.
 *
 *     ADD, SUBTRACT   |error| <= 3 (|alpha a| + |beta b|)
 *     MULTIPLY        |error| <= 2 |y|
 *     DIVIDE          |error| <= 7 |y|
 *     POWER           |error| <= 32 |y|
 *     others          exact
 *
 * Numbers below 2^-126 may count as zero. f16 and bf16 add half a unit in the last place.
 */
HUSK_API husk_status husk_binary(husk_queue *queue, const husk_binary_params *params, const husk_tensor *a,
                                 const husk_tensor *b, const husk_tensor *y);

/**
 * Enqueue the gradients by a and by b. Either may be NULL if it is not wanted.
 *
 *     ADD, SUBTRACT      da = alpha dy, db = beta dy or -beta dy
 *     MULTIPLY           da = alpha dy b, db = alpha dy a
 *     DIVIDE             da = alpha dy / b, db = -alpha dy a / b^2
 *     MAXIMUM, MINIMUM   dy goes to the input that was taken, half to each where they are equal;
 *                        beside a NaN all of it goes to both
 *     POWER              da = dy b a^(b - 1), 0 where b = 0; db = dy a^b ln a, 0 where a = 0 <= b
 *
 * The formulas are PyTorch's. Comparisons have no gradient. Each gradient is summed over the dimensions in which its
 * input was broadcast, in an order that depends only on the shapes. A sum without terms is 0.
 *
 * - ADD and SUBTRACT do not read a and b; both may be NULL.
 * - dy has the broadcast shape. a, b, da and db have shapes that broadcast to it; da has a's shape, db has b's.
 * - All tensors have one dtype (f32, f16, bf16, f64) and any strides.
 * - da and db overlap nothing.
 * - HUSK_ACCUMULATE_INPUTS adds to both.
 * - Intermediate results are computed before they are multiplied with alpha: dy b and dy a for MULTIPLY, dy / b and
 *   a / b for DIVIDE's db. Where one of them leaves the range, so does the gradient.
 *
 * @par Error
 * Of a term, in units of 2^-24 of its size:
 *
 *     ADD, SUBTRACT   1
 *     MULTIPLY        2
 *     DIVIDE          16
 *     POWER           48; da also |b - 1| |ln |a||, for the rounding of b - 1
 *     others          0
 *
 * A sum of n terms adds (n + 4) 2^-24 sum |terms|. The tests allow 4 + 2 sqrt n in place of n + 4 (docs/operators.md).
 */
HUSK_API husk_status husk_binary_backward(husk_queue *queue, const husk_binary_params *params, const husk_tensor *a,
                                          const husk_tensor *b, const husk_tensor *dy, const husk_tensor *da,
                                          const husk_tensor *db);

HUSK_END_DECLS

#endif
