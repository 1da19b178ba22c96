/* SPDX-License-Identifier: MIT */
/*
 * bench/compare.h: two runs of the same cases on the same device: what became slower, what faster, and what cannot be
 * told from noise. docs/clbench.md, "Comparing", says how it is decided.
 */
#ifndef BENCH_COMPARE_H
#define BENCH_COMPARE_H

#include "result_file.h"

#define BENCH_LEAST_SAMPLES 10   /* in each run, or nothing is claimed */
#define BENCH_LEVEL         0.05 /* of the rank tests, all rows together */
#define BENCH_LEAST_CHANGE  0.01 /* smaller ones are not claimed, however certain */
#define BENCH_UNSURE_CHANGE \
    0.05 /* where a slowdown by so much cannot be excluded, the answer is: ambiguous */

typedef enum bench_change { BENCH_SAME, BENCH_SLOWER, BENCH_FASTER, BENCH_UNSURE } bench_change;

#define BENCH_SENTINEL_NOISE 0.03  /* its rate moves so much by itself: not taken out of a single round */
#define BENCH_DISTURBED      0.06  /* a round beside which it was lower by more does not count, if three are left */
#define BENCH_UNKNOWN_NOISE  0.015 /* of a round, taken for granted where there is only one */

/* "~", "slower", "faster", "?" */
const char *bench_change_text(bench_change change);

/* What one run knows of a case. Rows are borrowed from the documents. */
typedef struct bench_side {
    const json_t *row;
    double median_ns;
    double *work; /* samples that count, times the machine's rate at that time where runs are normalised */
    size_t count;
    double typical;           /* the lower quartile of work */
    double half_width;        /* of its 95% interval, relative */
    size_t rounds, disturbed; /* that count, that do not */
    double deviation;         /* of the logarithms of the rounds' quartiles; NaN: one round */
    double noise;             /* all of that together, relative: half of a 95% interval */
} bench_side;

typedef struct bench_pair {
    const char *text, *op, *variant; /* of the new run */
    bench_side sides[2];             /* old, new */
    double ratio;                    /* new time / old time, typical ones; NaN: not compared */
    double limit;                    /* the difference that has to be exceeded, relative */
    double p;                        /* of the rank test, adjusted for the number of rows */
    bench_change change;
} bench_pair;

/* An operator's cases together, or all. */
typedef struct bench_group {
    const char *op;          /* NULL: all */
    size_t count;            /* of cases that were compared */
    double ratio, low, high; /* geometric mean of new time / old time, and its 95% interval */
    double limit;
    size_t slower, faster, unsure; /* cases */
    bench_change change;
} bench_group;

typedef enum bench_move_kind {
    BENCH_MOVE_WRONG, /* right before, wrong now */
    BENCH_MOVE_LOST,  /* right before, and now an error, a time-out, unsupported, ... */
    BENCH_MOVE_RIGHT, /* right now */
    BENCH_MOVE_OTHER, /* from one state that is not right to another */
    BENCH_MOVE_STILL_WRONG,
    BENCH_MOVE_NEW_WRONG /* wrong, and the old run has no such case */
} bench_move_kind;

typedef struct bench_move { /* of a case's state */
    bench_move_kind kind;
    const json_t *old_row, *new_row; /* old_row NULL: BENCH_MOVE_NEW_WRONG */
} bench_move;

typedef struct bench_comparison {
    const json_t *documents[2], *devices[2];
    bool is_normalised;
    const char *why_not; /* normalised; NULL where it is */
    double speed;        /* the machine's in the new run / in the old one, by the sentinel; NaN: not known */
    double rates[2];     /* GFLOP/s of the sentinel: the usual one of each run */
    size_t disturbed[2]; /* rounds in which something else ran */
    bool has_rounds[2];  /* measured in more than one round */
    bench_pair *pairs;
    size_t pair_count;
    bench_group *groups; /* by operator, then all together */
    size_t group_count;
    bench_move *moves;
    size_t move_count;
    const json_t **only[2]; /* rows of one run alone */
    size_t only_count[2];
    size_t slower, faster, unsure, lost; /* cases */
    size_t wrong, still_wrong, new_wrong; /* right before, wrong before, not there before */
    size_t doubtful;                            /* right in the old one, suspect or mistrusted in the new one */
} bench_comparison;

/*
 * Compares the rows of one device of each document. The documents were read by bench_result_read and must outlive the
 * comparison. is_same_device: they may be normalised by the sentinel. False: memory is short.
 */
bool bench_compare(const json_t *old_document, size_t old_device, const json_t *new_document,
                   size_t new_device, bool is_same_device, bench_comparison *comparison);
void bench_comparison_free(bench_comparison *comparison);

/* What the comparison says as a whole: BENCH_EXIT_OK, _REGRESSION, _AMBIGUOUS; _VERIFICATION: a new result is wrong. */
int bench_comparison_code(const bench_comparison *comparison);

/* A row of that device, by case and temperature (and by variant where that alone is not one row). */
const json_t *bench_find_row(const json_t *document, size_t device, const json_t *like);
/* The row that may stand beside one of another document's: of several variants there each with its own alone. */
const json_t *bench_match_row(const json_t *document, size_t device, const json_t *own, size_t own_device,
                              const json_t *row);

/* The upper quartile of the sentinel's rates beside all rounds on a device; NaN: there are none. */
double bench_usual_rate(const json_t *document, size_t device);
/* Fill in a side but for its noise, which takes all rows of a run. usual_rate NaN: not normalised. */
bool bench_side_take(bench_side *side, const json_t *row, double usual_rate);
/* The noise of each side of one run. */
bool bench_sides_noise(bench_side *const *sides, size_t count);

/* ---- showing it: bench/compare_show.c ---- */

void bench_comparison_print(const bench_comparison *comparison, const char *const names[2]);
bool bench_comparison_markdown(const bench_comparison *comparison, const char *const names[2], FILE *file);
json_t *bench_comparison_json(const bench_comparison *comparison, const char *const names[2]);

#endif
