/* SPDX-License-Identifier: MIT */
/* bench/worker/meter.h: the inside of what bench/worker/peaks.h declares, for its own files. */
#ifndef BENCH_WORKER_METER_H
#define BENCH_WORKER_METER_H

#include <husk/opencl.h>

#include "worker/peaks.h"

#define BENCH_MOVES 3

struct bench_meter {
    const bench_husk_session *session;
    const husk_device_traits *traits;
    cl_context context;
    cl_command_queue queue; /* with profiling where the device can */
    bool has_profiling;
    cl_program program;
    cl_kernel fma, moves[BENCH_MOVES];
    cl_kernel arithmetic[BENCH_ARITHMETICS], local; /* NULL: the device has none, or its compiler refused */
    cl_mem from, to;
    size_t buffer_bytes; /* of to; from has twice as many */
    int vector, group, groups_a_unit;
    cl_int sentinel_rounds, memory_rounds; /* 0: not found yet */
    bench_peaks measured; /* of the parts that were asked for one after another */
};

/* True, with reason, where the call failed. */
bool bench_meter_failed(cl_int error, const char *call, char reason[BENCH_REASON_TEXT]);
/* Work-groups that fill the device. */
size_t bench_meter_groups(const bench_meter *meter);
/*
 * From a group's part of a working set to its next round's: any that are under way at a time come through all parts,
 * and until they have moved as many bytes as there are, seldom through the same one again.
 */
size_t bench_meter_step(size_t groups);
/* Wall time of one launch; by_event, when not NULL, receives the device's own figure. */
bool bench_meter_time(bench_meter *meter, cl_kernel kernel, size_t groups, double *ns, double *by_event,
                      char reason[BENCH_REASON_TEXT]);

/* bench/worker/peaks_more.c: what there is beside f32 and global memory. False: reason. */
void bench_meter_make_more(bench_meter *meter);
bool bench_meter_arithmetic(bench_meter *meter, bool quick, unsigned wanted, bench_peaks *peaks,
                            char reason[BENCH_REASON_TEXT]);
bool bench_meter_local(bench_meter *meter, bench_peaks *peaks, char reason[BENCH_REASON_TEXT]);
bool bench_meter_transfers(bench_meter *meter, bench_peaks *peaks, char reason[BENCH_REASON_TEXT]);
bool bench_meter_round_trip(bench_meter *meter, bench_peaks *peaks, char reason[BENCH_REASON_TEXT]);
void bench_meter_engines(bench_meter *meter, bench_peaks *peaks);

#endif
