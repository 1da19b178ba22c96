/* SPDX-License-Identifier: MIT */
/*
 * bench/cases/data.h: a case's operands in host memory, the same numbers wherever they are made.
 */
#ifndef BENCH_CASES_DATA_H
#define BENCH_CASES_DATA_H

#include "worker/contender.h"

/*
 * Allocate an array: 64-byte aligned; floats are NaN throughout, gaps between strided rows included, so that
 * whoever reads or leaves what it should not is found out. strides: NULL for packed, last dimension fastest.
 */
bool bench_array_make(bench_array *array, husk_dtype dtype, int32_t rank, const int64_t *shape,
                      const int64_t *strides);
/* The same with channels last in memory where the layout says so. */
bool bench_array_make_layout(bench_array *array, bench_layout layout, int32_t rank, const int64_t *shape);
/* An array of the same shape, strides and contents. */
bool bench_array_clone(bench_array *copy, const bench_array *array);
/* Random floats in (-scale, scale) at the array's own elements. */
void bench_array_fill(bench_array *array, uint64_t seed, float scale);
int64_t bench_array_bytes(const bench_array *array);
void bench_array_free(bench_array *array);

/* The seed of the case's numbers: from its canonical form without packed=, so that both forms share them. */
uint64_t bench_case_seed(const bench_case *c);

/* False with reason when host memory is short. */
bool bench_data_make(const bench_case *c, bench_data *data, char reason[BENCH_REASON_TEXT]);
void bench_data_free(const bench_case *c, bench_data *data);

/* Arrays to read a result into, NaN (and -2 in indices) throughout. */
bool bench_output_make(const bench_case *c, const bench_data *data, bench_output *output,
                       char reason[BENCH_REASON_TEXT]);
void bench_output_free(bench_output *output);

#endif
