/* SPDX-License-Identifier: MIT */
/** @file
 * Loss functions, and their gradients by the input.
 *
 * ## Losses of elements
 *
 * With d = x - target; target has x's shape and dtype:
 *
 *     MEAN_SQUARE      d^2
 *     ABSOLUTE         |d|
 *     SMOOTH_ABSOLUTE  |d| < beta: d^2 / (2 beta), else |d| - beta / 2              (PyTorch's smooth L1)
 *     HUBER            |d| <= beta: d^2 / 2, else beta (|d| - beta / 2)
 *     BINARY_LOGITS    weight ((1 - target) x + l (log(1 + e^-|x|) + max(-x, 0))),
 *                      l = 1 + (positive_weight - 1) target                 (PyTorch's BCE with logits)
 *     DIVERGENCE       target (log target - x), 0 log 0 = 0; with log_target e^target (target - x)
 *
 * ## Losses of rows
 *
 * A row has C classes, and its loss is one number. x is [C], or [N, C, space ...] with the classes in dimension 1. If
 * there are rows, C must not be 0.
 *
 *     CROSS_ENTROPY    -sum over c of q_c (log softmax x)_c
 *     NEGATIVE_LOG     -weight_y x_y, x being logarithms of probabilities              (PyTorch's NLL)
 *
 * target holds labels y: i32 or i64, in x's shape without the classes. For CROSS_ENTROPY it may instead hold
 * probabilities, in x's shape and dtype. With s = label_smoothing, and class weights of 1 if weight is NULL:
 *
 *     labels         q_c = weight_y (1 - s) [c = y] + weight_c s / C
 *     probabilities  q_c = weight_c (target_c (1 - s) + s / C)
 *
 * A row whose label is ignored has loss 0 and gradient 0.
 *
 * A label that is neither ignored nor between 0 and C - 1 is an error of the caller. Since labels lie on the device,
 * the error shows in the result, the same each time, and nothing is read out of bounds: the row's loss is NaN, and so
 * is every sum with it; the row's gradient is 0; its weight does not count. PyTorch asserts on the device, or reads
 * past the weights.
 *
 * ## Reductions
 *
 * They are PyTorch's:
 *
 * | reduction | loss |
 * | --- | --- |
 * | NONE | the loss of each element or row: x's shape, or that without the classes |
 * | SUM | a tensor of rank 0 |
 * | MEAN | a tensor of rank 0: the sum, divided by a count |
 *
 * The count is the number of elements; for targets that are probabilities, the number of rows; for labels, the sum of
 * the labels' weights. MEAN is NaN if all labels are ignored, or if there are no elements. PyTorch's "batchmean" is SUM
 * divided by N. ONNX's SoftmaxCrossEntropyLoss and NegativeLogLikelihoodLoss are the same, without smoothing.
 *
 * ## Tensors
 *
 * - x, target unless it holds labels, weight, positive_weight, loss and the gradients have one dtype (f32, f16, bf16,
 *   f64) and any strides.
 * - weight is [C] for losses of rows. For BINARY_LOGITS, weight and positive_weight broadcast to x's shape. Elsewhere
 *   they must be NULL.
 * - With NONE, loss may be x or target itself if it has the shape.
 * - dx may be x, or a target that holds no labels, unless it is added to.
 * - Otherwise outputs must not overlap anything.
 * - The gradient by target is not computed.
 * - The order of sums depends only on shapes and on the device's vector width.
 * - NaN and infinity go where the formulas send them. A row of only -infinity is NaN.
 *
 * ## Error
 *
 * With u = 2^-24, in f64 2^-53:
 *
 * - The loss of an element errs by 16 u times the sum of its absolute terms, and so does its gradient. The gradient of
 *   BINARY_LOGITS is weight ((1 - target) sigmoid(x) - positive_weight target sigmoid(-x)).
 * - A logarithm of softmax has the bound of husk/ops/softmax.h: (16 + 2 sqrt C) u max(1, |itself|).
 * - A sum of n terms errs by (4 + 2 sqrt n) u of its absolute terms.
 * - A row's gradient is g (Q p_c - q_c), with Q = sum q and p the softmax. p errs by (16 + 2 sqrt C + |x - max|) u p,
 *   the rest as sums do.
 * - Adding to dx costs 2 u more. Denormals that become zero add to the error.
 */
#ifndef HUSK_OPS_LOSS_H
#define HUSK_OPS_LOSS_H

#include <husk/gradient.h>

HUSK_BEGIN_DECLS

/** Every kind: name, number, text. */
#define HUSK_LOSS_LIST(X)                     \
    X(CROSS_ENTROPY, 0, "cross_entropy")      \
    X(NEGATIVE_LOG, 1, "negative_log")        \
    X(MEAN_SQUARE, 2, "mean_square")          \
    X(ABSOLUTE, 3, "absolute")                \
    X(SMOOTH_ABSOLUTE, 4, "smooth_absolute")  \
    X(HUBER, 5, "huber")                      \
    X(BINARY_LOGITS, 6, "binary_logits")      \
    X(DIVERGENCE, 7, "divergence")

/** The kinds of loss. The file's description has their formulas. */
typedef enum husk_loss_kind {
#define HUSK_LOSS_ENUM(name, number, text) HUSK_LOSS_##name = number,
    HUSK_LOSS_LIST(HUSK_LOSS_ENUM)
#undef HUSK_LOSS_ENUM
} husk_loss_kind;

/** A kind's name, such as "cross_entropy"; "unknown" for any other number. */
HUSK_API const char *husk_loss_kind_name(husk_loss_kind kind);

/** How losses are combined. The file's description has a table. */
typedef enum husk_loss_reduction { HUSK_LOSS_MEAN = 0, HUSK_LOSS_SUM = 1, HUSK_LOSS_NONE = 2 } husk_loss_reduction;

/** Options of husk_loss() and its gradient. */
typedef struct husk_loss_params {
    uint32_t size; /**< sizeof this struct; husk_loss_defaults() sets it. */
    husk_loss_kind kind;
    husk_loss_reduction reduction;
    /** Where the loss turns linear. SMOOTH_ABSOLUTE: 0 or more, and with 0 it is ABSOLUTE. HUBER: above 0. */
    float beta;
    float label_smoothing; /**< CROSS_ENTROPY: 0 to 1. */
    uint32_t log_target;   /**< DIVERGENCE. Not 0: target holds logarithms. */
    uint32_t accumulate;   /**< Gradient only: HUSK_ACCUMULATE_INPUTS adds to dx. */
    int64_t ignore_index;  /**< Rows with this label do not count. */
    const char *variant;   /**< NULL: the library chooses. */
} husk_loss_params;

/** PyTorch's defaults, to be changed afterwards: beta 1, ignore_index -100, all else 0. NULL params: CROSS_ENTROPY. */
static inline husk_loss_params husk_loss_defaults(husk_loss_kind kind)
{
    husk_loss_params made = HUSK_ZEROS;
    made.size = (uint32_t)sizeof made;
    made.kind = kind;
    made.beta = 1;
    made.ignore_index = -100;
    return made;
}

/** Enqueue the loss. weight and positive_weight may be NULL. */
HUSK_API husk_status husk_loss(husk_queue *queue, const husk_loss_params *params, const husk_tensor *x,
                               const husk_tensor *target, const husk_tensor *weight, const husk_tensor *positive_weight,
                               const husk_tensor *loss);

/** Enqueue the gradient dx, from what forward read and from dloss, which has loss's shape. params are forward's. */
HUSK_API husk_status husk_loss_backward(husk_queue *queue, const husk_loss_params *params, const husk_tensor *x,
                                        const husk_tensor *target, const husk_tensor *weight,
                                        const husk_tensor *positive_weight, const husk_tensor *dloss,
                                        const husk_tensor *dx);

HUSK_END_DECLS

#endif
