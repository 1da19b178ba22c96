/* SPDX-License-Identifier: MIT */
/*
 * bench/worker/simulator_log.h: what Oclgrind has written to its log (OCLGRIND_LOG): accesses out of bounds, races,
 * uninitialised values, wrong use of OpenCL.
 */
#ifndef BENCH_WORKER_SIMULATOR_LOG_H
#define BENCH_WORKER_SIMULATOR_LOG_H

#include <jansson.h>

/* What has been read of a log so far. */
typedef struct bench_simulator_log {
    const char *path; /* NULL: there is none */
    long read;
} bench_simulator_log;

/* The log of this process' simulator, from its end on. */
void bench_simulator_log_begin(bench_simulator_log *log);
/*
 * What has come since: [{text, kernel, line, source, times}], a finding of the same kind at the same line once. line: 0
 * where the simulator does not say it.
 */
json_t *bench_simulator_log_take(bench_simulator_log *log);

/* The same of a text in memory. */
json_t *bench_simulator_findings(const char *text);

#endif
