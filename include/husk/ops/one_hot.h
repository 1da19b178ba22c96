/* SPDX-License-Identifier: MIT */
/** @file
 * Class numbers as vectors.
 *
 *     y[..., k] = on where k = labels[...], else off
 *
 * | tensor | shape | dtype |
 * | --- | --- | --- |
 * | labels | any, at most 7 dimensions | i32 or i64 |
 * | y | the labels' shape, then the classes | f32, f16, bf16 or f64 |
 *
 * Any strides. There is no gradient.
 *
 * ## PyTorch and ONNX
 *
 * This is PyTorch's one_hot, whose result is i64, and ONNX's OneHot with axis -1. A label below 0, or not below the
 * number of classes, gives a row of `off`. ONNX does the same, except for labels from -classes on, which count from the
 * end. PyTorch fails.
 */
#ifndef HUSK_OPS_ONE_HOT_H
#define HUSK_OPS_ONE_HOT_H

#include <husk/tensor.h>

HUSK_BEGIN_DECLS

/** Options of husk_one_hot(). */
typedef struct husk_one_hot_params {
    uint32_t size;       /**< sizeof this struct; husk_one_hot_defaults() sets it. */
    float on,            /**< The element of the label. Values other than 1 make smoothed labels. */
        off;             /**< The other elements. Values other than 0 make smoothed labels. */
    const char *variant; /**< NULL: the library chooses. */
} husk_one_hot_params;

/** The defaults, to be changed afterwards: on 1, off 0. NULL params mean the same. */
static inline husk_one_hot_params husk_one_hot_defaults(void)
{
    husk_one_hot_params made = HUSK_ZEROS;
    made.size = (uint32_t)sizeof made;
    made.on = 1;
    return made;
}

/**
 * Enqueue the vectors. y must not overlap labels. The values are exact in f32 and f64; in f16 and bf16, on and off are
 * rounded. Without labels or classes nothing happens.
 */
HUSK_API husk_status husk_one_hot(husk_queue *queue, const husk_one_hot_params *params, const husk_tensor *labels,
                                  const husk_tensor *y);

HUSK_END_DECLS

#endif
