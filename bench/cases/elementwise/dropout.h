/* SPDX-License-Identifier: MIT */
/* bench/cases/elementwise/dropout.h: the fields of a case of dropout, resolved. */
#ifndef BENCH_CASES_ELEMENTWISE_DROPOUT_H
#define BENCH_CASES_ELEMENTWISE_DROPOUT_H

#include <husk/ops/dropout.h>

/* count elements, packed, of which so many in a hundred are dropped */
typedef struct bench_dropout {
    int64_t count, percent;
} bench_dropout;

#endif
