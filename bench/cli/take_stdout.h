/* SPDX-License-Identifier: MIT */
/* bench/cli/take_stdout.h: "-" as the name of a file. */
#ifndef BENCH_CLI_TAKE_STDOUT_H
#define BENCH_CLI_TAKE_STDOUT_H

#include "cli/options.h"

/*
 * "-" among the options' files is stdout, for data alone: what people read goes to stderr then. path is where the name
 * is kept that stands for it.
 */
void bench_output_take_stdout(bench_options *options, char path[32]);

#endif
