/* SPDX-License-Identifier: MIT */
/*
 * husk/tensor.h: how a piece of a buffer is to be read.
 *
 * A tensor is a transparent view that the caller keeps; it owns nothing. Logical order is N, C, then
 * space; the memory layout is in the strides. It is passed as a pointer to const and not kept by any call.
 */
#ifndef HUSK_TENSOR_H
#define HUSK_TENSOR_H

#include <husk/buffer.h>

HUSK_BEGIN_DECLS

#define HUSK_MAX_RANK 8

typedef struct husk_packed husk_packed;

/* Name, number, bytes. Numbers are part of the ABI. */
#define HUSK_DTYPE_LIST(X)                                                                          \
    X(F32, 0, 4)                                                                                    \
    X(F16, 1, 2)                                                                                    \
    X(BF16, 2, 2)                                                                                   \
    X(F64, 3, 8)                                                                                    \
    X(I8, 4, 1)                                                                                     \
    X(U8, 5, 1)                                                                                     \
    X(I32, 6, 4)                                                                                    \
    X(I64, 7, 8)

typedef enum husk_dtype {
#define HUSK_DTYPE_ENUM(name, number, bytes) HUSK_##name = number,
    HUSK_DTYPE_LIST(HUSK_DTYPE_ENUM)
#undef HUSK_DTYPE_ENUM
} husk_dtype;

typedef struct husk_tensor {
    husk_buffer *buffer;       /* NULL where only the shape matters (making a plan) */
    const husk_packed *packed; /* not NULL: packed weights; buffer, offset and strides do not count */
    int64_t offset;            /* elements from the buffer's start to element (0, ..., 0) */
    husk_dtype dtype;          /* zero means f32 */
    int32_t rank;              /* 0 (a scalar) to HUSK_MAX_RANK */
    int64_t shape[HUSK_MAX_RANK];
    int64_t
        strides[HUSK_MAX_RANK]; /* elements, not negative; all zero means packed, last dimension fastest */
} husk_tensor;

/*
 * Axes. Which of a tensor's dimensions is meant is said in one way everywhere: 0 is the first, 1 the second ...; -1 the
 * last, -2 the one before it ...; what a tensor of rank r does not have, below -r or from r on, is refused. It is
 * PyTorch's dim and ONNX's axis.
 *
 *     call                                         what says it               where nothing is said
 *     husk_tensor_slice, husk_graph_slice          axis                       it has to be
 *     husk_tensor_permute, husk_graph_permute      order[], of all            it has to be
 *     husk_softmax                                 params.axis                -1, the last
 *     husk_norm, of LAYER and RMS                  params.axis, the first     -1, the last alone
 *                                                  of those that are a set
 *     husk_reduce                                  params.axes[axis_count]    all
 *     husk_concat                                  params.axis                0, the first
 *     husk_quantize, husk_dequantize               params.axis                0, the first
 *
 * Where an operator's definition says which dimension it is, there is nothing to say: the classes of husk_loss are
 * dimension 1 (of [C] dimension 0), those of husk_one_hot the last, the channels of convolutions, pooling and the other
 * kinds of husk_norm dimension 1.
 */

/* The number, from the first, of the dimension that an axis means; -1 where the tensor has none. */
HUSK_API int32_t husk_tensor_dimension(const husk_tensor *tensor, int32_t axis);

/* Bytes of one element; 0 for a number that is no dtype. */
HUSK_API uint64_t husk_dtype_size(husk_dtype dtype);
/* "f32" ...; "unknown" for a number that is no dtype. */
HUSK_API const char *husk_dtype_name(husk_dtype dtype);

/* A packed tensor, last dimension fastest, at the start of the buffer. */
HUSK_API husk_tensor husk_tensor_make(husk_buffer *buffer, husk_dtype dtype, int32_t rank,
                                      const int64_t *shape);
/* The same with channels last in memory (NHWC and its 1-D and 3-D kin); the shape is still N, C, space. */
HUSK_API husk_tensor husk_tensor_make_channels_last(husk_buffer *buffer, husk_dtype dtype, int32_t rank,
                                                    const int64_t *shape);
/*
 * Views: other ways to read the same memory. They cost nothing: no element moves, and no device is asked. Operators
 * take them like any other tensor; husk_copy makes a packed tensor of one. A gradient of a view is a view of the
 * gradient. Where an operator's tensors must not overlap, what counts is the memory from the first element of each to
 * its last: views that lie in one another's gaps, as the left and the right half of a matrix, are refused as well. A
 * view that is not possible, and every view of one, has rank -1, which all operators refuse.
 */
/* Dimension d of the view is dimension order[d] of the tensor: a transpose of matrices is {1, 0}. */
HUSK_API husk_tensor husk_tensor_permute(const husk_tensor *tensor, const int32_t *order);
/* Of the dimension `axis` the elements first, first + step, ...: count of them. step is 1 or more. */
HUSK_API husk_tensor husk_tensor_slice(const husk_tensor *tensor, int32_t axis, int64_t first, int64_t count,
                                       int64_t step);
/* A packed tensor's elements in another shape of as many elements. */
HUSK_API husk_tensor husk_tensor_reshape(const husk_tensor *tensor, int32_t rank, const int64_t *shape);
/*
 * Repeat dimensions of one element, and put new ones in front, by strides of 0: shapes are aligned at their ends. For
 * inputs alone. Not possible where all dimensions would have a stride of 0, which means packed: a single element
 * repeated throughout. Operators refuse more than 2^52 elements, however few of them are in memory.
 */
HUSK_API husk_tensor husk_tensor_expand(const husk_tensor *tensor, int32_t rank, const int64_t *shape);
/*
 * Number of elements; -1 when the product overflows or a dimension is negative. (Of a tensor without elements operators
 * refuse what would overflow if its dimensions of 0 were 1.)
 */
HUSK_API int64_t husk_tensor_count(const husk_tensor *tensor);
/* Bytes from the first to past the last element the view can touch; -1 as above. */
HUSK_API int64_t husk_tensor_extent(const husk_tensor *tensor);

HUSK_END_DECLS

#endif
