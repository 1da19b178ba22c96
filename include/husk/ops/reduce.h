/* SPDX-License-Identifier: MIT */
/** @file
 * Reductions over any set of axes, and their gradients.
 *
 *     SUM          y = sum x
 *     MEAN         y = sum x / n
 *     PRODUCT      y = product x
 *     MAX, MIN     y = the largest, smallest x                 PyTorch's amax, amin; ONNX's ReduceMax, ReduceMin
 *     ARGMAX       y = the position of the first largest x
 *     ARGMIN       y = the position of the first smallest x
 *     SUM_ABS      y = sum |x|                                 ONNX's ReduceL1
 *     NORM         y = sqrt(sum x^2)                           PyTorch's norm, ONNX's ReduceL2
 *     LOG_SUM_EXP  y = log(sum e^x)                            without overflow: the largest x is taken out first
 *
 * n is the number of elements that are reduced to one.
 *
 * ## Tensors
 *
 * | tensor | shape | dtype |
 * | --- | --- | --- |
 * | x | rank 0 to 8 | f32, f16 or bf16, computed in f32; or f64 |
 * | y | x's, with 1 for every reduced dimension or without these dimensions | x's; for ARGMAX and ARGMIN i32 or i64 |
 *
 * - params.axes names the dimensions in any order: 0 is the first, -1 the last (husk/tensor.h). Without any, the
 *   default, all dimensions are reduced.
 * - PyTorch's keepdim and ONNX's keepdims say whether reduced dimensions stay. Here the shape of y says it.
 * - Any strides. y must not overlap x.
 * - ARGMAX and ARGMIN give the row-major position within the reduced dimensions: over one axis the index along it, over
 *   all of them PyTorch's argmax without `dim`.
 *
 * ## Special values
 *
 * - Of equal values the first counts.
 * - A NaN is the largest and the smallest value, as in PyTorch. MAX and MIN give NaN; ARGMAX and ARGMIN give the first
 *   one. ONNX leaves this open. For the other kinds NaN gives NaN.
 * - LOG_SUM_EXP of only -infinity is -infinity. With a +infinity it is +infinity.
 * - n = 1 and rank 0 are legal.
 *
 * For n = 0:
 *
 * | kind | y |
 * | --- | --- |
 * | SUM, SUM_ABS, NORM | 0 |
 * | PRODUCT | 1 |
 * | MEAN | NaN |
 * | LOG_SUM_EXP | -infinity |
 * | MAX, MIN, ARGMAX, ARGMIN | refused, unless y is empty too |
 *
 * ## Error
 *
 * Sums are formed in a fixed order. It depends on shape, strides, variant and the device's vectors, but not on the
 * number of threads. Blocks of at most 1,024 elements of a row are summed in lanes, and each lane adds at most 64 of
 * them one after the other. The sums of the blocks are added with their rounding errors carried along. So, whatever n
 * is:
 *
 *     SUM, SUM_ABS   |error| <= 80 * 2^-24 * sum |x|
 *     MEAN           |error| <= 80 * 2^-24 * sum |x| / n + 5 * 2^-24 |y|      OpenCL allows a division 2.5 ulp
 *     NORM           |error| <= 46 * 2^-24 * y                                OpenCL allows a root 3 ulp
 *
 * The tests use a bound that is smaller for small n and grows as errors of random signs do:
 *
 *     SUM, SUM_ABS   (4 + 2 sqrt n) * 2^-24 * sum |x|
 *     MEAN           that of SUM / n + 2^-24 |y|
 *     NORM           (8 + 2 sqrt n) * 2^-24 * y
 *
 * The other kinds:
 *
 *     PRODUCT        |error| <= (4 + 2 sqrt n) * 2^-24 * |y|      while no partial product leaves f32's range
 *     LOG_SUM_EXP    |error| <= (16 + 2 sqrt n) * 2^-24 * max(1, y - largest x) + 2 * 2^-24 |y|
 *     others         exact
 *
 * f16 and bf16 results are rounded once more. In f64, 2^-53 replaces 2^-24. Squares are not scaled: NORM overflows past
 * 1.8e19 and loses numbers below 1e-19.
 */
#ifndef HUSK_OPS_REDUCE_H
#define HUSK_OPS_REDUCE_H

#include <husk/gradient.h>

HUSK_BEGIN_DECLS

/** Every kind: name, number, text. */
#define HUSK_REDUCE_LIST(X)                                                                         \
    X(SUM, 0, "sum")                                                                                \
    X(MEAN, 1, "mean")                                                                              \
    X(PRODUCT, 2, "product")                                                                        \
    X(MAX, 3, "max")                                                                                \
    X(MIN, 4, "min")                                                                                \
    X(ARGMAX, 5, "argmax")                                                                          \
    X(ARGMIN, 6, "argmin")                                                                          \
    X(SUM_ABS, 7, "sum_abs")                                                                        \
    X(NORM, 8, "norm")                                                                              \
    X(LOG_SUM_EXP, 9, "log_sum_exp")

/** The kinds. The file's description has their formulas. */
typedef enum husk_reduce_kind {
#define HUSK_REDUCE_ENUM(name, number, text) HUSK_REDUCE_##name = number,
    HUSK_REDUCE_LIST(HUSK_REDUCE_ENUM)
#undef HUSK_REDUCE_ENUM
} husk_reduce_kind;

/** A kind's name, such as "sum"; "unknown" for any other number. */
HUSK_API const char *husk_reduce_kind_name(husk_reduce_kind kind);

/** Options of husk_reduce() and its gradient. */
typedef struct husk_reduce_params {
    uint32_t size; /**< sizeof this struct; HUSK_REDUCE_PARAMS() sets it. */
    husk_reduce_kind kind;
    int32_t axis_count;          /**< How many of `axes` count; 0: all dimensions are reduced. */
    int32_t axes[HUSK_MAX_RANK]; /**< No two may name the same dimension. */
    uint32_t accumulate;         /**< Gradient only: bits of husk_accumulate. */
    const char *variant;         /**< NULL: the library chooses. */
} husk_reduce_params;

/** Makes a husk_reduce_params; see husk/export.h. */
#define HUSK_REDUCE_PARAMS(...) HUSK_MAKE(husk_reduce_params, __VA_ARGS__)

/** Enqueue the reduction. */
HUSK_API husk_status husk_reduce(husk_queue *queue, const husk_reduce_params *params, const husk_tensor *x,
                                 const husk_tensor *y);

/**
 * Enqueue the gradient. dy is the gradient of y. The results are PyTorch's, unless noted.
 *
 *     SUM          dx = dy
 *     MEAN         dx = dy / n
 *     PRODUCT      dx = dy * product of the other elements
 *     MAX, MIN     dx = dy / m at the m elements that are equal to y, 0 elsewhere; NaN throughout where y is NaN
 *     SUM_ABS      dx = dy * sign(x), 0 where x is 0 or NaN
 *     NORM         dx = dy * x / y, 0 where y is 0
 *     LOG_SUM_EXP  dx = dy * e^(x - y)
 *
 * ARGMAX and ARGMIN have no gradient.
 *
 * - MAX and MIN are as PyTorch's amax and amin, and its max and min over all elements. PyTorch's max over one dimension
 *   gives all of dy to the first element instead.
 * - PRODUCT is computed as dy y / x. Where one element is zero, it is computed exactly; a zero beside NaN or infinity
 *   gives 0 or NaN. Where the whole product, or dy times it, leaves the range, dx is 0 or infinite, even if the product
 *   of the other elements would not.
 *
 * @par Tensors
 * - dx has x's shape and dtype, and any strides. It may be x itself; it must not overlap y or dy.
 * - dy has y's shape, with or without the reduced dimensions, and any strides.
 * - SUM and MEAN read neither x nor y; both may be NULL. Only NORM and LOG_SUM_EXP read y; elsewhere it may be NULL.
 *
 * @par Error
 * With u = 2^-24:
 *
 *     MAX, MIN, NORM   8 u |dx|
 *     PRODUCT          (8 + 2 sqrt n) u |dx|
 *     LOG_SUM_EXP      (8 + |x - y|) u |dx|
 *     others           4 u |dx|
 *
 * Adding to dx costs 2 u (|dx before| + |gradient|) more.
 */
HUSK_API husk_status husk_reduce_backward(husk_queue *queue, const husk_reduce_params *params, const husk_tensor *x,
                                          const husk_tensor *y, const husk_tensor *dy, const husk_tensor *dx);

HUSK_END_DECLS

#endif
