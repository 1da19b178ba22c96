/* SPDX-License-Identifier: MIT */
/** @file
 * Layer, RMS, group, instance and batch normalisation, and their gradients.
 *
 *     y = (x - mean) * rstd * scale + bias        rstd = 1 / sqrt(variance + epsilon)
 *     y = x * rstd * scale + bias                 rstd = 1 / sqrt(mean of x^2 + epsilon)          RMS
 *
 * ## Kinds
 *
 * mean and variance are those of a *set* of n elements of x; both are divided by n.
 *
 * | kind | x | a set is | scale, bias | mean, rstd | source |
 * | --- | --- | --- | --- | --- | --- |
 * | LAYER | [leading..., trailing...] | one leading index | [trailing...] | [leading...] | arXiv 1607.06450 |
 * | RMS | as LAYER | as LAYER | [trailing...] | rstd [leading...], no mean | arXiv 1910.07467 |
 * | GROUP | [N, C, space...] | C / groups neighbouring channels of an image | [C] | [N, groups] | arXiv 1803.08494 |
 * | INSTANCE | [N, C, space...] | a channel of an image | [C] | [N, C] | |
 * | BATCH | [N, C, space...] | a channel of all images | [C] | [C] | arXiv 1502.03167 |
 *
 * For LAYER and RMS, params.axis is the first of the trailing dimensions. groups must divide C.
 *
 * ## BATCH
 *
 * With `training`, BATCH uses the batch's statistics. It updates running_mean and running_variance [C] if they are
 * given:
 *
 *     running = (1 - momentum) * running + momentum * batch's
 *
 * The variance is divided by n - 1 here, as in PyTorch. Each channel needs at least two elements.
 *
 * Without `training`, the running statistics replace x's. Both must be given, and are not changed.
 *
 * ## PyTorch and ONNX
 *
 * - ONNX's momentum is 1 minus PyTorch's, which is used here. ONNX's running variance is divided by n.
 * - The default epsilon of PyTorch and ONNX is 1e-5. PyTorch's RMS norm uses 2^-23.
 *
 * ## Tensors
 *
 * - x and y have the same shape and dtype (f32, f16, bf16, f64). LAYER and RMS take rank 1 to 8, the others 2 to 8.
 * - Strides are free, with one limit. After contiguous dimensions are merged, neither the dimensions of a set nor those
 *   beside it may be more than four (HUSK_UNSUPPORTED). Packed and channels-last tensors are fast.
 * - y may be x itself; otherwise they must not overlap.
 * - scale, bias and their gradients are packed and have x's dtype. Each may be NULL.
 * - Statistics are packed and f32, or f64 if x is f64. Each may be NULL, except those that inference needs.
 * - mean and rstd are what the gradient reads. They are written without `training`, too: the running mean and its
 *   1 / sqrt(...).
 * - A zero-sized x does nothing, and no statistic is written.
 *
 * ## Special values
 *
 * - A set that contains NaN or infinity gives NaN throughout, also in mean and rstd.
 * - RMS: NaN gives NaN. Infinity gives an rstd of 0, so 0 for finite elements and NaN for the infinity.
 * - If x, or its difference to the mean, exceeds 2^60 in magnitude, squares may overflow. Denormals count as zeros.
 *
 * ## Error
 *
 * With u = 2^-24, f = 16 + 2 sqrt n, xhat = (x - mean) * rstd, m the mean of |x| and d the mean of |x - mean|, all of
 * the set:
 *
 *     |error of y| <= f u |scale| (1 + |xhat| + f u m rstd) + 4 u (|bias| + |y|)
 *     |error of mean| <= f u (d + f u m) + 2 u |mean|
 *     |error of rstd| <= f u rstd (1 + (f u m rstd)^2)
 *
 * - For RMS, and without `training`, the sum in parentheses of y's bound is |xhat| alone. Without `training` f is 16.
 * - f16 and bf16 are computed in f32, and add half a unit in the last place of what is stored.
 * - In f64 u = 2^-53. epsilon and momentum are still f32 numbers.
 *
 * A large mean costs no accuracy: means are corrected by the mean of the differences to them, and variances are sums of
 * squared differences, of blocks and then of the blocks' means.
 */
#ifndef HUSK_OPS_NORM_H
#define HUSK_OPS_NORM_H

#include <husk/gradient.h>

HUSK_BEGIN_DECLS

/** Every kind: name, number, text. */
#define HUSK_NORM_LIST(X)                                                                           \
    X(LAYER, 0, "layer")                                                                            \
    X(RMS, 1, "rms")                                                                                \
    X(GROUP, 2, "group")                                                                            \
    X(INSTANCE, 3, "instance")                                                                      \
    X(BATCH, 4, "batch")

/** The kinds of normalisation. The file's description has a table. */
typedef enum husk_norm_kind {
#define HUSK_NORM_ENUM(name, number, text) HUSK_NORM_##name = number,
    HUSK_NORM_LIST(HUSK_NORM_ENUM)
#undef HUSK_NORM_ENUM
} husk_norm_kind;

/** A kind's name, such as "layer"; "unknown" for any other number. */
HUSK_API const char *husk_norm_kind_name(husk_norm_kind kind);

/** Options of husk_norm() and its gradient. */
typedef struct husk_norm_params {
    uint32_t size; /**< sizeof this struct; husk_norm_defaults() sets it. */
    husk_norm_kind kind;
    int32_t axis;        /**< LAYER, RMS: the first dimension of a set, which goes to the last; see husk/tensor.h. */
    uint32_t groups;     /**< GROUP; 0 means 1. */
    float epsilon;       /**< 0 or more. */
    float momentum;      /**< BATCH with training: 0 (the running statistics do not change) to 1. */
    uint32_t training;   /**< BATCH. Not 0: use the statistics of x; 0: use the running ones. */
    uint32_t accumulate; /**< Gradient only: bits of husk_accumulate. */
    const char *variant; /**< NULL: the library chooses. */
} husk_norm_params;

/** The defaults, to be changed afterwards: axis -1, epsilon 1e-5, momentum 0.1, all else 0. NULL params are LAYER's. */
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

/**
 * Enqueue the normalisation. x, scale and bias are inputs; y, mean and rstd are outputs. running_mean and
 * running_variance are both with `training`, and inputs without it.
 */
HUSK_API husk_status husk_norm(husk_queue *queue, const husk_norm_params *params, const husk_tensor *x,
                               const husk_tensor *scale, const husk_tensor *bias, const husk_tensor *running_mean,
                               const husk_tensor *running_variance, const husk_tensor *y, const husk_tensor *mean,
                               const husk_tensor *rstd);

/**
 * Enqueue the gradients, from x, scale and what forward saved: mean (NULL for RMS) and rstd.
 *
 * With xhat = (x - mean) * rstd and g = dy * scale:
 *
 *     dx = rstd * (g - mean of g - xhat * mean of (g * xhat))     means over the set; RMS: without the mean of g
 *     dx = rstd * g                                               BATCH without training
 *     dscale = sum of dy * xhat,  dbias = sum of dy               over all elements that share a scale
 *
 * The first line follows from d xhat_i / d x_j = rstd * (delta_ij - 1/n - xhat_i xhat_j / n). The gradients are those
 * for the given mean and rstd.
 *
 * - A scale of NULL stands for ones.
 * - dx may be x or dy itself, unless it is added to.
 * - With a zero-sized x, dx is empty, and dscale and dbias are 0.
 *
 * @par NaN, infinity and range
 * - A NaN among a set's g, x, mean and rstd makes all of its dx NaN. An infinity makes it infinite or NaN.
 * - BATCH without `training`: an element of dx depends only on its own dy.
 * - rstd^2 times the mean of (g * xhat) is an intermediate result. Beyond 2^128 the set's dx is not finite; below
 *   2^-126 it counts as zero.
 *
 * @par Error
 * With u and f as in the file's description, and q = 16 + 2 sqrt k for k elements that share a scale:
 *
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
