/* SPDX-License-Identifier: MIT */
/* bench/measure/plausible.h: percent of the measured peak, and results that cannot be true. */
#ifndef BENCH_MEASURE_PLAUSIBLE_H
#define BENCH_MEASURE_PLAUSIBLE_H

#include "cases/case.h"
#include "worker/peaks.h"

typedef struct bench_plausibility {
    double percent_of_peak; /* of the roofline at this case: the nearer of arithmetic and memory; NaN: unknown */
    bool bound_by_memory; /* which of the two that is */
    bool is_suspect;
    char reason[200];
} bench_plausibility;

/*
 * executed_flops: those that ran; 0: the operator's own count. working_set: bytes that are touched before the same are
 * touched again, all sets of a cold row together; 0: the case's. variant: that ran, or NULL.
 */
bench_plausibility bench_plausible(const bench_case *c, const char *variant, double executed_flops, double working_set,
                                   double median_ns, const bench_peaks *peaks);

/*
 * Bytes of the device's last level of caches, whose host's are given; 0: not known. A card's are at least what the
 * largest have.
 */
double bench_last_level_cache(const json_t *device, double host);

/* The percentage alone; NaN: what limits the case was not measured. */
double bench_percent_of_peak(const bench_case *c, const char *variant, double executed_flops, double working_set,
                             double median_ns, const bench_peaks *peaks, bool *bound_by_memory);

/* 10^9 operations a second that the device can do of the case's kind, in its dtype; 0: not measured. */
double bench_peaks_arithmetic(const bench_case *c, const char *variant, const bench_peaks *peaks);
/* Whether a matrix engine does the variant's arithmetic: what was measured of that is what it can do at least. */
bool bench_is_on_engine(const char *variant);
/* Bits 1 << bench_arithmetic: what has to be measured beside f32 for the case. */
unsigned bench_wanted_arithmetic(const bench_case *c);

/* Bandwidth of the level that a working set lives in, and the largest of all. */
double bench_peaks_bandwidth(const bench_peaks *peaks, double bytes);
double bench_peaks_largest_bandwidth(const bench_peaks *peaks);

#endif
