/* SPDX-License-Identifier: MIT */
/* bench/cases/gemm/gemm.h: the fields of a gemm case, resolved. */
#ifndef BENCH_CASES_GEMM_GEMM_H
#define BENCH_CASES_GEMM_GEMM_H

#include <stdint.h>

/* bias= of gemm: one value a column (row vector [n]), one a row ([m, 1]), or none. */
typedef enum bench_gemm_bias {
    BENCH_BIAS_NONE,
    BENCH_BIAS_ROW,   /* bias=1 or bias=row: [n], added to every row */
    BENCH_BIAS_COLUMN /* bias=col: [m, 1], added to every column */
} bench_gemm_bias;

/* C[m,n] = act(alpha * op(A) * op(B) + beta * C + bias), row-major, batch of them. */
typedef struct bench_gemm {
    int64_t m, n, k;
    int64_t batch;         /* 1; A, B and C each have the batch when it is more */
    int64_t ta, tb;        /* 1: A is stored [k, m]; B is stored [n, k] */
    int64_t lda, ldb, ldc; /* elements from a stored row to the next; resolved: never 0 */
    double alpha, beta;
    int64_t bias; /* bench_gemm_bias */
} bench_gemm;

#endif
