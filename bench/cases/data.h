/* SPDX-License-Identifier: MIT */
/*
 * bench/cases/data.h: a case's operands in host memory, the same numbers wherever they are made.
 */
#ifndef BENCH_CASES_DATA_H
#define BENCH_CASES_DATA_H

#include "cases/case.h"
#include "cases/operands.h"

/* False with reason when host memory is short. */
bool bench_data_make(const bench_case *c, bench_data *data, char reason[BENCH_REASON_TEXT]);
void bench_data_free(const bench_case *c, bench_data *data);

/* Arrays to read a result into, NaN (and -2 in indices) throughout. */
bool bench_output_make(const bench_case *c, const bench_data *data, bench_output *output,
                       char reason[BENCH_REASON_TEXT]);
void bench_output_free(bench_output *output);

#endif
