/* SPDX-License-Identifier: MIT */
/* bench/tune/kernels.h: clbench tune --kernels. */
#ifndef BENCH_TUNE_KERNELS_H
#define BENCH_TUNE_KERNELS_H

#include "cli/options.h"

/* The exit code. */
int bench_tune_kernels(const bench_options *options);

#endif
