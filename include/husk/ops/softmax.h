/* SPDX-License-Identifier: MIT */
/*
 * husk/ops/softmax.h: softmax and log-softmax over one axis.
 *
 *     softmax      y = e^(x - max) / sum e^(x - max)          along the axis
 *     log-softmax  y = (x - max) - log(sum e^(x - max))
 *
 * x and y: the same shape (rank 1 to 8) and dtype (f32, f16, bf16, f64), any strides; y may be x itself, otherwise they
 * must not overlap. A zero-sized tensor does nothing. A row that holds NaN or +infinity gives NaN throughout, a
 * row of -infinity alone too; single -infinity elements give 0 (log-softmax: -infinity).
 * Error: softmax |error| <= (16 + 2 sqrt n + |x - max|) * 2^-24 * y + 2^-126, log-softmax <= (16 + 2 sqrt n)
 * * 2^-24 * max(1, |y|), n the axis' length: however large x and max are. Where x - max is exact, as it is of whole
 * numbers, adding the same number to all elements of a row changes no bit of the result.
 *
 * The gradient, from y alone (as PyTorch's _softmax_backward_data; ONNX has no operator for it):
 *
 *     softmax      dx = y (dy - sum y dy)           along the axis
 *     log-softmax  dx = dy - e^y sum dy
 *
 * y, dy and dx: the same shape and dtype (f32, f16, bf16, f64), any strides; dx may be y or dy itself, otherwise it
 * must not overlap them. NaN and infinity go where the formula sends them: a NaN in y or dy makes its whole row NaN
 * (log-softmax: one in y, its element alone). Error, with u = 2^-24: a sum of n products errs by (4 + 2 sqrt n) u of
 * its absolute terms S (see docs/operators.md), and what is done with it by a few u of its terms, so that
 *     softmax      |error| <= (8 + 2 sqrt n) u |y| (|dy| + S),  S = sum |y dy|
 *     log-softmax  |error| <= (16 + 2 sqrt n) u (|dy| + e^y S), S = sum |dy|
 * and 2 u (|dx before| + |gradient|) more where it is added, and what denormals cost that become zero.
 */
#ifndef HUSK_OPS_SOFTMAX_H
#define HUSK_OPS_SOFTMAX_H

#include <husk/gradient.h>

HUSK_BEGIN_DECLS

typedef struct husk_softmax_params {
    uint32_t size;       /* sizeof this struct: husk_softmax_defaults sets it */
    int32_t axis;        /* 0 is the first dimension, -1 the last; see husk/tensor.h */
    uint32_t log;        /* not 0: log-softmax */
    uint32_t accumulate; /* backward alone: HUSK_ACCUMULATE_INPUTS adds to dx */
    const char *variant; /* NULL: chosen */
} husk_softmax_params;

/* To be changed afterwards: axis -1, all else 0. NULL params are these. */
static inline husk_softmax_params husk_softmax_defaults(void)
{
    husk_softmax_params made = HUSK_ZEROS;
    made.size = (uint32_t)sizeof made;
    made.axis = -1;
    return made;
}

HUSK_API husk_status husk_softmax(husk_queue *queue, const husk_softmax_params *params, const husk_tensor *x,
                                  const husk_tensor *y);

/* dx from forward's y; params are those of the forward call. A zero-sized tensor does nothing. */
HUSK_API husk_status husk_softmax_backward(husk_queue *queue, const husk_softmax_params *params,
                                           const husk_tensor *y, const husk_tensor *dy, const husk_tensor *dx);

HUSK_END_DECLS

#endif
