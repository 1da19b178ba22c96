/* SPDX-License-Identifier: MIT */
/* bench/cli/help.h: --help. */
#ifndef BENCH_CLI_HELP_H
#define BENCH_CLI_HELP_H

#include "cli/options.h"

/* On stdout: a command's own options; of BENCH_COMMAND_STANDARD everything. */
void bench_cli_help(bench_command command);
/* The keys of an operator's cases: of the first word of `cases`. False: it names none. */
bool bench_cli_help_case(const char *cases);

#endif
