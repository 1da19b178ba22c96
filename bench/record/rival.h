/* SPDX-License-Identifier: MIT */
/*
 * bench/record/rival.h: rows, as the JSON document has them, against their rivals: one baseline by its name, or
 * BENCH_BEST, the fastest baseline of each row by itself. The reference is a baseline that may be asked for, and no
 * rival.
 */
#ifndef BENCH_RECORD_RIVAL_H
#define BENCH_RECORD_RIVAL_H

#include <stdbool.h>
#include <stddef.h>

#include <jansson.h>

#define BENCH_BEST "best"

/*
 * How many times as fast as the baseline the row is; NaN where the row is not ok or has no time of it. who, where it is
 * not NULL, gets the baseline's name.
 */
double bench_rival_speedup(const json_t *row, const char *baseline, const char **who);

/* Geometric mean over the rows; op NULL: of all operators. NaN: none. count, where not NULL, gets how many. */
double bench_rival_geomean(const json_t *rows, const char *baseline, const char *op, size_t *count);

/* The row that comes off worst against its fastest rival; NULL: none has one. */
const json_t *bench_rival_worst(const json_t *rows, double *speedup, const char **who);

/* 3x3 convolutions with stride 1, where oneDNN was timed by its own choice and by its Winograd. */
typedef struct bench_rival_forms {
    size_t count;
    double automatic; /* geometric mean against its own choice */
    double fastest;   /* against the faster of both, row by row */
} bench_rival_forms;

bench_rival_forms bench_rival_winograd(const json_t *rows);

/* The names of all baselines in the rows, in the order of their first appearance: an object of name: true. */
json_t *bench_rival_names(const json_t *rows);

/* The part of the document's summary that is about rivals: it is added to summary. */
void bench_rival_summary(const json_t *rows, json_t *summary);

#endif
