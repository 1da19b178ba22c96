/* SPDX-License-Identifier: MIT */
/** @file
 * Softmax and log-softmax over one axis, and their gradients.
 *
 *     softmax      y = e^(x - max) / sum e^(x - max)          along the axis
 *     log-softmax  y = (x - max) - log(sum e^(x - max))
 */
#ifndef HUSK_OPS_SOFTMAX_H
#define HUSK_OPS_SOFTMAX_H

#include <husk/gradient.h>

HUSK_BEGIN_DECLS

/** Options of husk_softmax() and its gradient. */
typedef struct husk_softmax_params {
    uint32_t size;       /**< sizeof this struct; husk_softmax_defaults() sets it. */
    int32_t axis;        /**< 0 is the first dimension, -1 the last; see husk/tensor.h. */
    uint32_t log;        /**< Not 0: log-softmax. */
    uint32_t accumulate; /**< Gradient only: HUSK_ACCUMULATE_INPUTS adds to dx. */
    const char *variant; /**< NULL: the library chooses. */
} husk_softmax_params;

/** The defaults, to be changed afterwards: axis is -1, all else is 0. NULL params mean the same. */
static inline husk_softmax_params husk_softmax_defaults(void)
{
    husk_softmax_params made = HUSK_ZEROS;
    made.size = (uint32_t)sizeof made;
    made.axis = -1;
    return made;
}

/**
 * Enqueue the softmax.
 *
 * - x and y have the same shape (rank 1 to 8) and dtype (f32, f16, bf16, f64), and any strides.
 * - y may be x itself; otherwise they must not overlap.
 * - A zero-sized tensor does nothing.
 * - A row that contains NaN or +infinity gives NaN throughout. So does a row of only -infinity.
 * - Single elements of -infinity give 0, or -infinity for log-softmax.
 *
 * @par Error
 * With n the length of the axis, however large x and max are:
 *
 *     softmax      |error| <= (16 + 2 sqrt n + |x - max|) * 2^-24 * y + 2^-126
 *     log-softmax  |error| <= (16 + 2 sqrt n) * 2^-24 * max(1, |y|)
 *
 * Where x - max is exact, as for whole numbers, adding the same number to all elements of a row changes no bit of the
 * result.
 */
HUSK_API husk_status husk_softmax(husk_queue *queue, const husk_softmax_params *params, const husk_tensor *x,
                                  const husk_tensor *y);

/**
 * Enqueue the gradient, from forward's y alone, as PyTorch's _softmax_backward_data. ONNX has no operator for it.
 *
 *     softmax      dx = y (dy - sum y dy)           along the axis
 *     log-softmax  dx = dy - e^y sum dy
 *
 * - params are those of forward.
 * - y, dy and dx have the same shape and dtype (f32, f16, bf16, f64), and any strides.
 * - dx may be y or dy itself; otherwise it must not overlap them.
 * - A zero-sized tensor does nothing.
 * - NaN and infinity go where the formula sends them. A NaN in y or dy makes its whole row NaN; for log-softmax, a NaN
 *   in y makes only its element NaN.
 *
 * @par Error
 * With u = 2^-24 and n the length of the axis:
 *
 *     softmax      |error| <= (8 + 2 sqrt n) u |y| (|dy| + S),  S = sum |y dy|
 *     log-softmax  |error| <= (16 + 2 sqrt n) u (|dy| + e^y S), S = sum |dy|
 *
 * The reason: a sum of n products errs by (4 + 2 sqrt n) u of its absolute terms S (docs/operators.md), and what is
 * done with it by a few u of its terms. Adding to dx costs 2 u (|dx before| + |gradient|) more. Denormals that become
 * zero add to the error.
 */
HUSK_API husk_status husk_softmax_backward(husk_queue *queue, const husk_softmax_params *params, const husk_tensor *y,
                                           const husk_tensor *dy, const husk_tensor *dx);

HUSK_END_DECLS

#endif
