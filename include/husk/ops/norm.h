/* SPDX-License-Identifier: MIT */
/*
 * husk/ops/norm.h: layer, RMS, group, instance and batch normalisation, and their gradients.
 *
 *     y = (x - mean) * rstd * scale + bias        rstd = 1 / sqrt(variance + epsilon)
 *     y = x * rstd * scale + bias                 rstd = 1 / sqrt(mean of x^2 + epsilon)          RMS
 *
 * mean and variance (of n elements, divided by n) are those of a *set* of elements of x:
 *
 *     LAYER, RMS  the dimensions of x from `axis` on, [leading..., trailing...]; a set for each leading index;
 *                 scale, bias [trailing...], mean, rstd [leading...]      arXiv 1607.06450, 1910.07467
 *     GROUP       x [N, C, space...]: C / groups neighbouring channels of an image; scale, bias [C],
 *                 mean, rstd [N, groups]                                  arXiv 1803.08494
 *     INSTANCE    x [N, C, space...]: a channel of an image; scale, bias [C], mean, rstd [N, C]
 *     BATCH       x [N, C, space...]: a channel of all images; scale, bias, mean, rstd [C]   arXiv 1502.03167
 *
 * BATCH with `training` uses the batch's statistics and updates running_mean and running_variance [C], where given:
 *     running = (1 - momentum) * running + momentum * batch's,      the variance divided by n - 1, as PyTorch does
 * (ONNX's momentum is 1 minus PyTorch's, and its running variance is divided by n). It needs two elements a channel at
 * least. Without `training` the running statistics are used instead of x's; both must be given, and stay as they are.
 *
 * An epsilon of 1e-5 is PyTorch's and ONNX's default for all kinds but PyTorch's RMS, which takes 2^-23. groups must
 * divide C.
 *
 * Tensors: x and y have the same shape (LAYER, RMS: rank 1 to 8, others: rank 2 to 8) and dtype (f32, f16, bf16,
 * f64). Any strides, as long as neither the dimensions of a set nor those beside it are more than four after those that
 * lie one after the other were merged (UNSUPPORTED otherwise); packed and channels-last ones are fast. y may be x
 * itself, otherwise they must not overlap. scale, bias and their gradients are packed and of x's dtype, each may be
 * NULL; statistics are packed and f32 (f64 where x is), each may be NULL but what inference needs; RMS has no mean.
 * mean and rstd are what backward reads; they are written without `training`, too: the running mean and its 1 /
 * sqrt(...).
 *
 * A zero-sized x does nothing: no statistic is written. A set that holds NaN or infinity gives NaN throughout, mean and
 * rstd too; RMS: NaN gives NaN, infinity an rstd of 0, so 0 for what is finite and NaN for the infinity.
 * Where x, or its difference to the mean, exceeds 2^60 in magnitude, squares may overflow; denormals count as zeros.
 *
 * Error. Means are corrected by the mean of the differences to them, and variances are sums of squared differences, of
 * blocks and then of the blocks' means, so a large mean costs nothing: with u = 2^-24, f = 16 + 2 sqrt n and m the mean
 * of |x|, all of the set,
 *     |error of y| <= f u |scale| (1 + |xhat| + f u m rstd) + 4 u (|bias| + |y|),   xhat = (x - mean) * rstd
 *     |error of mean| <= f u (d + f u m) + 2 u |mean|,   d the mean of |x - mean|
 *     |error of rstd| <= f u rstd (1 + (f u m rstd)^2)
 * In RMS the sum in parentheses is |xhat| alone; without `training` it is so, too, and f is 16. f16 and bf16 are
 * computed in f32 and add half a unit in the last place of what is stored; in f64 u = 2^-53, epsilon and momentum
 * being f32 numbers still.
 */
#ifndef HUSK_OPS_NORM_H
#define HUSK_OPS_NORM_H

#include <husk/gradient.h>

HUSK_BEGIN_DECLS

#define HUSK_NORM_LIST(X)                                                                           \
    X(LAYER, 0, "layer")                                                                            \
    X(RMS, 1, "rms")                                                                                \
    X(GROUP, 2, "group")                                                                            \
    X(INSTANCE, 3, "instance")                                                                      \
    X(BATCH, 4, "batch")

typedef enum husk_norm_kind {
#define HUSK_NORM_ENUM(name, number, text) HUSK_NORM_##name = number,
    HUSK_NORM_LIST(HUSK_NORM_ENUM)
#undef HUSK_NORM_ENUM
} husk_norm_kind;

/* "layer" ...; "unknown" for a number that is no kind. */
HUSK_API const char *husk_norm_kind_name(husk_norm_kind kind);

typedef struct husk_norm_params {
    uint32_t size; /* sizeof this struct: husk_norm_defaults sets it */
    husk_norm_kind kind;
    int32_t axis; /* LAYER, RMS: the first dimension of a set, which goes to the last; see husk/tensor.h */
    uint32_t groups;     /* GROUP; 0 means 1 */
    float epsilon;       /* 0 or more */
    float momentum;      /* BATCH with training: 0 (the running statistics stay) to 1 */
    uint32_t training;   /* BATCH: not 0: statistics of x, not the running ones */
    uint32_t accumulate; /* backward: husk_accumulate bits */
    const char *variant; /* NULL: chosen */
} husk_norm_params;

/* To be changed afterwards: axis -1, epsilon 1e-5, momentum 0.1, all else 0. NULL params are those of LAYER. */
static inline husk_norm_params husk_norm_defaults(husk_norm_kind kind)
{
    husk_norm_params made = HUSK_ZEROS;
    made.size = (uint32_t)sizeof made;
    made.kind = kind;
    made.axis = -1;
    made.epsilon = 1e-5f;
    made.momentum = 0.1f;
    return made;
}

/* Inputs x, scale, bias; running_mean and running_variance in and out; outputs y, mean, rstd. */
HUSK_API husk_status husk_norm(husk_queue *queue, const husk_norm_params *params, const husk_tensor *x,
                               const husk_tensor *scale, const husk_tensor *bias, const husk_tensor *running_mean,
                               const husk_tensor *running_variance, const husk_tensor *y, const husk_tensor *mean,
                               const husk_tensor *rstd);

/*
 * The gradients, from x, scale and what forward saved: mean (NULL for RMS) and rstd. With xhat = (x - mean) * rstd and
 * g = dy * scale,
 *     dx = rstd * (g - mean of g - xhat * mean of (g * xhat))     means over the set; RMS: without the mean of g
 *     dx = rstd * g                                               BATCH without training
 *     dscale = sum of dy * xhat,  dbias = sum of dy               over all elements that share a scale
 * The first follows from d xhat_i / d x_j = rstd * (delta_ij - 1/n - xhat_i xhat_j / n). They are the gradients for the
 * mean and rstd that are given.
 *
 * scale NULL stands for ones. dx may be x or dy itself, unless it is accumulated to. A zero-sized x has a dx of nothing
 * and a dscale and dbias of zeros. A NaN among a set's g, x, mean and rstd makes all of its dx NaN, an infinity
 * infinite or NaN; BATCH without `training`: a dx is the product of its own dy alone. rstd^2 times the mean of
 * (g * xhat) is formed on the way: beyond 2^128 the set's dx is not finite, and below 2^-126 it counts as zero.
 *
 * Error, f as above and q = 16 + 2 sqrt k, k elements that share a scale:
 *     |error of dx| <= u |rstd| (8 |g| + f (mean of |g| + |xhat| mean of |g xhat|)) + 2 u |dx|
 *     |error of dscale| <= q u sum |dy xhat| + 2 u |dscale|
 *     |error of dbias| <= q u sum |dy| + 2 u |dbias|
 */
HUSK_API husk_status husk_norm_backward(husk_queue *queue, const husk_norm_params *params, const husk_tensor *x,
                                        const husk_tensor *scale, const husk_tensor *mean, const husk_tensor *rstd,
                                        const husk_tensor *dy, const husk_tensor *dx, const husk_tensor *dscale,
                                        const husk_tensor *dbias);

HUSK_END_DECLS

#endif
