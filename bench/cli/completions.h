/* SPDX-License-Identifier: MIT */
/* bench/cli/completions.h: completions of the command line for shells. */
#ifndef BENCH_CLI_COMPLETIONS_H
#define BENCH_CLI_COMPLETIONS_H

#include <stdio.h>

void bench_cli_bash(FILE *file);
void bench_cli_zsh(FILE *file);

#endif
