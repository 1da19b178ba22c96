/* SPDX-License-Identifier: MIT */
/*
 * husk/ops/optimizer.h: one step of an optimizer on one parameter, in place.
 *
 * w is the parameter, g its gradient; first, second and third are what a kind keeps from step to step, zeros before the
 * first. Every element by itself, as PyTorch's torch.optim, with g := g + weight_decay w beforehand, but for ADAMW:
 *
 *     SGD      without momentum w := w - rate g. With it first := momentum first + (1 - dampening) g, in step 1
 *              first := g; then w := w - rate first, with nesterov w := w - rate (g + momentum first)
 *     RMSPROP  second := beta second + (1 - beta) g^2; d := sqrt(second) + epsilon, with centered
 *              third := beta third + (1 - beta) g; d := sqrt(second - third^2) + epsilon. Without momentum
 *              w := w - rate g / d, with it first := momentum first + g / d; w := w - rate first
 *     ADAM     first := beta first + (1 - beta) g; second := beta2 second + (1 - beta2) g^2; with amsgrad
 *              third := max(third, second), which then stands for second in
 *              w := w - rate / (1 - beta^step) first / (sqrt(second / (1 - beta2^step)) + epsilon)
 *     ADAMW    as ADAM, but w := (1 - rate weight_decay) w beforehand
 *
 * ONNX's Momentum is SGD with dampening = 1 - its beta, its T counting from 0, its norm_coefficient being weight_decay.
 * ONNX's Adam adds epsilon before the root is corrected, and is ADAM with epsilon / sqrt(1 - beta2^step) and step = T;
 * of T = 0 it corrects nothing, and its norm_coefficient_post shrinks w afterwards.
 *
 * 1 - beta and what depends on the step are computed on the host in double; with `skipped` the latter on the device,
 * where 1 - beta^step and its use err by 16 units of 2^-24 (2^-53 in f64) of the step.
 *
 * Mixed precision: w and the states are f32, g is f32, f16 or bf16. `scale`, a number on the device, is what g is
 * multiplied with first, or divided by: husk_grad_norm's coefficient, or the loss scale. Where `skip`, a flag on the
 * device such as husk_grad_scale's `found`, is not 0, nothing is changed. `copy` receives w rounded to f16 or bf16:
 * what forward reads. Nothing of this waits for the device. The host cannot know of a step that was skipped, so `step`
 * counts it; `skipped`, a number on the device such as the fourth of husk_grad_scale's state, says how many earlier
 * steps were, and the step's own number is then step - skipped, 1 at least, as torch.amp counts.
 *
 * f64 stands alone: w, g, states, scale, skip and skipped are all f64, without a copy, and everything is computed in
 * f64.
 *
 * Tensors: the same shape, w and states f32, packed, not overlapping. States that the options do not keep must be NULL:
 * SGD keeps first with momentum; RMSPROP second, with momentum first, with centered third; ADAM and ADAMW first and
 * second, with amsgrad third. A zero-sized parameter does nothing. NaN and infinity go where the formulas send them.
 *
 * Error: each operation's rounding, 2^-24 of its result (2^-53 in f64), carried through the formulas to first order and
 * doubled, of a division 5 of them and of a root 6 (OpenCL's 2.5 and 3 ulp); and what denormals cost that become zero.
 * Where centered, second - third^2 cancels, and the error grows as that does: of gradients that hardly change it may
 * come out below 0, and w NaN, as in PyTorch.
 */
#ifndef HUSK_OPS_OPTIMIZER_H
#define HUSK_OPS_OPTIMIZER_H

#include <husk/tensor.h>

HUSK_BEGIN_DECLS

/* Name, number, text. */
#define HUSK_OPTIMIZER_LIST(X) \
    X(SGD, 0, "sgd")           \
    X(RMSPROP, 1, "rmsprop")   \
    X(ADAM, 2, "adam")         \
    X(ADAMW, 3, "adamw")

typedef enum husk_optimizer_kind {
#define HUSK_OPTIMIZER_ENUM(name, number, text) HUSK_OPTIMIZER_##name = number,
    HUSK_OPTIMIZER_LIST(HUSK_OPTIMIZER_ENUM)
#undef HUSK_OPTIMIZER_ENUM
} husk_optimizer_kind;

/* "sgd" ...; "unknown" for a number that is no kind. */
HUSK_API const char *husk_optimizer_kind_name(husk_optimizer_kind kind);

typedef struct husk_optimizer_params {
    uint32_t size; /* sizeof this struct: the functions below set it */
    husk_optimizer_kind kind;
    double rate;         /* the learning rate */
    double momentum;     /* SGD, RMSPROP: 0 or more */
    double dampening;    /* SGD: 0 or more */
    double beta;         /* RMSPROP (PyTorch's alpha), ADAM, ADAMW: 0 or more, less than 1 */
    double beta2;        /* ADAM, ADAMW: the same */
    double epsilon;      /* RMSPROP, ADAM, ADAMW: 0 or more */
    double weight_decay; /* 0 or more */
    uint32_t nesterov;   /* SGD with momentum */
    uint32_t centered;   /* RMSPROP */
    uint32_t amsgrad;    /* ADAM, ADAMW */
    uint64_t step;       /* 1, 2 ...: this step's number; 0 means 1 */
    const char *variant; /* NULL: chosen */
    const husk_tensor *scale; /* f32 (f64 beside an f64 w), one element; NULL: 1 */
    const husk_tensor *skip;  /* likewise; NULL: never */
    const husk_tensor *copy;  /* f16 or bf16, and as g unless that is f32; packed, w's shape; NULL: none */
    uint32_t divides;         /* g is multiplied by 1 / scale, which is computed first */
    const husk_tensor *skipped; /* as scale; NULL: no earlier step was skipped */
} husk_optimizer_params;

/*
 * PyTorch's defaults, to be changed afterwards: beta 0.9 (RMSPROP 0.99), beta2 0.999, epsilon 1e-8, weight_decay 0
 * (ADAMW 0.01), all else 0. Every number is then taken as it is, 0 included.
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

static inline husk_optimizer_params husk_sgd(double rate)
{
    return husk_optimizer_defaults(HUSK_OPTIMIZER_SGD, rate);
}

static inline husk_optimizer_params husk_rmsprop(double rate)
{
    return husk_optimizer_defaults(HUSK_OPTIMIZER_RMSPROP, rate);
}

static inline husk_optimizer_params husk_adam(double rate)
{
    return husk_optimizer_defaults(HUSK_OPTIMIZER_ADAM, rate);
}

static inline husk_optimizer_params husk_adamw(double rate)
{
    return husk_optimizer_defaults(HUSK_OPTIMIZER_ADAMW, rate);
}

HUSK_API husk_status husk_optimizer(husk_queue *queue, const husk_optimizer_params *params, const husk_tensor *g,
                                    const husk_tensor *w, const husk_tensor *first, const husk_tensor *second,
                                    const husk_tensor *third);

HUSK_END_DECLS

#endif
