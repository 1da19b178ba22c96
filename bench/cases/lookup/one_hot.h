/* SPDX-License-Identifier: MIT */
/* bench/cases/lookup/one_hot.h: the fields of a case of one_hot, resolved. */
#ifndef BENCH_CASES_LOOKUP_ONE_HOT_H
#define BENCH_CASES_LOOKUP_ONE_HOT_H

#include <husk/ops/one_hot.h>

/* so many labels, anything below classes; packed */
typedef struct bench_one_hot {
    int64_t labels, classes;
} bench_one_hot;

#endif
