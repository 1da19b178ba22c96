/* SPDX-License-Identifier: MIT */
/* bench/report/command.h: clbench report. */
#ifndef BENCH_REPORT_COMMAND_H
#define BENCH_REPORT_COMMAND_H

#include "cli/options.h"

/* The exit code. */
int bench_command_report(const bench_options *options);

#endif
