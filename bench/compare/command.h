/* SPDX-License-Identifier: MIT */
/* bench/compare/command.h: clbench compare. */
#ifndef BENCH_COMPARE_COMMAND_H
#define BENCH_COMPARE_COMMAND_H

#include "cli/options.h"

/* The exit code. */
int bench_command_compare(const bench_options *options);

#endif
