/* SPDX-License-Identifier: MIT */
/* bench/compare/comparison.h: what comparing two runs finds. */
#ifndef BENCH_COMPARE_COMPARISON_H
#define BENCH_COMPARE_COMPARISON_H

#include "compare/side.h"

#define BENCH_ENOUGH_PROCESSES 3 /* in each run: with so many a claim needs no BENCH_LEAST_SAMPLES */

/*
 * How often two runs of one build may be told apart by chance: half of it by cases, all together, half by operators.
 */
#define BENCH_LEVEL         0.05
#define BENCH_LEAST_CHANGE  0.01 /* smaller ones are not claimed, however certain */
#define BENCH_UNSURE_CHANGE 0.05 /* where a slowdown by so much cannot be excluded, the answer is: ambiguous */

typedef enum bench_change {
    BENCH_SAME,
    BENCH_SLOWER,
    BENCH_FASTER,
    BENCH_UNSURE,
    BENCH_DIVIDED /* its processes disagree: not judged */
} bench_change;

/* "~", "slower", "faster", "?", "two speeds" */
const char *bench_change_text(bench_change change);

/* A change has to be there as it was measured, and with the machine's speed taken out in either way. */
typedef enum bench_view {
    BENCH_AS_MEASURED,
    BENCH_BY_ARITHMETIC, /* as if the sentinel's arithmetic had been as fast in both */
    BENCH_BY_MEMORY,     /* as if its copy had been; of cases that memory limits */
    BENCH_VIEWS
} bench_view;

/* Which level decides how large a change has to be. */
typedef enum bench_level { BENCH_LEVEL_PROCESSES, BENCH_LEVEL_SAMPLES, BENCH_LEVEL_LEAST } bench_level;

typedef struct bench_pair {
    const char *text, *op, *variant; /* of the new run */
    bench_side sides[2];             /* old, new */
    double distances[BENCH_VIEWS];   /* logarithms of new time / old time */
    double ratio;                    /* new time / old time, by the view in which it is nearest to 1; NaN: none */
    double error, freedom;           /* standard error of the distances, and its degrees of freedom */
    double limit;                    /* the difference that has to be exceeded, relative */
    double p;                        /* of that ratio, adjusted for the number of cases; NaN: too few samples */
    bench_level level;
    bool by_machine; /* above the limit in one view and not in another: the machine's speed may explain it */
    bool overlaps;   /* above the limit, but some process of the one run is as fast as one of the other */
    bench_change change;
} bench_pair;

/* An operator's cases together, or all. */
typedef struct bench_group {
    const char *op;          /* NULL: all */
    size_t count;            /* of cases that were compared */
    double ratio, low, high; /* geometric mean of new time / old time, and its 95% interval */
    double limit, p;
    size_t slower, faster, unsure, divided; /* cases */
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
    const char *why_not;        /* normalised; NULL where it is */
    double speed;               /* the machine's in the new run / in the old one, by the sentinel; NaN: not known */
    double memory_speed;        /* the same of its copy */
    bench_machine machines[2];
    bench_usual usual[2];       /* how the processes of a case differ */
    double felt[2];             /* how much of what moved the sentinel cases felt: 0 to 1 */
    size_t disturbed[2];        /* rounds in which something else ran */
    size_t fewest[2], most[2];  /* processes of a case */
    bench_pair *pairs;
    size_t pair_count;
    bench_group *groups; /* by operator, then all together */
    size_t group_count;
    bench_move *moves;
    size_t move_count;
    const json_t **only[2]; /* rows of one run alone */
    size_t only_count[2];
    size_t slower, faster, unsure, divided, lost; /* cases */
    size_t wrong, still_wrong, new_wrong; /* right before, wrong before, not there before */
    size_t doubtful;                      /* right in the old one, suspect or inconclusive in the new one */
} bench_comparison;

void bench_comparison_free(bench_comparison *comparison);

/* What the comparison says as a whole: BENCH_EXIT_OK, _REGRESSION, _AMBIGUOUS; _VERIFICATION: a new result is wrong. */
int bench_comparison_code(const bench_comparison *comparison);

#endif
