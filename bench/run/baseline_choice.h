/* SPDX-License-Identifier: MIT */
/*
 * bench/run/baseline_choice.h: what a run is to be compared with: baselines that are built in, and runners of another
 * build of clbench, with other libraries or another Husk in it.
 */
#ifndef BENCH_RUN_BASELINE_CHOICE_H
#define BENCH_RUN_BASELINE_CHOICE_H

#include "cli/options.h"

typedef struct bench_baseline {
    char name[32];     /* in the table and in results: "onednn", "before" */
    char runner[32];   /* as its program calls it: "onednn", "husk" */
    char program[512]; /* another clbench; "": this one */
} bench_baseline;

enum { BENCH_MAX_BASELINES = 8 };

typedef struct bench_baselines {
    bench_baseline all[BENCH_MAX_BASELINES];
    size_t count;
} bench_baselines;

/*
 * What --baseline, or its absence, asks for. Its elements are names that are built in, "all", "none",
 * NAME=PROGRAM:RUNNER, and "new": onednn_new and blas_new, which `./run rivals` makes. False: reason.
 */
bool bench_baselines_choose(const bench_options *options, bench_baselines *chosen, char reason[BENCH_REASON_TEXT]);

#endif
