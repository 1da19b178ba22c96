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
    uint32_t size;       /* sizeof this struct: HUSK_ONE_HOT_PARAMS sets it */
    uint32_t has_values; /* 0: on is 1 and off is 0; 1: they are as they are below (smoothed labels) */
    float on, off;
    const char *variant; /* NULL: chosen */
} husk_one_hot_params;

#define HUSK_ONE_HOT_PARAMS(...) HUSK_MAKE(husk_one_hot_params, __VA_ARGS__)

/*
 * y must not overlap labels. Exact in f32 and f64; in f16 and bf16 on and off rounded. Without labels or classes
 * nothing happens.
 */
HUSK_API husk_status husk_one_hot(husk_queue *queue, const husk_one_hot_params *params, const husk_tensor *labels,
                                  const husk_tensor *y);

HUSK_END_DECLS

#endif
