/* SPDX-License-Identifier: MIT */
/*
 * bench/worker/peaks.h: what the device can do at most, measured in the same run: multiply-adds without memory, by
 * dtype; bandwidth by size of the working set (copying, streaming or reading, whichever is best), of local memory,
 * and of transfers; what a launch and an empty queue cost; whether event clocks tell the truth; and the sentinel, a
 * fixed piece of work whose time says whether the machine is as fast as it was.
 */
#ifndef BENCH_WORKER_PEAKS_H
#define BENCH_WORKER_PEAKS_H

#include <stdbool.h>

#include <jansson.h>

#define BENCH_COPY_SIZES   7
#define BENCH_ENGINE_PEAKS 8

/* Arithmetic beside f32. i8: products of bytes, added up in 32 bits. */
typedef enum bench_arithmetic { BENCH_PEAK_F64, BENCH_PEAK_F16, BENCH_PEAK_I8, BENCH_ARITHMETICS } bench_arithmetic;

/* Between host and device. Pinned: from memory that the driver has allocated. */
typedef enum bench_transfer {
    BENCH_TO_DEVICE,
    BENCH_TO_DEVICE_PINNED,
    BENCH_FROM_DEVICE,
    BENCH_FROM_DEVICE_PINNED,
    BENCH_TRANSFERS
} bench_transfer;

typedef struct bench_peaks {
    double fma_gflops; /* f32 */
    double arithmetic[BENCH_ARITHMETICS]; /* 10^9 operations a second; 0: the device has none, or it was not asked */
    struct {
        double bytes;        /* working set: both buffers together */
        double gbytes_per_s; /* read and written */
    } copy[BENCH_COPY_SIZES];
    int copy_count;
    double local_gbytes_per_s; /* read from local memory, all compute units together; 0: not measured */
    double transfers[BENCH_TRANSFERS]; /* GB/s; 0: not measured */
    struct {
        char name[24], dtype[8];
        double gflops; /* of the library's best product of matrices: it can do at least that */
    } engines[BENCH_ENGINE_PEAKS];
    int engine_count;
    double launch_ns;     /* a kernel that does nothing much, launched and waited for */
    double round_trip_ns; /* a command that does nothing, on an idle queue, waited for; 0: not measured */
    double trust_ratio; /* time by events / time by the wall clock of one long kernel; 0: no events */
} bench_peaks;

/* "f64", "f16", "i8"; "to_device" and so on: names in the JSON document. */
const char *bench_arithmetic_name(bench_arithmetic arithmetic);
const char *bench_transfer_name(bench_transfer transfer);
/* Whether an engine is one of CPUs, which the variants named amx take. */
bool bench_engine_is_of_cpus(const char *name);
/* The reply to "peaks", and what it says. */
json_t *bench_peaks_json(const bench_peaks *peaks);
void bench_read_peaks(const json_t *json, bench_peaks *peaks);

#endif
