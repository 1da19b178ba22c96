/* SPDX-License-Identifier: MIT */
/* bench/compare/side.h: what one run knows of the machine and of a case. */
#ifndef BENCH_COMPARE_SIDE_H
#define BENCH_COMPARE_SIDE_H

#include <jansson.h>
#include <stdbool.h>

#include "measure/levels.h"

#define BENCH_LEAST_SAMPLES   10 /* in each run, or as many processes, or nothing is claimed */
#define BENCH_LEAST_PROCESSES 2 /* that are left without disturbed ones, or these count, too */

/*
 * The standard deviation between processes of a case is taken from its few processes, and from what is usual in the
 * run, which counts like some processes more (an empirical Bayes estimate: Smyth, Linear Models and Empirical Bayes
 * Methods for Assessing Differential Expression, 2004).
 */
#define BENCH_MOST_WEIGHT       3.0
#define BENCH_LEAST_DEVIATION   0.003 /* of a process: less was never seen */
#define BENCH_UNKNOWN_DEVIATION 0.015 /* of a process, where there is only one */

#define BENCH_MOST_OFF       0.10 /* of a time or a rate that is to show how much of the sentinel cases felt */
#define BENCH_NEAR_SECONDS   60.0 /* readings that are further away say nothing of a round */
#define BENCH_DISTURBED      0.06 /* a round beside which it was lower by more does not count, if enough are left */

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

#endif
