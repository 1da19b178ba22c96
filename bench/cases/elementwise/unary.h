/* SPDX-License-Identifier: MIT */
/* bench/cases/elementwise/unary.h: the fields of a case of unary, resolved. */
#ifndef BENCH_CASES_ELEMENTWISE_UNARY_H
#define BENCH_CASES_ELEMENTWISE_UNARY_H

#include <husk/ops/unary.h>

/* count elements, packed */
typedef struct bench_unary {
    int64_t count;
    husk_unary_op op;
} bench_unary;

#endif
