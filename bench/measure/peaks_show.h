/* SPDX-License-Identifier: MIT */
/* bench/measure/peaks_show.h: a device's peaks for people. */
#ifndef BENCH_MEASURE_PEAKS_SHOW_H
#define BENCH_MEASURE_PEAKS_SHOW_H

#include "worker/peaks.h"

/* Lines for people, what was not measured left out. */
void bench_print_peaks(const bench_peaks *peaks, const char *indent);

#endif
