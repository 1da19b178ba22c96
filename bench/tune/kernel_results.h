/* SPDX-License-Identifier: MIT */
/*
 * bench/tune/kernel_results.h: what tuning described kernels has found, as files: ours (schema clbench-tune/1), and T4,
 * the format in which Kernel Tuner and others keep results (https://github.com/odgaard/TuningSchema,
 * results-schema.json, version 1.0.0; its times are milliseconds, as Kernel Tuner writes them).
 */
#ifndef BENCH_TUNE_KERNEL_RESULTS_H
#define BENCH_TUNE_KERNEL_RESULTS_H

#include "tune/kernel_race.h"

/* {"devices": [], "results": []} and who made it. */
json_t *bench_kernel_results_begin(void);
/* device: as a worker's hello has it. */
void bench_kernel_results_device(json_t *results, const json_t *device);
/* Of the device that was added last. */
void bench_kernel_results_add(json_t *results, const bench_kernel_race *race);

/* One problem's configurations. A new reference. */
json_t *bench_kernel_results_t4(const bench_kernel_race *race);

#endif
