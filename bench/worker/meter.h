/* SPDX-License-Identifier: MIT */
/* bench/worker/meter.h: what peaks are measured with: a queue, kernels and memory of a device. */
#ifndef BENCH_WORKER_METER_H
#define BENCH_WORKER_METER_H

#include <husk/opencl.h>

#include "common/text.h"
#include "worker/peaks.h"

#define BENCH_MOVES 3

/*
 * What moves memory fastest differs: the best of these is the bandwidth of a size. Stores past the caches and reading
 * alone matter where caches end.
 */
typedef struct bench_move_kind {
    const char *kernel;
    int buffers;       /* that the working set divides into */
    size_t from_bytes; /* measured for working sets of at least so many */
} bench_move_kind;

extern const bench_move_kind bench_move_kinds[BENCH_MOVES];

#define BENCH_LOCAL_BYTES 8192 /* of local memory that its kernel has */

typedef struct bench_meter {
    husk_context *husk;
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
} bench_meter;

/* Build the kernels on the context; wanted as in bench_peaks_request. NULL with reason. */
bench_meter *bench_meter_create(husk_context *context, unsigned wanted, char reason[BENCH_REASON_TEXT]);
void bench_meter_release(bench_meter *meter);

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

#endif
