/* SPDX-License-Identifier: MIT */
/* bench/plausible.h: percent of the measured peak, and results that cannot be true. */
#ifndef BENCH_PLAUSIBLE_H
#define BENCH_PLAUSIBLE_H

#include "peaks.h"

typedef struct bench_plausibility {
    double
        percent_of_peak; /* of the roofline at this case: the nearer of arithmetic and memory; NaN: unknown */
    bool bound_by_memory; /* which of the two that is */
    bool is_suspect;
    char reason[200];
} bench_plausibility;

/*
 * executed_flops: those that ran; 0: the operator's own count. working_set: bytes that are touched before the same are
 * touched again, all sets of a cold row together; 0: the case's.
 */
bench_plausibility bench_plausible(const bench_case *c, double executed_flops, double working_set,
                                   double median_ns, const bench_peaks *peaks);

/* The percentage alone, from numbers that the results hold. */
double bench_percent_of_peak(double executed_flops, double bytes, double working_set, bool by_memory_alone,
                             double median_ns, const bench_peaks *peaks, bool *bound_by_memory);

#endif
