/* SPDX-License-Identifier: MIT */
/* bench/cases/pool/pool.h: the fields of a pool case, resolved. */
#ifndef BENCH_CASES_POOL_POOL_H
#define BENCH_CASES_POOL_POOL_H

#include <stdint.h>

typedef struct bench_pool {
    int64_t kind; /* husk_pool_kind */
    int64_t n, c;
    int64_t d, h, w;
    int64_t t, r, s; /* window; for global the whole space */
    int64_t stride[3], pad[3], pad_end[3], dilation[3];
    int64_t ceil, count_pad, global;
    int64_t indices; /* 1: MAX also writes i32 indices */
    /* derived */
    int64_t space;
    int64_t in[3], window[3], out[3];
} bench_pool;

#endif
