/* SPDX-License-Identifier: MIT */
/* bench/verify/kernels.h: clbench verify --kernels: kernels that Husk has never seen, as their descriptions say. */
#ifndef BENCH_VERIFY_KERNELS_H
#define BENCH_VERIFY_KERNELS_H

#include "cli/options.h"

/* The exit code. */
int bench_verify_kernels(const bench_options *options);

#endif
