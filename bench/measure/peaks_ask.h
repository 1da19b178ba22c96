/* SPDX-License-Identifier: MIT */
/* bench/measure/peaks_ask.h: a device's peaks as the parent process asks for them. */
#ifndef BENCH_MEASURE_PEAKS_ASK_H
#define BENCH_MEASURE_PEAKS_ASK_H

#include <jansson.h>

#include "system/process.h"
#include "system/steps.h"
#include "worker/measure_peaks.h"

/* How many steps it takes, and how many seconds usually. */
size_t bench_peaks_steps(bool quick, double *seconds);
/*
 * Ask husk's worker for all parts, each a step of its own and answered within seconds; name is what is measured. NULL
 * with reason.
 */
json_t *bench_peaks_ask(bench_process *husk, const char *name, const bench_peaks_request *preference, double seconds,
                        bench_steps *steps, char reason[BENCH_REASON_TEXT]);

#endif
