/* SPDX-License-Identifier: MIT */
/* bench/run/list.h: clbench list. */
#ifndef BENCH_RUN_LIST_H
#define BENCH_RUN_LIST_H

#include "cli/options.h"

/* The exit code. */
int bench_command_list(const bench_options *options);

#endif
