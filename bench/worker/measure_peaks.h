/* SPDX-License-Identifier: MIT */
/* bench/worker/measure_peaks.h: a device's peaks and the sentinel, measured. */
#ifndef BENCH_WORKER_MEASURE_PEAKS_H
#define BENCH_WORKER_MEASURE_PEAKS_H

#include "common/text.h"
#include "worker/meter.h"
#include "worker/peaks.h"

typedef struct bench_peaks_request {
    bool quick;          /* fewer repetitions, and neither local memory, transfers nor engines */
    unsigned arithmetic; /* bits 1 << bench_arithmetic */
    int part;            /* one part alone, after those before it; negative: all of them */
} bench_peaks_request;

/* What a part measures, and the seconds that it usually takes; NULL past the last one. */
const char *bench_peaks_part(size_t index, bool quick, double *seconds);
bool bench_meter_peaks(bench_meter *meter, const bench_peaks_request *preference, bench_peaks *peaks,
                       char reason[BENCH_REASON_TEXT]);
/* About 10 ms of multiply-adds: its time, and the GFLOP/s it reached. */
bool bench_meter_sentinel(bench_meter *meter, double *ns, double *gflops, char reason[BENCH_REASON_TEXT]);

/* The same for memory: copying more than caches hold. GB/s, read and written. */
bool bench_meter_memory_sentinel(bench_meter *meter, double *gbytes_per_s, char reason[BENCH_REASON_TEXT]);
/* One long kernel's time by events over that by the wall clock; 0: the device times no events. */
bool bench_meter_trust(bench_meter *meter, double *ratio, char reason[BENCH_REASON_TEXT]);

#endif
