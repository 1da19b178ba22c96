/* SPDX-License-Identifier: MIT */
/* bench/run/dry_run.h: --dry-run: what a command would do, where, against what, and how long that takes. */
#ifndef BENCH_RUN_DRY_RUN_H
#define BENCH_RUN_DRY_RUN_H

#include "run/state.h"

typedef struct bench_dry_run {
    const bench_options *options;
    const bench_suite *suite;
    const char *done; /* "measured", "verified", "tuned" */
    const char *baselines[BENCH_MAX_RUNNERS]; /* names */
    size_t baseline_count;
    size_t rows, rounds; /* a case by a variant is a row */
    double seconds;      /* estimated, on each device */
    double budget;       /* what it is given; 0: what it takes */
} bench_dry_run;

/* Print it; the exit code. Devices are listed, in a process of their own, and none is opened. */
int bench_dry_run_print(const bench_dry_run *dry);

/* Variants that the library has for a case's operator and direction. */
size_t bench_variant_count(const bench_case *c);

#endif
