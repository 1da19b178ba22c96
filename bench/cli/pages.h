/* SPDX-License-Identifier: MIT */
/* bench/cli/pages.h: what is made from the tables of commands and operators, and kept in the tree. */
#ifndef BENCH_CLI_PAGES_H
#define BENCH_CLI_PAGES_H

#include <stdbool.h>
#include <stdio.h>

/*
 * clbench --generate PAGE: man (docs/clbench.1), bash and zsh (bench/completions), exit-codes and cases (tables of
 * docs/clbench.md), operators (that of docs/operators.md), and each list of cases/op_lists.h, for tests.
 */
#define BENCH_GENERATE_ARGUMENT "--generate"

/* False: there is no such page. */
bool bench_cli_generate(const char *page, FILE *file);

#endif
