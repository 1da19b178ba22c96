/* SPDX-License-Identifier: MIT */
/*
 * husk/ops/concat.h: tensors one after the other along a dimension.
 *
 *     y[..., starts[i] + k, ...] = inputs[i][..., k, ...]        starts[i]: the extents of the inputs before, added up
 *
 * PyTorch's torch.cat, ONNX's Concat. The opposite, split (torch.split, torch.chunk, ONNX's Split), is
 * husk_tensor_slice, which costs nothing, with husk_copy for a slice that has to be packed. torch.stack is
 * husk_tensor_reshape, which gives each input a dimension of one element, and this.
 */
#ifndef HUSK_OPS_CONCAT_H
#define HUSK_OPS_CONCAT_H

#include <husk/gradient.h>

HUSK_BEGIN_DECLS

typedef struct husk_concat_params {
    uint32_t size;       /* sizeof this struct: HUSK_CONCAT_PARAMS sets it */
    int32_t axis;        /* 0 is the first dimension, -1 the last; see husk/tensor.h */
    uint32_t accumulate; /* husk_accumulate's bits, for the gradient alone */
    const char *variant; /* NULL: chosen */
} husk_concat_params;

#define HUSK_CONCAT_PARAMS(...) HUSK_MAKE(husk_concat_params, __VA_ARGS__)

/*
 * All tensors: one dtype, whichever it is, since bits are copied; any strides; the same rank, 1 to 8, and the same
 * shape but along the axis, where y has the sum. Inputs may be zero-sized along the axis, and may have strides of 0. y
 * overlaps no input. count: 1 or more, without a limit; up to 8 inputs go in one launch where along the axis and the
 * dimensions inside it all tensors lie in memory in y's order without gaps, otherwise each input is a launch. An input
 * that is in its place already, a slice of y, need not be named: write there in the first place.
 */
HUSK_API husk_status husk_concat(husk_queue *queue, const husk_concat_params *params, const husk_tensor *const *inputs,
                                 size_t count, const husk_tensor *y);

/*
 * gradients[i] = dy's slice, or += it with HUSK_ACCUMULATE_INPUTS. A gradient that is NULL is not wanted. extents: the
 * inputs' along the axis, count of them; it may be NULL where all gradients are wanted. dy and the gradients have one
 * dtype: f32, f16, bf16, f64; gradients overlap nothing. Exact but for the addition, which is rounded once. Where a
 * slice of dy serves as well, husk_tensor_slice gives it for nothing.
 */
HUSK_API husk_status husk_concat_backward(husk_queue *queue, const husk_concat_params *params, const int64_t *extents,
                                          const husk_tensor *dy, const husk_tensor *const *gradients, size_t count);

HUSK_END_DECLS

#endif
