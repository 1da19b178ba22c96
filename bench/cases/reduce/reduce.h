/* SPDX-License-Identifier: MIT */
/* bench/cases/reduce/reduce.h: the fields of a reduce case, resolved. */
#ifndef BENCH_CASES_REDUCE_REDUCE_H
#define BENCH_CASES_REDUCE_REDUCE_H

#include <stdint.h>

/* x: [outer, axis, inner]; the axis is reduced, or with ends=1 the two others. */
typedef struct bench_reduce {
    int64_t outer, axis, inner;
    int64_t kind;
    int64_t ends;
} bench_reduce;

#endif
