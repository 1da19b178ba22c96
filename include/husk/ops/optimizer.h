/* SPDX-License-Identifier: MIT */
/** @file
 * One step of an optimizer on one parameter, in place.
 *
 * w is the parameter and g its gradient. first, second and third are the states that a kind keeps from step to step;
 * they are zeros before the first step. Each element is computed on its own, as in PyTorch's torch.optim.
 *
 * All kinds except ADAMW begin with
 *
 *     g := g + weight_decay w
 *
 * SGD:
 *
 *     without momentum   w := w - rate g
 *     with momentum      first := momentum first + (1 - dampening) g, in step 1 first := g
 *                        w := w - rate first; with nesterov w := w - rate (g + momentum first)
 *
 * RMSPROP:
 *
 *     second := beta second + (1 - beta) g^2
 *     d := sqrt(second) + epsilon
 *     with centered      third := beta third + (1 - beta) g; d := sqrt(second - third^2) + epsilon
 *     without momentum   w := w - rate g / d
 *     with momentum      first := momentum first + g / d; w := w - rate first
 *
 * ADAM:
 *
 *     first := beta first + (1 - beta) g
 *     second := beta2 second + (1 - beta2) g^2
 *     with amsgrad       third := max(third, second), which then replaces second in
 *     w := w - rate / (1 - beta^step) first / (sqrt(second / (1 - beta2^step)) + epsilon)
 *
 * ADAMW is ADAM, but begins with
 *
 *     w := (1 - rate weight_decay) w
 *
 * ## ONNX
 *
 * - ONNX's Momentum is SGD with dampening = 1 - its beta. Its T counts from 0, and its norm_coefficient is
 *   weight_decay.
 * - ONNX's Adam adds epsilon before the root is corrected. It is ADAM with epsilon / sqrt(1 - beta2^step) and step = T.
 *   With T = 0 it corrects nothing. Its norm_coefficient_post shrinks w afterwards.
 *
 * ## Tensors
 *
 * All have the same shape and are packed. They do not overlap. w and the states are f32; g is f32, f16 or bf16. States
 * that the options do not use must be NULL:
 *
 * | kind | first | second | third |
 * | --- | --- | --- | --- |
 * | SGD | with momentum | | |
 * | RMSPROP | with momentum | always | with centered |
 * | ADAM, ADAMW | always | always | with amsgrad |
 *
 * f64 does not mix with other dtypes: w, g, the states, scale, skip and skipped are all f64, there is no copy, and
 * everything is computed in f64.
 *
 * A zero-sized parameter does nothing. NaN and infinity go where the formulas send them.
 *
 * ## Mixed precision
 *
 * The params name tensors on the device. None of them makes the host wait for the device:
 *
 * - `scale` is a number by which g is first multiplied or divided: the coefficient of husk_grad_norm(), or the loss
 *   scale.
 * - `skip` is a flag, such as `found` of husk_grad_scale(). If it is not 0, nothing is changed.
 * - `copy` receives w rounded to f16 or bf16, which is what forward reads.
 * - `skipped` is the number of earlier steps that were skipped, such as the fourth number of husk_grad_scale()'s state.
 *   The host cannot know of a skipped step, so `step` counts it. The actual number of the step is step - skipped, at
 *   least 1, as torch.amp counts.
 *
 * ## Error
 *
 * The bound is the rounding of each operation, 2^-24 of its result (2^-53 in f64), carried through the formulas to
 * first order and doubled. A division counts as 5 roundings, a root as 6 (OpenCL's 2.5 and 3 ulp). Denormals that
 * become zero add to it.
 *
 * - 1 - beta, and what depends on the step, are computed on the host in double. With `skipped`, what depends on the
 *   step is computed on the device; then 1 - beta^step and its use err by 16 units of 2^-24 (2^-53 in f64) of the step.
 * - With centered, second - third^2 cancels, and the error grows accordingly. For gradients that hardly change, the
 *   difference may be below 0, and w NaN, as in PyTorch.
 */
#ifndef HUSK_OPS_OPTIMIZER_H
#define HUSK_OPS_OPTIMIZER_H

#include <husk/tensor.h>

HUSK_BEGIN_DECLS

/** Every kind: name, number, text. */
#define HUSK_OPTIMIZER_LIST(X) \
    X(SGD, 0, "sgd")           \
    X(RMSPROP, 1, "rmsprop")   \
    X(ADAM, 2, "adam")         \
    X(ADAMW, 3, "adamw")

/** The kinds of optimizer. The file's description has their formulas. */
typedef enum husk_optimizer_kind {
#define HUSK_OPTIMIZER_ENUM(name, number, text) HUSK_OPTIMIZER_##name = number,
    HUSK_OPTIMIZER_LIST(HUSK_OPTIMIZER_ENUM)
#undef HUSK_OPTIMIZER_ENUM
} husk_optimizer_kind;

/** A kind's name, such as "sgd"; "unknown" for any other number. */
HUSK_API const char *husk_optimizer_kind_name(husk_optimizer_kind kind);

/** Options of husk_optimizer(). Start from husk_optimizer_defaults(): every number is taken as it is, also 0. */
typedef struct husk_optimizer_params {
    uint32_t size; /**< sizeof this struct; husk_optimizer_defaults() sets it. */
    husk_optimizer_kind kind;
    double rate;         /**< The learning rate. */
    double momentum;     /**< SGD, RMSPROP: 0 or more. */
    double dampening;    /**< SGD: 0 or more. */
    double beta;         /**< RMSPROP (PyTorch's alpha), ADAM, ADAMW: 0 or more, less than 1. */
    double beta2;        /**< ADAM, ADAMW: the same. */
    double epsilon;      /**< RMSPROP, ADAM, ADAMW: 0 or more. */
    double weight_decay; /**< 0 or more. */
    uint32_t nesterov;   /**< SGD with momentum. */
    uint32_t centered;   /**< RMSPROP. */
    uint32_t amsgrad;    /**< ADAM, ADAMW. */
    uint64_t step;       /**< The number of this step: 1, 2 and so on. 0 means 1. */
    const char *variant; /**< NULL: the library chooses. */
    const husk_tensor *scale; /**< f32 (f64 beside an f64 w), one element; NULL: 1. */
    const husk_tensor *skip;  /**< As scale; NULL: never skip. */
    const husk_tensor *copy;  /**< f16 or bf16, and as g unless g is f32; packed, w's shape; NULL: none. */
    uint32_t divides;         /**< Not 0: g is multiplied by 1 / scale, which is computed first. */
    const husk_tensor *skipped; /**< As scale; NULL: no earlier step was skipped. */
} husk_optimizer_params;

/**
 * PyTorch's defaults, to be changed afterwards: beta 0.9 (RMSPROP 0.99), beta2 0.999, epsilon 1e-8, weight_decay 0
 * (ADAMW 0.01), all else 0.
 */
static inline husk_optimizer_params husk_optimizer_defaults(husk_optimizer_kind kind, double rate)
{
    husk_optimizer_params made = HUSK_ZEROS;
    made.size = (uint32_t)sizeof made;
    made.kind = kind;
    made.rate = rate;
    made.beta = kind == HUSK_OPTIMIZER_RMSPROP ? 0.99 : 0.9;
    made.beta2 = 0.999;
    made.epsilon = 1e-8;
    made.weight_decay = kind == HUSK_OPTIMIZER_ADAMW ? 0.01 : 0;
    return made;
}

/** The defaults of SGD. */
static inline husk_optimizer_params husk_sgd(double rate)
{
    return husk_optimizer_defaults(HUSK_OPTIMIZER_SGD, rate);
}

/** The defaults of RMSPROP. */
static inline husk_optimizer_params husk_rmsprop(double rate)
{
    return husk_optimizer_defaults(HUSK_OPTIMIZER_RMSPROP, rate);
}

/** The defaults of ADAM. */
static inline husk_optimizer_params husk_adam(double rate)
{
    return husk_optimizer_defaults(HUSK_OPTIMIZER_ADAM, rate);
}

/** The defaults of ADAMW. */
static inline husk_optimizer_params husk_adamw(double rate)
{
    return husk_optimizer_defaults(HUSK_OPTIMIZER_ADAMW, rate);
}

/** Enqueue the step. It reads g, and updates w and the states. */
HUSK_API husk_status husk_optimizer(husk_queue *queue, const husk_optimizer_params *params, const husk_tensor *g,
                                    const husk_tensor *w, const husk_tensor *first, const husk_tensor *second,
                                    const husk_tensor *third);

HUSK_END_DECLS

#endif
