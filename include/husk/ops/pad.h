/* SPDX-License-Identifier: MIT */
/*
 * husk/ops/pad.h: a tensor made larger at its edges, or smaller.
 *
 *     y[j] = x[source(j - before)], in every dimension; y's extents are before + x's + after
 *
 *     CONSTANT    outside of x: value
 *     REFLECT     mirrored at the first and the last element, which are not repeated: source(-1) is 1
 *     REPLICATE   the nearest element
 *     CIRCULAR    as if x went on again and again
 *
 * PyTorch's F.pad (whose list of widths begins with the last dimension), ONNX's Pad: constant, reflect, edge, wrap.
 * Negative widths cut off so many elements; what is added on the other side is still made of all of x (PyTorch's
 * circular mode repeats what is left instead).
 */
#ifndef HUSK_OPS_PAD_H
#define HUSK_OPS_PAD_H

#include <husk/gradient.h>

HUSK_BEGIN_DECLS

typedef enum husk_pad_mode {
    HUSK_PAD_CONSTANT = 0,
    HUSK_PAD_REFLECT = 1,
    HUSK_PAD_REPLICATE = 2,
    HUSK_PAD_CIRCULAR = 3
} husk_pad_mode;

typedef struct husk_pad_params {
    uint32_t size; /* sizeof this struct: HUSK_PAD_PARAMS sets it */
    husk_pad_mode mode;
    double value;                                          /* CONSTANT: rounded to the dtype; integers: a whole one */
    int64_t before[HUSK_MAX_RANK], after[HUSK_MAX_RANK]; /* of each of x's dimensions; negative: cut off */
    uint32_t accumulate;                                   /* husk_accumulate's bits, for the gradient alone */
    const char *variant;                                   /* NULL: chosen */
} husk_pad_params;

#define HUSK_PAD_PARAMS(...) HUSK_MAKE(husk_pad_params, __VA_ARGS__)

/*
 * x and y: one dtype, whichever it is, since bits are copied; rank 0 to 8, any strides; y does not overlap x. No more
 * is cut off than there is. Widths are less than x's extent with REFLECT, and at most that with CIRCULAR; with all
 * modes but CONSTANT a dimension of no elements stays so. A zero-sized y does nothing.
 */
HUSK_API husk_status husk_pad(husk_queue *queue, const husk_pad_params *params, const husk_tensor *x,
                              const husk_tensor *y);

/*
 * dx[i] = the sum of dy[j] over all j that are made of x[i], in an order that the shapes alone decide; what was cut off
 * has gradient 0. dy and dx: one dtype (f32, f16, bf16, f64), any strides; they do not overlap. accumulate:
 * HUSK_ACCUMULATE_INPUTS adds to dx. |error| of a sum of n terms: (n + 4) 2^-24 sum |terms|, of which tests allow
 * 4 + 2 sqrt n (docs/operators.md); exact where n is 1.
 */
HUSK_API husk_status husk_pad_backward(husk_queue *queue, const husk_pad_params *params, const husk_tensor *dy,
                                       const husk_tensor *dx);

HUSK_END_DECLS

#endif
