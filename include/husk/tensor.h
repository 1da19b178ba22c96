/* SPDX-License-Identifier: MIT */
/** @file
 * A tensor describes how to read a part of a buffer.
 *
 * A tensor is a transparent struct that the caller keeps. It owns nothing. The logical order of dimensions is N, C,
 * then space; the strides define the memory layout. Tensors are passed as pointers to const, and no call keeps them.
 *
 * ## Axes
 *
 * Every call names a dimension in the same way, which is PyTorch's `dim` and ONNX's `axis`:
 *
 * - 0 is the first dimension, 1 the second, and so on.
 * - -1 is the last, -2 the one before it, and so on.
 * - For a tensor of rank r, an axis below -r or from r on is refused.
 *
 * | call | which argument | default |
 * | --- | --- | --- |
 * | husk_tensor_slice(), husk_graph_slice() | axis | none; it must be given |
 * | husk_tensor_permute(), husk_graph_permute() | order[], all dimensions | none; it must be given |
 * | husk_softmax() | params.axis | -1, the last |
 * | husk_norm(), LAYER and RMS | params.axis, the first dimension of a set | -1, only the last |
 * | husk_reduce() | params.axes[axis_count] | all |
 * | husk_concat() | params.axis | 0, the first |
 * | husk_quantize(), husk_dequantize() | params.axis | 0, the first |
 *
 * Some operators fix the dimension by their definition, and have no argument for it:
 *
 * - The classes of husk_loss() are dimension 1; for a tensor [C] dimension 0.
 * - The classes of husk_one_hot() are the last dimension.
 * - The channels of convolutions, pooling and the other kinds of husk_norm() are dimension 1.
 *
 * ## Views
 *
 * husk_tensor_permute(), husk_tensor_slice(), husk_tensor_reshape() and husk_tensor_expand() make views: other ways to
 * read the same memory. They cost nothing: no element moves, and the device is not involved.
 *
 * - Operators accept views like any other tensor. husk_copy() makes a packed tensor of a view.
 * - The gradient of a view is the view of the gradient.
 * - Where an operator's tensors must not overlap, the whole memory counts, from each tensor's first element to its
 *   last. Views that lie in each other's gaps are refused, too, such as the left and the right half of a matrix.
 * - A view that is not possible has rank -1, and so has every view of it. All operators refuse it.
 */
#ifndef HUSK_TENSOR_H
#define HUSK_TENSOR_H

#include <husk/buffer.h>

HUSK_BEGIN_DECLS

/** The most dimensions of a tensor. */
#define HUSK_MAX_RANK 8

/** Weights that were packed for plans; see husk/plan.h. */
typedef struct husk_packed husk_packed;

/** Every dtype: name, number, bytes. The numbers are part of the ABI. */
#define HUSK_DTYPE_LIST(X)                                                                          \
    X(F32, 0, 4)                                                                                    \
    X(F16, 1, 2)                                                                                    \
    X(BF16, 2, 2)                                                                                   \
    X(F64, 3, 8)                                                                                    \
    X(I8, 4, 1)                                                                                     \
    X(U8, 5, 1)                                                                                     \
    X(I32, 6, 4)                                                                                    \
    X(I64, 7, 8)

/** The types of elements. */
typedef enum husk_dtype {
#define HUSK_DTYPE_ENUM(name, number, bytes) HUSK_##name = number,
    HUSK_DTYPE_LIST(HUSK_DTYPE_ENUM)
#undef HUSK_DTYPE_ENUM
} husk_dtype;

/** The description of a tensor. */
typedef struct husk_tensor {
    husk_buffer *buffer;       /**< The memory. NULL if only the shape matters, as for making a plan. */
    const husk_packed *packed; /**< Not NULL: packed weights; buffer, offset and strides are ignored. */
    int64_t offset;            /**< Elements from the buffer's start to element (0, ..., 0). */
    husk_dtype dtype;          /**< Zero means f32. */
    int32_t rank;              /**< 0 (a scalar) to #HUSK_MAX_RANK. */
    int64_t shape[HUSK_MAX_RANK];
    /** In elements, not negative. All zero means packed, with the last dimension fastest. */
    int64_t strides[HUSK_MAX_RANK];
} husk_tensor;

/** The index, counted from the first, of the dimension that an axis names; -1 if the tensor has no such dimension. */
HUSK_API int32_t husk_tensor_dimension(const husk_tensor *tensor, int32_t axis);

/** Bytes of one element; 0 for a number that is no dtype. */
HUSK_API uint64_t husk_dtype_size(husk_dtype dtype);
/** A dtype's name, such as "f32"; "unknown" for any other number. */
HUSK_API const char *husk_dtype_name(husk_dtype dtype);

/** A packed tensor at the start of the buffer, with the last dimension fastest. */
HUSK_API husk_tensor husk_tensor_make(husk_buffer *buffer, husk_dtype dtype, int32_t rank, const int64_t *shape);
/**
 * A packed tensor at the start of the buffer, with the channels last in memory: NHWC, and its counterparts for one and
 * three dimensions of space. The shape is still N, C, space.
 */
HUSK_API husk_tensor husk_tensor_make_channels_last(husk_buffer *buffer, husk_dtype dtype, int32_t rank,
                                                    const int64_t *shape);

/** A view whose dimension d is dimension order[d] of the tensor. {1, 0} transposes a matrix. */
HUSK_API husk_tensor husk_tensor_permute(const husk_tensor *tensor, const int32_t *order);
/** A view of `count` elements along the dimension `axis`: first, first + step, and so on. `step` is 1 or more. */
HUSK_API husk_tensor husk_tensor_slice(const husk_tensor *tensor, int32_t axis, int64_t first, int64_t count,
                                       int64_t step);
/** A packed tensor's elements in another shape with as many elements. */
HUSK_API husk_tensor husk_tensor_reshape(const husk_tensor *tensor, int32_t rank, const int64_t *shape);
/**
 * A view that repeats dimensions of one element and adds new dimensions in front, by strides of 0. The shapes are
 * aligned at their ends. Only inputs may be expanded.
 *
 * It is not possible if all dimensions would have a stride of 0, as for a single element that is repeated throughout:
 * such strides mean packed. Operators refuse more than 2^52 elements, however few of them are in memory.
 */
HUSK_API husk_tensor husk_tensor_expand(const husk_tensor *tensor, int32_t rank, const int64_t *shape);
/**
 * Number of elements; -1 if the product overflows or a dimension is negative. Operators also refuse a tensor without
 * elements whose product would overflow if its dimensions of 0 were 1.
 */
HUSK_API int64_t husk_tensor_count(const husk_tensor *tensor);
/** Bytes from the first to past the last element that the view can touch; -1 as for husk_tensor_count(). */
HUSK_API int64_t husk_tensor_extent(const husk_tensor *tensor);

HUSK_END_DECLS

#endif
