/* SPDX-License-Identifier: MIT */
/*
 * bench/compare/compare.h: two runs of the same cases on the same device: what became slower, what faster, and what
 * cannot be told from noise. docs/clbench.md, "Comparing", says how it is decided.
 */
#ifndef BENCH_COMPARE_COMPARE_H
#define BENCH_COMPARE_COMPARE_H

#include <jansson.h>
#include <stdio.h>

#include "measure/levels.h"

#define BENCH_LEAST_SAMPLES    10 /* in each run, or as many processes, or nothing is claimed */
#define BENCH_ENOUGH_PROCESSES 3
#define BENCH_LEAST_PROCESSES  2 /* that are left without disturbed ones, or these count, too */

/*
 * How often two runs of one build may be told apart by chance: half of it by cases, all together, half by operators.
 */
#define BENCH_LEVEL         0.05
#define BENCH_LEAST_CHANGE  0.01 /* smaller ones are not claimed, however certain */
#define BENCH_UNSURE_CHANGE 0.05 /* where a slowdown by so much cannot be excluded, the answer is: ambiguous */

/*
 * The standard deviation between processes of a case is taken from its few processes, and from what is usual in the
 * run, which counts like some processes more (an empirical Bayes estimate: Smyth, Linear Models and Empirical Bayes
 * Methods for Assessing Differential Expression, 2004).
 */
#define BENCH_MOST_WEIGHT       3.0
#define BENCH_LEAST_DEVIATION   0.003 /* of a process: less was never seen */
#define BENCH_UNKNOWN_DEVIATION 0.015 /* of a process, where there is only one */

typedef enum bench_change {
    BENCH_SAME,
    BENCH_SLOWER,
    BENCH_FASTER,
    BENCH_UNSURE,
    BENCH_DIVIDED /* its processes disagree: not judged */
} bench_change;

#define BENCH_MOST_OFF       0.10 /* of a time or a rate that is to show how much of the sentinel cases felt */
#define BENCH_NEAR_SECONDS   60.0 /* readings that are further away say nothing of a round */
#define BENCH_DISTURBED      0.06 /* a round beside which it was lower by more does not count, if enough are left */

/* "~", "slower", "faster", "?", "two speeds" */
const char *bench_change_text(bench_change change);

typedef struct bench_reading { /* of the sentinel */
    double at, gflops; /* seconds since the run began */
} bench_reading;

/* How fast the machine was in a run. */
typedef struct bench_machine {
    double gflops, gbytes_per_s; /* upper quartiles of the sentinel's rates beside all rounds; NaN: there are none */
    bench_reading *readings;     /* in the order of time */
    size_t reading_count;
} bench_machine;

/* What one run knows of a case. Rows are borrowed from the documents. */
typedef struct bench_side {
    const json_t *row;
    double median_ns;
    double *work; /* samples that count, process by process */
    size_t count;
    size_t processes, disturbed; /* that count; rounds that do not */
    size_t fewest;               /* samples of a process */
    json_int_t *numbers;         /* of each process: which of those that the run has had */
    double *measured;            /* of each process: the logarithm of its lower quartile */
    double *speeds;              /* and of the machine's speed beside its rounds, in parts of the usual one */
    double *scaled;              /* measured, with what the case felt of that taken out */
    double within;               /* half of the 95% interval of a process' quartile by its samples, relative */
    double deviation;            /* between processes: its own and the usual one together */
    double weight;               /* of the latter, in processes */
    bench_levels levels;         /* whether the processes disagree */
} bench_side;

/* How the processes of a case usually differ in a run. */
typedef struct bench_usual {
    double deviation; /* standard deviation of the logarithms of their quartiles, as scaled */
    double measured;  /* the same as they were measured */
    double weight;    /* how many processes the first one counts like */
} bench_usual;

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
    size_t doubtful;                      /* right in the old one, suspect or mistrusted in the new one */
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

/* Whether a row is of that device of its document. */
bool bench_row_is_of(const json_t *row, size_t device);
/* A row of that device, by case and temperature (and by variant where that alone is not one row). */
const json_t *bench_find_row(const json_t *document, size_t device, const json_t *like);
/* The row that may stand beside one of another document's: of several variants there each with its own alone. */
const json_t *bench_match_row(const json_t *document, size_t device, const json_t *own, size_t own_device,
                              const json_t *row);

/* ---- one run: bench/compare/side.c ---- */

/* The machine in a run on one device. False: memory is short. */
bool bench_machine_find(bench_machine *machine, const json_t *document, size_t device);
void bench_machine_free(bench_machine *machine);
/* Fill in a side but for its deviation, which takes all rows of a run. */
bool bench_side_take(bench_side *side, const json_t *row, const bench_machine *machine);
void bench_side_free(bench_side *side);
/*
 * Take out of all cases what the machine's speed moved within the run: as much of it as they have felt, all together,
 * which is given (by least squares; 1 where no case has two processes).
 */
double bench_sides_scale(bench_side *const *sides, size_t count);
/* How the processes of a case usually differ in a run, and in which cases by far more. False: memory is short. */
bool bench_sides_usual(bench_side *const *sides, size_t count, bench_usual *usual);

/* ---- verdicts: bench/compare/judge.c ---- */

/* Judge all pairs and groups of a comparison whose pairs are there. False: memory is short. */
bool bench_comparison_judge(bench_comparison *comparison);

/* ---- showing it: bench/compare/show.c ---- */

void bench_comparison_print(const bench_comparison *comparison, const char *const names[2]);
bool bench_comparison_markdown(const bench_comparison *comparison, const char *const names[2], FILE *file);
json_t *bench_comparison_json(const bench_comparison *comparison, const char *const names[2]);

#endif
