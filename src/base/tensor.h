/* SPDX-License-Identifier: MIT */
/*
 * base/tensor.h: tensors as numbers. Nothing here looks behind the buffer pointer.
 */
#ifndef HUSK_BASE_TENSOR_H
#define HUSK_BASE_TENSOR_H

#include <husk/tensor.h>

#include "base/error.h"

/* What tells a kernel (cl/lib/dtype.clh) that tensors are stored so: "-DDTYPE_F32". */
const char *husk__dtype_option(husk_dtype dtype);
/* Bytes of what a kernel computes with for that dtype: acc_t. */
uint64_t husk__accumulator_size(husk_dtype dtype);

/* Strides written out: all zero becomes packed, last dimension fastest. The shape must be valid. */
void husk__tensor_resolve(husk_tensor *tensor);
/* The same, and neither memory nor packed weights behind it: what problems keep of a tensor. */
void husk__tensor_bare(husk_tensor *tensor);
husk_tensor husk__tensor_bare_copy(const husk_tensor *tensor);

/*
 * As many as no memory holds. The bytes of a few tensors of so many elements, and what they are rounded up to, fit 64
 * bits; products of two tensors' sizes need a check of their own.
 */
#define HUSK__MOST_ELEMENTS (INT64_C(1) << 52)

/*
 * Check what can be checked without a buffer: rank, dtype number, shape and strides not negative, products
 * that fit, no more elements than that. argument names it in the error text.
 */
husk_status husk__tensor_check(const husk_tensor *tensor, const char *argument, const husk__scope *scope);

/*
 * What operators ask of plain tensors, each after the one before: the numbers are right, it is not packed weights
 * and has this dtype (else UNSUPPORTED), or other's; it has this shape, which is other's; no two of its elements
 * coincide.
 */
husk_status husk__tensor_check_plain(const husk_tensor *tensor, husk_dtype dtype, const char *argument,
                                     const husk__scope *scope);
/* The same for what is computed in f32 whatever it is stored in: f32, f16, bf16. */
husk_status husk__tensor_check_float(const husk_tensor *tensor, const char *argument, const husk__scope *scope);
/* The same, or f64, of which the device has to be asked (husk__dtype_check). */
husk_status husk__tensor_check_number(const husk_tensor *tensor, const char *argument, const husk__scope *scope);
/* The same of positions in something: i32 or i64. */
husk_status husk__tensor_check_indices(const husk_tensor *tensor, const char *argument, const husk__scope *scope);
husk_status husk__tensor_check_dtype(const husk_tensor *tensor, const char *argument, husk_dtype dtype,
                                     const char *other, const husk__scope *scope);
husk_status husk__tensor_check_shape(const husk_tensor *tensor, const char *argument, int32_t rank,
                                     const int64_t *shape, const char *other, const husk__scope *scope);
husk_status husk__tensor_check_distinct(const husk_tensor *tensor, const char *argument, const husk__scope *scope);

/*
 * Broadcasting: shapes are aligned at their ends, a dimension of 1 or none is repeated. *shape is widened by the
 * tensor's; false where they do not go together. And the check that a tensor is broadcast to other's shape.
 */
bool husk__tensor_broadcast(const husk_tensor *tensor, husk_tensor *shape);
husk_status husk__tensor_check_broadcast(const husk_tensor *tensor, const char *argument, const husk_tensor *to,
                                         const char *other, const husk__scope *scope);

/* The largest index a resolved, checked tensor touches, relative to its first element; -1 when empty. */
int64_t husk__tensor_last(const husk_tensor *tensor);

int64_t husk__tensor_count(const husk_tensor *tensor);

/* Whether two different index tuples can reach the same element (a sufficient test: false means never). */
bool husk__tensor_may_alias_itself(const husk_tensor *tensor);

/* Packed, last dimension fastest, no gaps; dimensions of size 1 do not count. */
bool husk__tensor_is_packed(const husk_tensor *tensor);
/* The same for channels-last memory order. */
bool husk__tensor_is_channels_last(const husk_tensor *tensor);

/* "[2, 3, 4]" into text, for messages. */
#define HUSK__SHAPE_TEXT 200
const char *husk__shape_text(const husk_tensor *tensor, char text[HUSK__SHAPE_TEXT]);

#endif
