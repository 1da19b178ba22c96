/* SPDX-License-Identifier: MIT */
/* bench/run/state.h: a run on one device, as far as it has come. */
#ifndef BENCH_RUN_STATE_H
#define BENCH_RUN_STATE_H

#include "cases/suite.h"
#include "cli/options.h"
#include "measure/row.h"
#include "measure/startup.h"
#include "record/results.h"
#include "report/table.h"
#include "run/baseline_choice.h"

#define BENCH_MAX_RUNNERS (BENCH_MAX_BASELINES + 2) /* Husk, a kernel of the user's own, and the baselines */

typedef struct bench_run {
    const bench_options *options;
    bench_suite suite;
    bench_runner_process runners[BENCH_MAX_RUNNERS]; /* husk first */
    size_t runner_count;
    bench_baselines baselines;
    const char *preference;
    char kernels[40]; /* a hash of all operators', "" where it is unknown */
    size_t device; /* index among those of the run */
    uint64_t start_ns;
    double budget;    /* seconds for everything on this device; 0: no limit */
    double given_budget;
    double compiling; /* seconds in which programs were built, once; beside the budget */
    bench_row *rows;
    size_t row_count;
    size_t *order; /* in which they are measured */
    bench_peaks peaks;
    double sentinel_gflops, memory_rate; /* the first sentinel's, and GB/s of the fastest fixed copy */
    double worst_drift[BENCH_MAX_DEVICES], worst_memory_drift[BENCH_MAX_DEVICES]; /* how much longer the slowest took */
    pid_t sentinel_pid; /* the worker that has timed it */
    double rows_began; /* seconds, when the first row's turn came */
    bool is_kept_awake; /* its processors, bench/system/awake.h */
    double clock_begins; /* seconds behind those of the document that is resumed */
    int64_t round; /* that is being measured */
    double cache_bytes; /* of the last level, the device's or the host's */
    bench_results results;
    bench_table table;
    size_t repeated; /* rounds that were measured again, on this device */
    bool was_cut[BENCH_MAX_DEVICES]; /* the budget ended some measurement */
    size_t kept; /* rows that a resumed document had */
} bench_run;

double bench_run_elapsed(const bench_run *r);

/* New processes on the device that is measured. */
bench_startup_options bench_run_startup(const bench_run *r);

#endif
