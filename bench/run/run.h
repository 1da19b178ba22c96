/* SPDX-License-Identifier: MIT */
/* bench/run/run.h: clbench run. */
#ifndef BENCH_RUN_RUN_H
#define BENCH_RUN_RUN_H

#include "cli/options.h"

/* The exit code. */
int bench_command_run(const bench_options *options);

#endif
