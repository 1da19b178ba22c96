/* SPDX-License-Identifier: MIT */
/* bench/cases/attention/rotary.h: the fields of a case of rotary, resolved. */
#ifndef BENCH_CASES_ATTENTION_ROTARY_H
#define BENCH_CASES_ATTENTION_ROTARY_H

#include <husk/ops/rotary.h>

/* [n, heads, length, d], packed; turned: the columns that are, 0 for all */
typedef struct bench_rotary {
    int64_t n, heads, length, d, turned, interleaved;
} bench_rotary;

#endif
