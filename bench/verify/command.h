/* SPDX-License-Identifier: MIT */
/* bench/verify/command.h: clbench verify. */
#ifndef BENCH_VERIFY_COMMAND_H
#define BENCH_VERIFY_COMMAND_H

#include "cli/options.h"

/* The exit code. */
int bench_command_verify(const bench_options *options);

#endif
