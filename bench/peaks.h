/* SPDX-License-Identifier: MIT */
/*
 * bench/peaks.h: what the device can do at most, measured in the same run: f32 multiply-adds without memory,
 * bandwidth by size of the working set (copying, streaming or reading, whichever is best), whether event clocks
 * tell the truth; and the sentinel, a fixed piece of work whose time says whether the machine is as fast as it was.
 */
#ifndef BENCH_PEAKS_H
#define BENCH_PEAKS_H

#include <stdbool.h>

#include "husk_contender.h"

#define BENCH_COPY_SIZES 7

typedef struct bench_peaks {
    double fma_gflops;
    struct {
        double bytes;        /* working set: both buffers together */
        double gbytes_per_s; /* read and written */
    } copy[BENCH_COPY_SIZES];
    int copy_count;
    double launch_ns;   /* a kernel that does nothing much, launched and waited for */
    double trust_ratio; /* time by events / time by the wall clock of one long kernel; 0: no events */
} bench_peaks;

typedef struct bench_meter bench_meter;

/* Build the kernels on the session's context. NULL with reason. */
bench_meter *bench_meter_create(const bench_husk_session *session, char reason[BENCH_REASON_TEXT]);
void bench_meter_release(bench_meter *meter);
bool bench_meter_peaks(bench_meter *meter, bool quick, bench_peaks *peaks, char reason[BENCH_REASON_TEXT]);
/* About 10 ms of multiply-adds: its time, and the GFLOP/s it reached. */
bool bench_meter_sentinel(bench_meter *meter, double *ns, double *gflops, char reason[BENCH_REASON_TEXT]);

#endif
