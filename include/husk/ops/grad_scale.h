/* SPDX-License-Identifier: MIT */
/** @file
 * A whole list of tensors is scaled in place by a number on the device, clipped, and checked for infinity and NaN.
 *
 *     x := factor by x       or, with `divides`, factor x / by; then to within [-limit, limit]
 *     found := 1 if some x was infinite or NaN before, else 0 (with `keeps` a 1 that is there stays)
 *
 * | PyTorch | in Husk |
 * | --- | --- |
 * | GradScaler.unscale_ of torch.amp | `by` is the loss scale, with `divides`; husk_optimizer() skips on `found` |
 * | clip_grad_norm_ | `by` is the coefficient of husk_grad_norm() |
 * | clip_grad_value_ | only `limit` |
 * | GradScaler.update | `state` |
 *
 * ## The state of a loss scale
 *
 * `state` is a loss scale that follows `found` without the host, as GradScaler.update does. It has four numbers:
 *
 * 1. the scale;
 * 2. the steps since it was set, was halved or has grown;
 * 3. the steps in which found was 0;
 * 4. the steps in which found was 1.
 *
 * A call changes them:
 *
 * - If found is 1: scale := max(scale backoff, 2^-24), the second number becomes 0, and the fourth increases by 1.
 * - If found is 0: the second and the third number increase by 1. When the second reaches interval, it becomes 0, and
 *   scale := scale growth if the result is at most 2^24.
 *
 * `by` may be the first of these numbers; the value before the call then multiplies or divides. In f32 the numbers
 * count to 2^24.
 */
#ifndef HUSK_OPS_GRAD_SCALE_H
#define HUSK_OPS_GRAD_SCALE_H

#include <husk/tensor.h>

HUSK_BEGIN_DECLS

/** Options of husk_grad_scale(). */
typedef struct husk_grad_scale_params {
    uint32_t size;    /**< sizeof this struct; husk_grad_scale_defaults() sets it. */
    float factor;     /**< Finite; 0 is taken as it is. */
    float limit;      /**< 0 means none. */
    uint32_t divides; /**< Not 0: multiply by 1 / by, which is computed first, as GradScaler does. */
    uint32_t keeps;   /**< Not 0: found is not set to 0. */
    const char *variant; /**< NULL: the library chooses. */
    const husk_tensor *state; /**< Four elements, packed, of found's dtype; NULL: none. Only together with found. */
    float growth;             /**< Of state's scale: at least 1. */
    float backoff;            /**< Of state's scale: above 0, at most 1. */
    uint32_t interval;        /**< At least 1. */
} husk_grad_scale_params;

/** The defaults, to be changed afterwards: factor 1, growth 2, backoff 0.5, interval 2000, all else 0. */
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

/**
 * Enqueue the scaling.
 *
 * - The tensors are as for husk_grad_norm(). No two overlap.
 * - by and found are f32 with one element. They overlap nothing, except that by may be part of state. Either may be
 *   NULL: then there is no such factor, or no check.
 * - f64 does not mix: then all tensors, by, found and state are f64.
 * - If the whole factor is 1 and there is no limit, no tensor is written.
 * - NaN stays NaN, also with a limit.
 * - The same call gives the same bits.
 *
 * @par Error
 * At most 2 units of 2^-24 of x, or 8 with divides, and the rounding of f16 and bf16. For f64, 2^-53 replaces 2^-24.
 */
HUSK_API husk_status husk_grad_scale(husk_queue *queue, const husk_grad_scale_params *params,
                                     const husk_tensor *const *tensors, size_t count, const husk_tensor *by,
                                     const husk_tensor *found);

HUSK_END_DECLS

#endif
