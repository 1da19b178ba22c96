/* SPDX-License-Identifier: MIT */
/*
 * How near rows come to what limits them. A row's percent_of_peak says little where others' peaks are meant: rows are
 * told apart by what limits them and by where their data lie.
 */
#ifndef BENCH_REPORT_NEARNESS_H
#define BENCH_REPORT_NEARNESS_H

#include <jansson.h>
#include <stddef.h>

typedef enum bench_place {
    BENCH_BY_ARITHMETIC,
    BENCH_IN_CACHES, /* memory is the limit, and the data fit in the device's last level of caches */
    BENCH_NOT_TOLD,  /* they fit in what the last level may be, and not in what the driver names */
    BENCH_IN_MEMORY,
    BENCH_BY_LAUNCH, /* the data move in less time than a launch takes */
    BENCH_PLACES
} bench_place;

typedef struct bench_nearness {
    double median[BENCH_PLACES]; /* of the percentages of the rows that are right; NAN without rows */
    size_t count[BENCH_PLACES];
    double launch_ns; /* of the device of the first row */
} bench_nearness;

/* rows: all or some of the rows of a result (schema clbench/2), whose devices are in `root`. */
bench_nearness bench_nearness_of(const json_t *root, const json_t *rows);

#endif
