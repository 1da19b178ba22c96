/* SPDX-License-Identifier: MIT */
/*
 * bench/tune/kernel_race.h: the configurations of a described kernel at one size. Each is compiled, verified and looked
 * at for a moment, in random order; the fastest few then take turns in several new processes (measure/row.h).
 */
#ifndef BENCH_TUNE_KERNEL_RACE_H
#define BENCH_TUNE_KERNEL_RACE_H

#include "cases/suite.h"
#include "measure/row.h"

/* A configuration. */
typedef struct bench_tried {
    json_t *kernel;    /* the suite's, not a reference of its own */
    bench_state state; /* SKIPPED: not reached in the time */
    char stage[16];    /* of one that failed: "compile", or "" */
    char *reason;      /* or NULL */
    bool is_finalist;
    double median_ns, low_ns, high_ns; /* of one that is right: at the last measurement it took part in */
    double build_ns;   /* compiling */
    json_t *samples;                   /* ns of a run each; NULL: none */
    char at[32];                       /* when it was looked at */
} bench_tried;

typedef struct bench_kernel_race {
    const bench_suite_entry *entries; /* the configurations, in their order */
    size_t count;
    bench_tried *tried; /* one for each */
    size_t order[BENCH_MAX_ENTRANTS]; /* the finalists, the fastest first */
    size_t finalists;
    size_t as_fast; /* of these, behind the first: that are not told apart from it */
} bench_kernel_race;

typedef struct bench_kernel_race_options {
    double seconds; /* for all of it; what compiles longer is not cut off */
    double max_time, compile_time;
    uint64_t seed;
} bench_kernel_race_options;

/* Told before each configuration is looked at, and with count before the finalists. */
typedef void bench_kernel_race_watch(const bench_suite_entry *entry, size_t number, size_t count);

/* False: memory is short. Free it in every case. */
bool bench_kernel_race_run(bench_runner_process *runner, const bench_kernel_race_options *options,
                           bench_kernel_race_watch *watch, bench_kernel_race *race);
void bench_kernel_race_free(bench_kernel_race *race);

/* How many are in that state. */
size_t bench_kernel_race_count(const bench_kernel_race *race, bench_state state);

#endif
