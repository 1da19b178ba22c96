/* SPDX-License-Identifier: MIT */
/*
 * husk/ops/grad_scale.h: a whole list of tensors multiplied in place by a number on the device, clipped, and checked.
 *
 *     x := factor by x       or, with `divides`, factor x / by; then to within [-limit, limit]
 *     found := 1 if some x was infinite or NaN before, else 0 (with `keeps` a 1 that is there stays)
 *
 * torch.amp's GradScaler.unscale_ is by = the loss scale with divides, and found; husk_optimizer does nothing where
 * that is 1. clip_grad_norm_ is by = the coefficient of husk_grad_norm; clip_grad_value_ is limit alone.
 *
 * state is a loss scale that follows what is found, as GradScaler.update does, without the host: four numbers
 *
 *     scale, steps since it was set or halved or had grown, steps in which found was 0, steps in which it was 1
 *
 *     found     scale := max(scale backoff, 2^-24), the second number := 0, the fourth one more
 *     not found the second and the third one more; when the second is interval it becomes 0, and scale := scale growth
 *               where that is at most 2^24
 *
 * by may be the first of these numbers: what is multiplied with it, or divided by it, is the scale before. In f32 they
 * count to 2^24.
 */
#ifndef HUSK_OPS_GRAD_SCALE_H
#define HUSK_OPS_GRAD_SCALE_H

#include <husk/tensor.h>

HUSK_BEGIN_DECLS

typedef struct husk_grad_scale_params {
    uint32_t size;    /* sizeof this struct: husk_grad_scale_defaults sets it */
    float factor;     /* finite, 0 included */
    float limit;      /* 0 means none */
    uint32_t divides; /* by 1 / by, which is computed first, as GradScaler does */
    uint32_t keeps;   /* found is not set to 0 */
    const char *variant; /* NULL: chosen */
    const husk_tensor *state; /* four elements, packed, of found's dtype; NULL: none. Beside found alone */
    float growth;             /* of state's scale: at least 1 */
    float backoff;            /* above 0, at most 1 */
    uint32_t interval;        /* at least 1 */
} husk_grad_scale_params;

/* To be changed afterwards: factor 1, growth 2, backoff 0.5, interval 2000, all else 0. */
static inline husk_grad_scale_params husk_grad_scale_defaults(void)
{
    husk_grad_scale_params made = HUSK_ZEROS;
    made.size = (uint32_t)sizeof made;
    made.factor = 1;
    made.growth = 2;
    made.backoff = 0.5f;
    made.interval = 2000;
    return made;
}

/*
 * tensors: as for husk_grad_norm; no two overlap. by and found: f32 of one element, overlapping nothing (by: nothing
 * but state); either may be NULL: there is no such factor, no check. Where the whole factor is 1 and there is no limit,
 * no tensor is written. NaN stays NaN, limits or not. |error| at most 2 units of 2^-24 of x beside the rounding of f16
 * and bf16, 8 with divides. The same call gives the same bits. f64 stands alone: all tensors, by, found and state;
 * 2^-53 stands for 2^-24.
 */
HUSK_API husk_status husk_grad_scale(husk_queue *queue, const husk_grad_scale_params *params,
                                     const husk_tensor *const *tensors, size_t count, const husk_tensor *by,
                                     const husk_tensor *found);

HUSK_END_DECLS

#endif
