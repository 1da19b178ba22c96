/* SPDX-License-Identifier: MIT */
/* bench/compare/show.h: a comparison for people and programs. */
#ifndef BENCH_COMPARE_SHOW_H
#define BENCH_COMPARE_SHOW_H

#include <stdio.h>

#include "compare/comparison.h"

void bench_comparison_print(const bench_comparison *comparison, const char *const names[2]);
bool bench_comparison_markdown(const bench_comparison *comparison, const char *const names[2], FILE *file);
json_t *bench_comparison_json(const bench_comparison *comparison, const char *const names[2]);

#endif
