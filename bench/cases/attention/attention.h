/* SPDX-License-Identifier: MIT */
/* bench/cases/attention/attention.h: the fields of a case of attention, resolved. */
#ifndef BENCH_CASES_ATTENTION_ATTENTION_H
#define BENCH_CASES_ATTENTION_ATTENTION_H

#include <husk/ops/attention.h>

/* form: how it is computed. kv_heads, keys and e are filled in where they are 0. */
typedef struct bench_attention {
    int64_t n, heads, kv_heads, length, keys, d, e, causal, percent, form;
} bench_attention;

#endif
