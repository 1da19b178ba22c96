/* SPDX-License-Identifier: MIT */
/* bench/run/overhead.h: what an immediate call costs, asked for and shown: bench/worker/overhead.h measures it. */
#ifndef BENCH_RUN_OVERHEAD_H
#define BENCH_RUN_OVERHEAD_H

#include "cli/options.h"
#include "measure/runner_process.h"

/*
 * As bench_overhead_measure has it, asked for case by case, with a line of progress. What may compile is given seconds.
 */
json_t *bench_overhead_ask(bench_runner_process *husk, double seconds, char reason[BENCH_REASON_TEXT]);

/* The largest overhead_ns of them, with its case; NaN for none. */
double bench_overhead_largest(const json_t *overhead, const char **which);
/* One line for a run's end; a line a case for the command. */
void bench_overhead_print(const json_t *overhead, bool all);

/* clbench overhead. The exit code. */
int bench_command_overhead(const bench_options *options);

#endif
