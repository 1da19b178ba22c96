/* SPDX-License-Identifier: MIT */
/*
 * bench/run/overhead.h: what an immediate call costs beyond the OpenCL calls that it makes.
 *
 * The launches of a call are recorded (bench/worker/tape.h). Then batches of immediate calls and batches of the bare
 * clSetKernelArg and clEnqueueNDRangeKernel take turns, both on a queue that is held back by a user event, so that no
 * kernel runs beside what is timed.
 */
#ifndef BENCH_RUN_OVERHEAD_H
#define BENCH_RUN_OVERHEAD_H

#include "measure/contestant.h"
#include "worker/husk_contender.h"

/* The worker's side: [{case, launches, immediate_ns, bare_ns, overhead_ns}], or NULL with reason. line NULL: all. */
json_t *bench_overhead_measure(bench_husk_session *session, const char *line, char reason[BENCH_REASON_TEXT]);
/* The parent's: the same list, asked for case by case, with a line of progress. What may compile is given seconds. */
json_t *bench_overhead_ask(bench_contestant *husk, double seconds, char reason[BENCH_REASON_TEXT]);

/* The largest overhead_ns of them, with its case; NaN for none. */
double bench_overhead_largest(const json_t *overhead, const char **which);
/* One line for a run's end; a line a case for the command. */
void bench_overhead_print(const json_t *overhead, bool all);

#endif
