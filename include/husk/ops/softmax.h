/* SPDX-License-Identifier: MIT */
/*
 * husk/ops/softmax.h: softmax and log-softmax over one axis.
 *
 *     softmax      y = e^(x - max) / sum e^(x - max)          along the axis
 *     log-softmax  y = (x - max) - log(sum e^(x - max))
 *
 * x and y: the same shape (rank 1 to 8) and dtype (f32), any strides; y may be x itself, otherwise they must
 * not overlap. A zero-sized tensor does nothing. A row that holds NaN or +infinity gives NaN throughout, a
 * row of -infinity alone too; single -infinity elements give 0 (log-softmax: -infinity).
 * Error: softmax |error| <= (16 + 2 sqrt n + |x - max|) * 2^-24 * y + 2^-126, log-softmax <= (16 + 2 sqrt n)
 * * 2^-24 * max(1, |y|, |x|, |max|), n the axis' length.
 */
#ifndef HUSK_OPS_SOFTMAX_H
#define HUSK_OPS_SOFTMAX_H

#include <husk/tensor.h>

HUSK_BEGIN_DECLS

typedef struct husk_softmax_params {
    uint32_t size;           /* sizeof this struct: HUSK_SOFTMAX_PARAMS sets it */
    uint32_t axis_from_last; /* 0: the last dimension, 1: the one before it ... */
    uint32_t log;            /* not 0: log-softmax */
    const char *variant;     /* NULL: chosen */
} husk_softmax_params;

#define HUSK_SOFTMAX_PARAMS(...) (husk_softmax_params) { .size = sizeof(husk_softmax_params), __VA_ARGS__ }

HUSK_API husk_status husk_softmax(husk_queue *queue, const husk_softmax_params *params, const husk_tensor *x,
                                  const husk_tensor *y);

HUSK_END_DECLS

#endif
