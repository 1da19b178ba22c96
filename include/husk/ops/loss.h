/* SPDX-License-Identifier: MIT */
/*
 * husk/ops/loss.h: loss functions and their gradients by the input.
 *
 * Of every element by itself, d = x - target; target has x's shape and dtype:
 *
 *     MEAN_SQUARE      d^2
 *     ABSOLUTE         |d|
 *     SMOOTH_ABSOLUTE  |d| < beta: d^2 / (2 beta), else |d| - beta / 2              (PyTorch's smooth L1)
 *     HUBER            |d| <= beta: d^2 / 2, else beta (|d| - beta / 2)
 *     BINARY_LOGITS    weight ((1 - target) x + l (log(1 + e^-|x|) + max(-x, 0))),
 *                      l = 1 + (positive_weight - 1) target                 (PyTorch's BCE with logits)
 *     DIVERGENCE       target (log target - x), 0 log 0 = 0; with log_target e^target (target - x)
 *
 * Of rows of C classes; x is [C], or [N, C, space ...], the classes in dimension 1, and a row's loss is one number
 * (where there are rows, C must not be 0):
 *
 *     CROSS_ENTROPY    -sum over c of q_c (log softmax x)_c
 *     NEGATIVE_LOG     -weight_y x_y, x being logarithms of probabilities              (PyTorch's NLL)
 *
 * target holds labels y (i32, i64; x's shape without the classes), or for CROSS_ENTROPY probabilities (x's shape and
 * dtype). With s = label_smoothing and class weights (1 where weight is NULL)
 *     labels         q_c = weight_y (1 - s) [c = y] + weight_c s / C
 *     probabilities  q_c = weight_c (target_c (1 - s) + s / C)
 * A row whose label is ignored has loss 0 and gradient 0. Labels that are neither ignored nor 0 ... C - 1 are the
 * caller's mistake, and since they lie on the device it shows in the result, the same each time and without reading
 * past anything: the row's loss is NaN and thus every sum with it, the row's gradient is 0, and its weight does not
 * count. (PyTorch asserts on the device, or reads past the weights.)
 *
 * Reductions are PyTorch's: NONE has the rows' or elements' losses (x's shape, or without the classes), SUM and MEAN a
 * tensor of rank 0. MEAN divides by the number of elements, of rows where targets are probabilities, by the sum of the
 * labels' weights where they are labels: NaN where all are ignored, or there is none. (PyTorch's "batchmean" is SUM
 * divided by N.) ONNX's SoftmaxCrossEntropyLoss and NegativeLogLikelihoodLoss are the same without smoothing.
 *
 * x, target if it is no label, weight, positive_weight, loss and their gradients have one dtype (f32, f16, bf16, f64),
 * any strides. weight: [C] for rows; for BINARY_LOGITS it and positive_weight can be broadcast to x's shape; elsewhere
 * they must be NULL. In NONE, loss may be x or target itself where it has the shape; dx may be x, or a target that is
 * no label, unless it is added to; otherwise outputs must not overlap anything. Gradients by target are not computed.
 * Sums are in an order that depends on shapes and the device's vector width alone.
 *
 * NaN and infinity go where the formulas send them; a row of -infinity alone is NaN.
 *
 * Error, u = 2^-24, in f64 2^-53. An element's loss: 16 u times the sum of its absolute terms, and so its gradient, of
 * BINARY_LOGITS weight ((1 - target) sigmoid(x) - positive_weight target sigmoid(-x)). A logarithm of softmax:
 * that of husk/ops/softmax.h, (16 + 2 sqrt C) u max(1, |itself|). Sums of n: (4 + 2 sqrt n) u of their
 * absolute terms. A row's gradient is g (Q p_c - q_c), Q = sum q, p softmax: p errs by (16 + 2 sqrt C + |x - max|) u p,
 * the rest as sums do. 2 u more where it is added, and what denormals cost that become zero.
 */
#ifndef HUSK_OPS_LOSS_H
#define HUSK_OPS_LOSS_H

#include <husk/gradient.h>

HUSK_BEGIN_DECLS

/* Name, number, text. */
#define HUSK_LOSS_LIST(X)                     \
    X(CROSS_ENTROPY, 0, "cross_entropy")      \
    X(NEGATIVE_LOG, 1, "negative_log")        \
    X(MEAN_SQUARE, 2, "mean_square")          \
    X(ABSOLUTE, 3, "absolute")                \
    X(SMOOTH_ABSOLUTE, 4, "smooth_absolute")  \
    X(HUBER, 5, "huber")                      \
    X(BINARY_LOGITS, 6, "binary_logits")      \
    X(DIVERGENCE, 7, "divergence")

typedef enum husk_loss_kind {
#define HUSK_LOSS_ENUM(name, number, text) HUSK_LOSS_##name = number,
    HUSK_LOSS_LIST(HUSK_LOSS_ENUM)
#undef HUSK_LOSS_ENUM
} husk_loss_kind;

/* "cross_entropy" ...; "unknown" for a number that is no kind. */
HUSK_API const char *husk_loss_kind_name(husk_loss_kind kind);

typedef enum husk_loss_reduction {
    HUSK_LOSS_MEAN = 0,
    HUSK_LOSS_SUM = 1,
    HUSK_LOSS_NONE = 2
} husk_loss_reduction;

typedef struct husk_loss_params {
    uint32_t size; /* sizeof this struct: husk_loss_defaults sets it */
    husk_loss_kind kind;
    husk_loss_reduction reduction;
    float beta; /* where they turn linear. SMOOTH_ABSOLUTE: 0 (it is ABSOLUTE then) or more; HUBER: above 0 */
    float label_smoothing; /* CROSS_ENTROPY: 0 to 1 */
    uint32_t log_target;   /* DIVERGENCE, not 0: target holds logarithms */
    uint32_t accumulate;   /* backward alone: HUSK_ACCUMULATE_INPUTS adds to dx */
    int64_t ignore_index;  /* of labels: rows that have it count nowhere */
    const char *variant; /* NULL: chosen */
} husk_loss_params;

/* PyTorch's, to be changed afterwards: beta 1, ignore_index -100, all else 0. NULL params: those of CROSS_ENTROPY. */
static inline husk_loss_params husk_loss_defaults(husk_loss_kind kind)
{
    husk_loss_params made = HUSK_ZEROS;
    made.size = (uint32_t)sizeof made;
    made.kind = kind;
    made.beta = 1;
    made.ignore_index = -100;
    return made;
}

/* weight and positive_weight may be NULL. */
HUSK_API husk_status husk_loss(husk_queue *queue, const husk_loss_params *params, const husk_tensor *x,
                               const husk_tensor *target, const husk_tensor *weight,
                               const husk_tensor *positive_weight, const husk_tensor *loss);

/* dx from what forward read and dloss, of loss's shape; params are those of the forward call. */
HUSK_API husk_status husk_loss_backward(husk_queue *queue, const husk_loss_params *params, const husk_tensor *x,
                                        const husk_tensor *target, const husk_tensor *weight,
                                        const husk_tensor *positive_weight, const husk_tensor *dloss,
                                        const husk_tensor *dx);

HUSK_END_DECLS

#endif
