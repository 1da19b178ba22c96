/* SPDX-License-Identifier: MIT */
/* bench/worker/peaks_more.h: peaks beside f32's arithmetic and global memory. False: reason. */
#ifndef BENCH_WORKER_PEAKS_MORE_H
#define BENCH_WORKER_PEAKS_MORE_H

#include "common/text.h"
#include "worker/meter.h"
#include "worker/peaks.h"

bool bench_meter_arithmetic(bench_meter *meter, bool quick, unsigned wanted, bench_peaks *peaks,
                            char reason[BENCH_REASON_TEXT]);
bool bench_meter_local(bench_meter *meter, bench_peaks *peaks, char reason[BENCH_REASON_TEXT]);
bool bench_meter_transfers(bench_meter *meter, bench_peaks *peaks, char reason[BENCH_REASON_TEXT]);
bool bench_meter_round_trip(bench_meter *meter, bench_peaks *peaks, char reason[BENCH_REASON_TEXT]);
void bench_meter_engines(bench_meter *meter, bench_peaks *peaks);

#endif
