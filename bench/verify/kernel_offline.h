/* SPDX-License-Identifier: MIT */
/*
 * bench/verify/kernel_offline.h: clbench verify --kernels --offline: described kernels, compiled for GPUs that are not
 * here, and what they take there: registers, spills, stack, local memory. The compilers are called by the scripts of
 * bench/offline.
 */
#ifndef BENCH_VERIFY_KERNEL_OFFLINE_H
#define BENCH_VERIFY_KERNEL_OFFLINE_H

#include "spec/choice.h"
#include "verify/kernel_row.h"

typedef struct bench_kernel_offline {
    const bench_options *options;
    const bench_description *descriptions;
    size_t count;
    const bench_kernel_choice *choice;
    bench_verify_results *results; /* NULL: nobody wants them */
    bench_kernel_tally *total;
} bench_kernel_offline;

/* The exit code: OK, USAGE for a target that nobody knows, NO_DEVICE where a compiler is missing, or ERROR. */
int bench_kernel_offline_run(const bench_kernel_offline *offline);

#endif
