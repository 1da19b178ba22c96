/* SPDX-License-Identifier: MIT */
/* bench/cases/array.h: host memory of one operand: made, filled, freed, and seen by the reference. */
#ifndef BENCH_CASES_ARRAY_H
#define BENCH_CASES_ARRAY_H

#include "cases/case.h"
#include "cases/operands.h"
#include "ref/check.h"

/*
 * Allocate an array: 64-byte aligned; floats are NaN throughout, gaps between strided rows included, so that
 * whoever reads or leaves what it should not is found out. strides: NULL for packed, last dimension fastest.
 */
bool bench_array_make(bench_array *array, husk_dtype dtype, int32_t rank, const int64_t *shape, const int64_t *strides);
/* The same with channels last in memory where the layout says so. */
bool bench_array_make_layout(bench_array *array, bench_layout layout, int32_t rank, const int64_t *shape);
/* An array of the same shape, strides and contents. */
bool bench_array_clone(bench_array *copy, const bench_array *array);
/* Random floats in (-scale, scale) at the array's own elements. */
void bench_array_fill(bench_array *array, uint64_t seed, float scale);
/* Random bytes, all of them. */
void bench_array_fill_bytes(bench_array *array, uint64_t seed);
int64_t bench_array_bytes(const bench_array *array);
void bench_array_free(bench_array *array);

/* The reference sees operands as husk_ref_array. */
husk_ref_array bench_ref_array(const bench_array *array);

#endif
