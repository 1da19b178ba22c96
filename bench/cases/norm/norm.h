/* SPDX-License-Identifier: MIT */
/* bench/cases/norm/norm.h: the fields of a norm case, resolved. */
#ifndef BENCH_CASES_NORM_NORM_H
#define BENCH_CASES_NORM_NORM_H

#include <stdint.h>

/* x and y: [n, c] or [n, c, h, w] */
typedef struct bench_norm {
    int64_t kind; /* husk_norm_kind */
    int64_t n, c, h, w;
    int64_t groups;
    int64_t training;
} bench_norm;

#endif
