/* SPDX-License-Identifier: MIT */
/* bench/tune/command.h: clbench tune. */
#ifndef BENCH_TUNE_COMMAND_H
#define BENCH_TUNE_COMMAND_H

#include "cli/options.h"

/* The exit code. */
int bench_command_tune(const bench_options *options);

#endif
