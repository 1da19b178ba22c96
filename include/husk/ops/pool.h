/* SPDX-License-Identifier: MIT */
/*
 * husk/ops/pool.h: maximum and average pooling in one, two and three dimensions.
 *
 *     x        [N, C, space...]   f32, f16, bf16 or f64; rank 3, 4 or 5, any strides
 *     y        [N, C, out...]     x's dtype, any strides that do not make elements coincide
 *     indices  [N, C, out...]     i32 or i64, or NULL; MAX alone
 *     out = floor((in + pad + pad_end - dilation * (window - 1) - 1) / stride) + 1, or the ceiling of the
 *     quotient with ceil_mode, less one where the last window would start past in + pad (PyTorch's and,
 *     since opset 19, ONNX's rule)
 *
 * MAX: the largest element under the window; padding never wins. A NaN under the window gives NaN (as PyTorch). indices
 * receives the position of the first largest element in the channel's space, row-major, as PyTorch's return_indices; of
 * several NaN the first (PyTorch: the last); a window over padding alone gives -inf and -1. AVG: the mean. Padding is
 * left out of the count (ONNX's and oneDNN's default) unless count_pad is set (PyTorch's default), which counts
 * padding, though never what lies past in + pad + pad_end. A window over nothing gives 0. Error: |error| <= (4 + 2 sqrt
 * window elements) * 2^-24 * sum |x| / count.
 *
 * pad_end = pad + pad_end_extra. pad and pad_end are less than the window's extent. y and indices must not overlap
 * anything.
 *
 * The gradient: dx is the sum, over the windows an element lies under, of
 *
 *     MAX: dy where the element was the maximum, by forward's indices; without them, where forward would find
 *          it in x (the first largest, the first NaN), which is found anew. A window over padding alone gives
 *          to no one.
 *     AVG: dy / the count of the window, as forward counts
 *
 * (PyTorch's max_pool_backward and avg_pool_backward; ONNX has no operators for them.) dx [N, C, space...] and dy
 * [N, C, out...]: one dtype (f32, f16, bf16, f64), any strides; dx has no elements that coincide, and overlaps nothing.
 * Indices are those that forward wrote: elsewhere than under their windows they name an element of their channel or no
 * one, which variants differ in. Windows may overlap; sums are formed without atomics, in an order that the shapes
 * decide. Error, T windows over the element, their
 * terms t: |error| <= (8 + 2 sqrt T) * 2^-24 * sum |t| (docs/operators.md; a few of them are the counts'
 * reciprocals), MAX exact where T is 1; and 2 * 2^-24 (|dx before| + |gradient|) more where it is added. NaN and
 * infinity in dy go where the formula sends them.
 */
#ifndef HUSK_OPS_POOL_H
#define HUSK_OPS_POOL_H

#include <husk/gradient.h>
#include <husk/ops/conv.h>

HUSK_BEGIN_DECLS

typedef enum husk_pool_kind {
    HUSK_POOL_MAX = 0,
    HUSK_POOL_AVG = 1
} husk_pool_kind;

typedef struct husk_pool_params {
    uint32_t size;                    /* sizeof this struct: HUSK_POOL_PARAMS sets it */
    husk_pool_kind kind;
    int64_t window[HUSK_MAX_SPACE];   /* one a space dimension; required unless global */
    int64_t stride[HUSK_MAX_SPACE];   /* 0 means as window (PyTorch's default; ONNX's is 1) */
    int64_t pad[HUSK_MAX_SPACE];
    int64_t pad_end_extra[HUSK_MAX_SPACE]; /* after the last: so much more than pad, negative: less */
    int64_t dilation[HUSK_MAX_SPACE]; /* 0 means 1 */
    uint32_t global; /* not 0: the window is all of space; window, stride, pad, dilation unset */
    uint32_t ceil_mode;               /* not 0: the ceiling, see above */
    uint32_t count_pad;               /* not 0: AVG counts padding */
    uint32_t accumulate;              /* backward alone: HUSK_ACCUMULATE_INPUTS adds to dx */
    const char *variant;              /* NULL: chosen */
} husk_pool_params;

#define HUSK_POOL_PARAMS(...) HUSK_MAKE(husk_pool_params, __VA_ARGS__)

HUSK_API husk_status husk_pool(husk_queue *queue, const husk_pool_params *params, const husk_tensor *x,
                               const husk_tensor *y, const husk_tensor *indices);

/* The shape that y must have; shape receives x's rank numbers. */
HUSK_API husk_status husk_pool_output_shape(const husk_pool_params *params, const husk_tensor *x,
                                            int64_t shape[HUSK_MAX_RANK], husk_error *error);

/*
 * dx; params are those of the forward call. MAX takes indices, or x where there are none (NULL); AVG reads
 * neither: x may be NULL, indices must be. A zero-sized dx does nothing.
 */
HUSK_API husk_status husk_pool_backward(husk_queue *queue, const husk_pool_params *params, const husk_tensor *x,
                                        const husk_tensor *indices, const husk_tensor *dy, const husk_tensor *dx);

HUSK_END_DECLS

#endif
