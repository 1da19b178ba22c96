/* SPDX-License-Identifier: MIT */
/* bench/report/roofline_command.h: clbench roofline. */
#ifndef BENCH_REPORT_ROOFLINE_COMMAND_H
#define BENCH_REPORT_ROOFLINE_COMMAND_H

#include "cli/options.h"

/* The exit code. */
int bench_command_roofline(const bench_options *options);

#endif
