/* SPDX-License-Identifier: MIT */
/*
 * husk/ops/where.h: one of two tensors, element by element.
 *
 *     y = a where condition is not 0, else b
 *
 * These are PyTorch's torch.where and ONNX's Where. The condition is u8, where they take booleans, or has the dtype of
 * a and b, so that what husk_binary's comparisons answer can be used as it is: there NaN is not 0, -0 is, and what is
 * below 2^-126 may count as 0. All three broadcast, as husk/ops/binary.h says; y has the broadcast shape.
 */
#ifndef HUSK_OPS_WHERE_H
#define HUSK_OPS_WHERE_H

#include <husk/gradient.h>

HUSK_BEGIN_DECLS

typedef struct husk_where_params {
    uint32_t size;       /* sizeof this struct: HUSK_WHERE_PARAMS sets it */
    uint32_t accumulate; /* husk_accumulate's bits, for the gradient alone */
    const char *variant; /* NULL: chosen */
} husk_where_params;

#define HUSK_WHERE_PARAMS(...) HUSK_MAKE(husk_where_params, __VA_ARGS__)

/*
 * a, b and y: one dtype (f32, f16, bf16, f64), any strides, rank 0 to 8; y may be an input itself where that has y's
 * shape and dtype, otherwise y must not overlap them. A zero-sized y does nothing. Exact: y is a or b, NaN and
 * infinity too; denormals may become 0.
 */
HUSK_API husk_status husk_where(husk_queue *queue, const husk_where_params *params, const husk_tensor *condition,
                                const husk_tensor *a, const husk_tensor *b, const husk_tensor *y);

/*
 * da = dy where condition is not 0, else 0; db the other way round; each summed over the dimensions in which its input
 * was broadcast, in an order that the shapes alone decide. Either may be NULL: it is not wanted.
 *
 * dy has the broadcast shape; condition, da and db are of shapes that broadcast to it. dy, da and db have one dtype
 * (f32, f16, bf16, f64), the condition that or u8; strides are free. da and db overlap nothing. accumulate:
 * HUSK_ACCUMULATE_INPUTS adds to both. Exact where nothing was broadcast; |error| of a sum of n terms as
 * husk/ops/binary.h's ADD.
 */
HUSK_API husk_status husk_where_backward(husk_queue *queue, const husk_where_params *params,
                                         const husk_tensor *condition, const husk_tensor *dy, const husk_tensor *da,
                                         const husk_tensor *db);

HUSK_END_DECLS

#endif
