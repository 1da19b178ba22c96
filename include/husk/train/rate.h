/* SPDX-License-Identifier: MIT */
/** @file
 * Learning rates that follow the step, or a measured value.
 *
 * A schedule is a function of the step alone: the number of updates done before, 0 for the first. So a checkpoint need
 * not store anything for it, and a resumed run has the rate that it would have had:
 *
 *     husk_rate_params rate = husk_rate_defaults(HUSK_RATE_COSINE, 1e-3);
 *     rate.steps = 10000;
 *     rate.warmup = 500;
 *     husk_graph_schedule_rate(graph, &rate);      before each husk_graph_step
 *
 * ## Kinds
 *
 * With s the step minus warmup, T = steps and r = rate:
 *
 *     CONSTANT         r
 *     STEP             r factor^floor(s / T)
 *     MULTI_STEP       r factor^(how many of the milestones are s or less)
 *     EXPONENTIAL      r factor^(s / T), not rounded
 *     POLYNOMIAL       e + (r - e) (1 - min(s, T) / T)^power; e = end_rate, power 1 is a line
 *     COSINE           e + (r - e) (1 + cos(pi min(s, T) / T)) / 2
 *     COSINE_RESTARTS  the same again and again, each time `growth` times as long: T, growth T, growth^2 T ...
 *     ONE_CYCLE        by half a cosine from start_rate up to r at s = rise T - 1, and down to end_rate at s = T - 1
 *
 * While the step is below warmup (Goyal et al., arXiv 1706.02677), every kind has the following rate instead, as
 * PyTorch's LinearLR:
 *
 *     warmup_rate + (the rate for s = 0 - warmup_rate) step / warmup
 *
 * | kind | PyTorch | source |
 * | --- | --- | --- |
 * | STEP | StepLR | |
 * | MULTI_STEP | MultiStepLR | |
 * | EXPONENTIAL | ExponentialLR has T = 1 | |
 * | POLYNOMIAL | PolynomialLR has e = 0 | |
 * | COSINE | CosineAnnealingLR up to T, after which PyTorch's rises again | Loshchilov, Hutter, arXiv 1608.03983 |
 * | COSINE_RESTARTS | CosineAnnealingWarmRestarts | |
 * | ONE_CYCLE | OneCycleLR with two phases; the momentum does not change | Smith, Topin, arXiv 1708.07120 |
 */
#ifndef HUSK_TRAIN_RATE_H
#define HUSK_TRAIN_RATE_H

#include <husk/train/step.h>

HUSK_BEGIN_DECLS

/** Every kind: name, number, text. */
#define HUSK_RATE_LIST(X)                    \
    X(CONSTANT, 0, "constant")               \
    X(STEP, 1, "step")                       \
    X(MULTI_STEP, 2, "multi_step")           \
    X(EXPONENTIAL, 3, "exponential")         \
    X(POLYNOMIAL, 4, "polynomial")           \
    X(COSINE, 5, "cosine")                   \
    X(COSINE_RESTARTS, 6, "cosine_restarts") \
    X(ONE_CYCLE, 7, "one_cycle")

/** The kinds of schedule. The file's description has their formulas. */
typedef enum husk_rate_kind {
#define HUSK_RATE_ENUM(name, number, text) HUSK_RATE_##name = number,
    HUSK_RATE_LIST(HUSK_RATE_ENUM)
#undef HUSK_RATE_ENUM
} husk_rate_kind;

/** A kind's name, such as "cosine"; "unknown" for any other number. */
HUSK_API const char *husk_rate_kind_name(husk_rate_kind kind);

/** A schedule. Rates are finite and 0 or more. Members that the kind does not use are ignored. */
typedef struct husk_rate_params {
    uint32_t size; /**< sizeof this struct; husk_rate_defaults() sets it. */
    husk_rate_kind kind;
    double rate;       /**< Required. */
    double factor;     /**< STEP, MULTI_STEP, EXPONENTIAL: above 0. */
    uint64_t steps;    /**< STEP, EXPONENTIAL, POLYNOMIAL, COSINE, COSINE_RESTARTS, ONE_CYCLE: 1 or more. */
    const uint64_t *milestones; /**< MULTI_STEP: rising. */
    size_t milestone_count;
    double end_rate;   /**< POLYNOMIAL, COSINE, COSINE_RESTARTS, ONE_CYCLE. */
    double power;      /**< POLYNOMIAL: above 0. */
    uint32_t growth;   /**< COSINE_RESTARTS: 1 or more. */
    double start_rate; /**< ONE_CYCLE. */
    double rise;       /**< ONE_CYCLE: the part of the steps that go up; below 1, and rise * steps is above 1. */
    uint64_t warmup;   /**< Steps; 0: none. */
    double warmup_rate; /**< Of the first step of the warmup. */
} husk_rate_params;

/**
 * PyTorch's defaults, to be changed afterwards: factor 0.1 (EXPONENTIAL 0.95), power 1, growth 1, rise 0.3, start_rate
 * rate / 25 and, for ONE_CYCLE, end_rate rate / 250,000; all else 0. steps has no default, except EXPONENTIAL's of 1.
 */
static inline husk_rate_params husk_rate_defaults(husk_rate_kind kind, double rate)
{
    husk_rate_params made = HUSK_ZEROS;
    made.size = (uint32_t)sizeof made;
    made.kind = kind;
    made.rate = rate;
    made.factor = kind == HUSK_RATE_EXPONENTIAL ? 0.95 : 0.1;
    made.steps = kind == HUSK_RATE_EXPONENTIAL ? 1 : 0;
    made.power = 1;
    made.growth = 1;
    made.start_rate = rate / 25;
    made.end_rate = kind == HUSK_RATE_ONE_CYCLE ? made.start_rate / 10000 : 0;
    made.rise = 0.3;
    return made;
}

/** The rate for a step. */
HUSK_API husk_status husk_rate_at(const husk_rate_params *params, uint64_t step, double *rate, husk_error *error);

/**
 * Set the rate of a graph's next update, by the number of updates done. husk_graph_error() has the text of a failure.
 */
HUSK_API husk_status husk_graph_schedule_rate(husk_graph *graph, const husk_rate_params *params);

/* ---- by what is measured ---------------------------------------------------------------------------------- */

/** Which values are better: smaller ones, such as losses, or larger ones, such as accuracies. */
typedef enum husk_better { HUSK_LESS_IS_BETTER = 0, HUSK_MORE_IS_BETTER = 1 } husk_better;

/**
 * Options of PyTorch's ReduceLROnPlateau: the rate is multiplied by factor after more than `patience` values in a row,
 * one for each epoch, that were not better than the best one. A value is better if it is
 *
 *     below best (1 - threshold), or above best (1 + threshold) where more is better
 *     with `absolute` below best - threshold, or above best + threshold
 *
 * NaN is not better. There is no counterpart of PyTorch's eps, the smallest change that is made.
 */
typedef struct husk_plateau_params {
    uint32_t size;       /**< sizeof this struct; HUSK_PLATEAU_PARAMS() sets it. */
    husk_better better;
    double rate;         /**< The first rate; required. */
    double factor;       /**< Between 0 and 1; 0 means 0.1. */
    uint64_t patience;   /**< Taken as it is, also 0. PyTorch's default is 10. */
    double threshold;    /**< 0 or more, taken as it is. PyTorch's default is 1e-4. */
    uint32_t absolute;   /**< Not 0: the threshold is absolute. */
    uint64_t cooldown;   /**< Values after a reduction that do not count. */
    double least_rate;   /**< The rate does not fall below it. */
} husk_plateau_params;

/** Makes a husk_plateau_params; see husk/export.h. */
#define HUSK_PLATEAU_PARAMS(...) HUSK_MAKE(husk_plateau_params, __VA_ARGS__)

/** The state; zeros before the first value. It is plain numbers. husk_plateau_save() makes a text for a checkpoint. */
typedef struct husk_plateau {
    double rate;      /**< From now on. */
    double best;
    uint64_t waited;  /**< Values in a row that were not better. */
    uint64_t cooling; /**< Values of the cooldown that are left. */
    uint32_t has_rate, /**< Not 0: rate is set. */
        has_best;      /**< Not 0: best is set. */
} husk_plateau;

/** Process a new value. */
HUSK_API husk_status husk_plateau_step(const husk_plateau_params *params, husk_plateau *plateau, double value,
                                       husk_error *error);

/** The size of the text of a state, with its terminating zero. */
#define HUSK_STATE_TEXT 128

/** Write the state as a text. */
HUSK_API husk_status husk_plateau_save(const husk_plateau *plateau, char text[HUSK_STATE_TEXT], husk_error *error);
/** Read the state from a text of husk_plateau_save(), the same to the bit. Any other text is refused. */
HUSK_API husk_status husk_plateau_load(const char *text, husk_plateau *plateau, husk_error *error);

HUSK_END_DECLS

#endif
