/* SPDX-License-Identifier: MIT */
/*
 * husk/train/rate.h: learning rates that follow the step.
 *
 * A schedule is a function of the step alone, the number of updates done before: 0 for the first. Nothing is to be kept
 * in a checkpoint, and a resumed run takes the rate it would have had:
 *
 *     husk_rate_params rate = husk_rate_defaults(HUSK_RATE_COSINE, 1e-3);
 *     rate.steps = 10000;
 *     rate.warmup = 500;
 *     husk_graph_schedule_rate(graph, &rate);      before each husk_graph_step
 *
 * With s the step less warmup, T = steps and r = rate:
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
 * These are PyTorch's StepLR, MultiStepLR, ExponentialLR (T = 1), PolynomialLR (e = 0), CosineAnnealingLR (up to T,
 * behind which PyTorch's rises again), CosineAnnealingWarmRestarts and OneCycleLR (two phases; the momentum is left as
 * it is). COSINE: Loshchilov, Hutter, arXiv 1608.03983. ONE_CYCLE: Smith, Topin, arXiv 1708.07120.
 *
 * While the step is below warmup (Goyal et al., arXiv 1706.02677) the rate is
 *     warmup_rate + (the rate for s = 0 - warmup_rate) step / warmup
 * before any of them, as PyTorch's LinearLR.
 */
#ifndef HUSK_TRAIN_RATE_H
#define HUSK_TRAIN_RATE_H

#include <husk/train/step.h>

HUSK_BEGIN_DECLS

/* Name, number, text. */
#define HUSK_RATE_LIST(X)                    \
    X(CONSTANT, 0, "constant")               \
    X(STEP, 1, "step")                       \
    X(MULTI_STEP, 2, "multi_step")           \
    X(EXPONENTIAL, 3, "exponential")         \
    X(POLYNOMIAL, 4, "polynomial")           \
    X(COSINE, 5, "cosine")                   \
    X(COSINE_RESTARTS, 6, "cosine_restarts") \
    X(ONE_CYCLE, 7, "one_cycle")

typedef enum husk_rate_kind {
#define HUSK_RATE_ENUM(name, number, text) HUSK_RATE_##name = number,
    HUSK_RATE_LIST(HUSK_RATE_ENUM)
#undef HUSK_RATE_ENUM
} husk_rate_kind;

/* "cosine" ...; "unknown" for a number that is no kind. */
HUSK_API const char *husk_rate_kind_name(husk_rate_kind kind);

/* Rates are finite and 0 or more. What a kind does not use is not looked at. */
typedef struct husk_rate_params {
    uint32_t size; /* sizeof this struct: husk_rate_defaults sets it */
    husk_rate_kind kind;
    double rate;       /* required */
    double factor;     /* STEP, MULTI_STEP, EXPONENTIAL: above 0 */
    uint64_t steps;    /* STEP, EXPONENTIAL, POLYNOMIAL, COSINE, COSINE_RESTARTS, ONE_CYCLE: 1 or more */
    const uint64_t *milestones; /* MULTI_STEP: rising */
    size_t milestone_count;
    double end_rate;   /* POLYNOMIAL, COSINE, COSINE_RESTARTS, ONE_CYCLE */
    double power;      /* POLYNOMIAL: above 0 */
    uint32_t growth;   /* COSINE_RESTARTS: 1 or more */
    double start_rate; /* ONE_CYCLE */
    double rise;       /* ONE_CYCLE: the part of the steps that go up, below 1, rise steps above 1 */
    uint64_t warmup;   /* steps; 0: none */
    double warmup_rate; /* of the first of them */
} husk_rate_params;

/*
 * To be changed afterwards: factor 0.1 (EXPONENTIAL 0.95), power 1, growth 1, rise 0.3, start_rate rate / 25 and, of
 * ONE_CYCLE, end_rate rate / 250,000, as PyTorch has them; all else 0. steps has no default, but EXPONENTIAL's of 1.
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

/* The rate for this step. */
HUSK_API husk_status husk_rate_at(const husk_rate_params *params, uint64_t step, double *rate, husk_error *error);

/* Set the rate of a graph's next update, by the updates that were done. The text of a failure is husk_graph_error's. */
HUSK_API husk_status husk_graph_schedule_rate(husk_graph *graph, const husk_rate_params *params);

/* ---- by what is measured ---------------------------------------------------------------------------------- */

/* What is better in a number that is measured: less, as in losses, or more, as in accuracies. */
typedef enum husk_better { HUSK_LESS_IS_BETTER = 0, HUSK_MORE_IS_BETTER = 1 } husk_better;

/*
 * PyTorch's ReduceLROnPlateau: the rate is multiplied by factor where more than `patience` values in a row, an epoch's
 * each, were no better than the best one. Better is what is
 *     below best (1 - threshold), or above best (1 + threshold) where more is better,
 *     with `absolute` below best - threshold, or above best + threshold.
 * NaN is not better. PyTorch's eps, a change too small to make, is left out.
 */
typedef struct husk_plateau_params {
    uint32_t size;       /* sizeof this struct: HUSK_PLATEAU_PARAMS sets it */
    husk_better better;
    double rate;         /* the first; required */
    double factor;       /* between 0 and 1; 0 means 0.1 */
    uint64_t patience;   /* as it is (PyTorch's default is 10) */
    double threshold;    /* 0 or more, as it is (PyTorch: 1e-4) */
    uint32_t absolute;
    uint64_t cooldown;   /* values after a reduction that do not count against it */
    double least_rate;
} husk_plateau_params;

#define HUSK_PLATEAU_PARAMS(...) HUSK_MAKE(husk_plateau_params, __VA_ARGS__)

/* Zeros before the first value. Nothing but numbers: husk_plateau_save makes a text of it, for a checkpoint. */
typedef struct husk_plateau {
    double rate; /* from now on */
    double best;
    uint64_t waited;  /* values in a row that were not better */
    uint64_t cooling; /* values of the cooldown that are left */
    uint32_t has_rate, has_best;
} husk_plateau;

/* A new value. */
HUSK_API husk_status husk_plateau_step(const husk_plateau_params *params, husk_plateau *plateau, double value,
                                       husk_error *error);

/* Room for the text of a state, with its zero. */
#define HUSK_STATE_TEXT 128

/* The same state to the bit from the same text; whatever else a text holds is refused. */
HUSK_API husk_status husk_plateau_save(const husk_plateau *plateau, char text[HUSK_STATE_TEXT], husk_error *error);
HUSK_API husk_status husk_plateau_load(const char *text, husk_plateau *plateau, husk_error *error);

HUSK_END_DECLS

#endif
