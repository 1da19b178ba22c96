/* SPDX-License-Identifier: MIT */
/* bench/cases/elementwise/binary.h: the fields of a case of binary, resolved. */
#ifndef BENCH_CASES_ELEMENTWISE_BINARY_H
#define BENCH_CASES_ELEMENTWISE_BINARY_H

#include <husk/ops/binary.h>

typedef enum bench_broadcast { BENCH_FULL, BENCH_ROW, BENCH_COLUMN, BENCH_SCALAR } bench_broadcast;

/* a is [rows, columns], packed; b is as large, a row, a column or one number */
typedef struct bench_binary {
    int64_t rows, columns;
    husk_binary_op op;
    bench_broadcast b;
} bench_binary;

#endif
