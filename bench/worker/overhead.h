/* SPDX-License-Identifier: MIT */
/*
 * bench/worker/overhead.h: what an immediate call costs beyond the OpenCL calls that it makes.
 *
 * The launches of a call are recorded (bench/worker/tape.h). Then batches of immediate calls and batches of the bare
 * clSetKernelArg and clEnqueueNDRangeKernel take turns, both on a queue that is held back by a user event, so that no
 * kernel runs beside what is timed.
 */
#ifndef BENCH_WORKER_OVERHEAD_H
#define BENCH_WORKER_OVERHEAD_H

#include "common/text.h"
#include "worker/husk_runner.h"

/* [{case, launches, immediate_ns, bare_ns, overhead_ns}], or NULL with reason. line NULL: all. */
json_t *bench_overhead_measure(bench_husk_session *session, const char *line, char reason[BENCH_REASON_TEXT]);

/* The cases that it is measured with; NULL past the last. */
const char *bench_overhead_case(size_t index);

#endif
