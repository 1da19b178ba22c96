/* SPDX-License-Identifier: MIT */
/* bench/cli/pages.h: the files that are made from the table of bench/cli/table.h and kept in the tree. */
#ifndef BENCH_CLI_PAGES_H
#define BENCH_CLI_PAGES_H

#include <stdbool.h>
#include <stdio.h>

/* clbench --generate man|bash|zsh: docs/clbench.1, bench/completions/clbench, bench/completions/_clbench. */
#define BENCH_GENERATE_ARGUMENT "--generate"

/* False: there is no such page. */
bool bench_cli_generate(const char *page, FILE *file);

#endif
