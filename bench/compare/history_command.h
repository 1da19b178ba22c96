/* SPDX-License-Identifier: MIT */
/* bench/compare/history_command.h: clbench history. */
#ifndef BENCH_COMPARE_HISTORY_COMMAND_H
#define BENCH_COMPARE_HISTORY_COMMAND_H

#include "cli/options.h"

/* The exit code. */
int bench_command_history(const bench_options *options);

#endif
