/* SPDX-License-Identifier: MIT */
/* bench/cases/elementwise/where.h: the fields of a case of where, resolved. */
#ifndef BENCH_CASES_ELEMENTWISE_WHERE_H
#define BENCH_CASES_ELEMENTWISE_WHERE_H

#include <husk/ops/where.h>

/* y, a and the condition are [rows, columns], packed; with scalar=1 b is one number */
typedef struct bench_where {
    int64_t rows, columns;
    int scalar, numbers;
} bench_where;

#endif
