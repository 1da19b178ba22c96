/* SPDX-License-Identifier: MIT */
/* bench/verify/init_ci.h: clbench init-ci: a CI job that verifies kernels, written into the current folder. */
#ifndef BENCH_VERIFY_INIT_CI_H
#define BENCH_VERIFY_INIT_CI_H

#include "cli/options.h"

/* The exit code. What is there already is not overwritten. */
int bench_command_init_ci(const bench_options *options);

#endif
