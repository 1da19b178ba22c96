/* SPDX-License-Identifier: MIT */
/*
 * husk/ops/reduce.h: reductions over any set of axes, and their gradients.
 *
 *     SUM          y = sum x
 *     MEAN         y = sum x / n
 *     PRODUCT      y = product x
 *     MAX, MIN     y = the largest, smallest x                 PyTorch's amax, amin; ONNX's ReduceMax, ReduceMin
 *     ARGMAX ...   y = the position of the first largest x
 *     ARGMIN           ... of the first smallest x
 *     SUM_ABS      y = sum |x|                                 ONNX's ReduceL1
 *     NORM         y = sqrt(sum x^2)                           PyTorch's norm, ONNX's ReduceL2
 *     LOG_SUM_EXP  y = log(sum e^x)                            without overflow: the largest x is taken out first
 *
 * params.axes says which dimensions, in any order: 0 is the first, -1 the last (husk/tensor.h). Without any, the
 * default, all are. n is the number of elements reduced to one.
 *
 * x: f32, f16 or bf16 (computed in f32), or f64; rank 0 to 8, any strides. y: of x's rank with 1 for every reduced
 * dimension, or without these dimensions (PyTorch's keepdim and ONNX's keepdims say which; here y's shape does); x's
 * dtype, any strides, not overlapping x.
 * ARGMAX and ARGMIN want y of i32 or i64 and give the row-major position within the reduced dimensions: over one axis
 * the index along it, over all of them PyTorch's argmax without dim.
 *
 * Of equal values the first counts. A NaN is the largest and the smallest (MAX, MIN, and ARGMAX, ARGMIN give the first
 * one), as in PyTorch; ONNX leaves it open. Elsewhere NaN gives NaN. LOG_SUM_EXP of -infinity alone is -infinity, with
 * a +infinity it is +infinity.
 *
 * n = 0: sums and NORM are 0, PRODUCT is 1, MEAN is NaN, LOG_SUM_EXP is -infinity; MAX, MIN, ARGMAX and ARGMIN refuse
 * it unless y is empty too. n = 1 and rank 0 are legal.
 *
 * Sums are formed in a fixed order that depends on shape, strides, variant and the device's vectors alone, not on the
 * number of threads: blocks of at most 1,024 elements of a row are summed in lanes, each of which adds at most 64 of
 * them one after the other, and the blocks' sums are added with their rounding errors carried along. Whatever n is,
 *     |error| <= 80 * 2^-24 * sum |x|
 * (MEAN: that / n + 5 * 2^-24 |y|; NORM: 46 * 2^-24 * y: OpenCL allows the division 2.5 ulp, the root 3). What is
 * tested is less than that for small n and grows as errors of random signs do: (4 + 2 sqrt n) * 2^-24 * sum |x|, NORM
 * (8 + 2 sqrt n) * 2^-24 * y. PRODUCT: (4 + 2 sqrt n) * 2^-24 * |y|, while no partial product leaves f32's range.
 * LOG_SUM_EXP: (16 + 2 sqrt n) * 2^-24 * max(1, y - largest x) + 2 * 2^-24 |y|. The others are exact. f16 and bf16
 * results are rounded once more; in f64 2^-53 takes the place of 2^-24.
 * Squares are not scaled: NORM overflows past 1.8e19 and loses what is below 1e-19.
 *
 * Gradients, with dy the gradient of y, are PyTorch's:
 *     SUM, MEAN    dx = dy, dy / n
 *     PRODUCT      dx = dy * product of the other elements      from y / x, or, where one element is zero, exactly
 *                  (a zero beside NaN or infinity: 0 or NaN). dx = dy y / x is what the range leaves of it: where the
 *                  whole product, or dy times it, is beyond dx is 0 or infinite, though that of the others would not be
 *     MAX, MIN     dx = dy / m at the m elements that are equal to y, 0 elsewhere: as amax and amin, and as max and min
 *                  over all; PyTorch's max over one dimension gives all to the first instead. NaN throughout where y is
 *     SUM_ABS      dx = dy * sign(x), 0 where x is 0 or NaN
 *     NORM         dx = dy * x / y, 0 where y is 0
 *     LOG_SUM_EXP  dx = dy * e^(x - y)
 * ARGMAX and ARGMIN have none. Error, with u = 2^-24: 4 u |dx|; MAX, MIN and NORM 8 u |dx|; PRODUCT
 * (8 + 2 sqrt n) u |dx|; LOG_SUM_EXP (8 + |x - y|) u |dx|; 2 u (|dx before| + |gradient|) more where it is added.
 */
#ifndef HUSK_OPS_REDUCE_H
#define HUSK_OPS_REDUCE_H

#include <husk/gradient.h>

HUSK_BEGIN_DECLS

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

typedef enum husk_reduce_kind {
#define HUSK_REDUCE_ENUM(name, number, text) HUSK_REDUCE_##name = number,
    HUSK_REDUCE_LIST(HUSK_REDUCE_ENUM)
#undef HUSK_REDUCE_ENUM
} husk_reduce_kind;

/* "sum" ...; "unknown" for a number that is no kind. */
HUSK_API const char *husk_reduce_kind_name(husk_reduce_kind kind);

typedef struct husk_reduce_params {
    uint32_t size; /* sizeof this struct: HUSK_REDUCE_PARAMS sets it */
    husk_reduce_kind kind;
    int32_t axis_count;          /* how many of the axes below count; 0: all dimensions are reduced */
    int32_t axes[HUSK_MAX_RANK]; /* no two the same dimension */
    uint32_t accumulate; /* husk_accumulate's bits, of the gradient alone */
    const char *variant; /* NULL: chosen */
} husk_reduce_params;

#define HUSK_REDUCE_PARAMS(...) HUSK_MAKE(husk_reduce_params, __VA_ARGS__)

HUSK_API husk_status husk_reduce(husk_queue *queue, const husk_reduce_params *params, const husk_tensor *x,
                                 const husk_tensor *y);

/*
 * dx (x's shape and dtype, any strides) from forward's x and y and dy (y's shape, with or without the reduced
 * dimensions; any strides). SUM and MEAN read neither x nor y, and both may be NULL; y is read by NORM and LOG_SUM_EXP
 * alone and may be NULL elsewhere. dx may be x itself; it must not overlap y or dy.
 */
HUSK_API husk_status husk_reduce_backward(husk_queue *queue, const husk_reduce_params *params, const husk_tensor *x,
                                          const husk_tensor *y, const husk_tensor *dy, const husk_tensor *dx);

HUSK_END_DECLS

#endif
