/* SPDX-License-Identifier: MIT */
/* bench/cli/parse.h: the command line, read. */
#ifndef BENCH_CLI_PARSE_H
#define BENCH_CLI_PARSE_H

#include "cli/options.h"

/* False: reason says what is wrong. */
bool bench_cli_parse(int argc, char **argv, bench_options *options, char reason[BENCH_REASON_TEXT]);

#endif
