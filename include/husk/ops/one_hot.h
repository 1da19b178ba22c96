/* SPDX-License-Identifier: MIT */
/*
 * husk/ops/one_hot.h: class numbers as vectors.
 *
 *     y[..., k] = on where k = labels[...], else off
 *
 * labels: any shape of at most 7 dimensions, i32 or i64. y: the labels' shape and one dimension more, the classes, in
 * f32, f16, bf16 or f64. Any strides. As PyTorch's one_hot, whose result is i64, and ONNX's OneHot with axis -1.
 *
 * A label that is below 0 or no class gives a row of off: so does ONNX, but for labels from -classes on, which count
 * from the end there; PyTorch fails. It has no gradient.
 */
#ifndef HUSK_OPS_ONE_HOT_H
#define HUSK_OPS_ONE_HOT_H

#include <husk/tensor.h>

HUSK_BEGIN_DECLS

typedef struct husk_one_hot_params {
    uint32_t size;       /* sizeof this struct: husk_one_hot_defaults sets it */
    float on, off;       /* others than 1 and 0: smoothed labels */
    const char *variant; /* NULL: chosen */
} husk_one_hot_params;

/* To be changed afterwards: on 1, off 0. NULL params are these. */
static inline husk_one_hot_params husk_one_hot_defaults(void)
{
    husk_one_hot_params made = HUSK_ZEROS;
    made.size = (uint32_t)sizeof made;
    made.on = 1;
    return made;
}

/*
 * y must not overlap labels. Exact in f32 and f64; in f16 and bf16 on and off rounded. Without labels or classes
 * nothing happens.
 */
HUSK_API husk_status husk_one_hot(husk_queue *queue, const husk_one_hot_params *params, const husk_tensor *labels,
                                  const husk_tensor *y);

HUSK_END_DECLS

#endif
