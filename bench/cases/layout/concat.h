/* SPDX-License-Identifier: MIT */
/* bench/cases/layout/concat.h: the fields of a case of concat, resolved. */
#ifndef BENCH_CASES_LAYOUT_CONCAT_H
#define BENCH_CASES_LAYOUT_CONCAT_H

#include <husk/ops/concat.h>

/* [outer, a, inner] and [outer, b, inner] become [outer, a + b, inner] */
typedef struct bench_concat {
    int64_t outer, a, b, inner;
} bench_concat;

#endif
