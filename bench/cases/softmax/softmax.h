/* SPDX-License-Identifier: MIT */
/* bench/cases/softmax/softmax.h: the fields of a softmax case, resolved. */
#ifndef BENCH_CASES_SOFTMAX_SOFTMAX_H
#define BENCH_CASES_SOFTMAX_SOFTMAX_H

#include <stdint.h>

/* x and y: [outer, axis, inner] */
typedef struct bench_softmax {
    int64_t outer, axis, inner;
    int64_t log;
} bench_softmax;

#endif
