/* SPDX-License-Identifier: MIT */
/*
 * husk/ops/grad_scale.h: a whole list of tensors multiplied in place by a number on the device, clipped, and checked.
 *
 *     x := factor by x       or, with `divides`, factor x / by; then to within [-limit, limit]
 *     found := 1 if some x was infinite or NaN before, else 0 (with `keeps` a 1 that is there stays)
 *
 * torch.amp's GradScaler.unscale_ is by = the loss scale with divides, and found; husk_optimizer does
 * nothing where that is 1. clip_grad_norm_ is by = the
 * coefficient of husk_grad_norm; clip_grad_value_ is limit alone.
 */
#ifndef HUSK_OPS_GRAD_SCALE_H
#define HUSK_OPS_GRAD_SCALE_H

#include <husk/tensor.h>

HUSK_BEGIN_DECLS

typedef struct husk_grad_scale_params {
    uint32_t size;    /* sizeof this struct: HUSK_GRAD_SCALE_PARAMS sets it */
    float factor;     /* 0 means 1 */
    float limit;      /* 0 means none */
    uint32_t divides; /* by 1 / by, which is computed first, as GradScaler does */
    uint32_t keeps;   /* found is not set to 0 */
    const char *variant; /* NULL: chosen */
} husk_grad_scale_params;

#define HUSK_GRAD_SCALE_PARAMS(...) (husk_grad_scale_params) { .size = sizeof(husk_grad_scale_params), __VA_ARGS__ }

/*
 * tensors: as for husk_grad_norm; no two overlap. by and found: f32 of one element, overlapping nothing; either may be
 * NULL: there is no such factor, no check. Where the whole factor is 1 and there is no limit, no tensor is written.
 * NaN stays NaN, limits or not. |error| at most 2 units of 2^-24 of x beside the rounding of f16 and bf16, 4 with
 * divides. The same call gives the same bits. f64 stands alone: all tensors, by and found; 2^-53 stands for 2^-24.
 */
HUSK_API husk_status husk_grad_scale(husk_queue *queue, const husk_grad_scale_params *params,
                                     const husk_tensor *const *tensors, size_t count, const husk_tensor *by,
                                     const husk_tensor *found);

HUSK_END_DECLS

#endif
