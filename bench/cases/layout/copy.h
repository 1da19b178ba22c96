/* SPDX-License-Identifier: MIT */
/* bench/cases/layout/copy.h: the fields of a copy case, resolved. */
#ifndef BENCH_CASES_LAYOUT_COPY_H
#define BENCH_CASES_LAYOUT_COPY_H

#include <stdint.h>

/* y: [outer, rows, columns], packed; x the same, or with turn=1 stored as [outer, columns, rows] */
typedef struct bench_copy {
    int64_t outer, rows, columns;
    int64_t turn;
} bench_copy;

#endif
