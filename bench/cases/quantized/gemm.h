/* SPDX-License-Identifier: MIT */
/* bench/cases/quantized/gemm.h: the fields of a case of quantized_gemm, resolved. */
#ifndef BENCH_CASES_QUANTIZED_GEMM_H
#define BENCH_CASES_QUANTIZED_GEMM_H

#include <husk/ops/quantized_gemm.h>

/* c: a husk_dtype. A is [m, k], B [k, n] or stored as [n, k]. */
typedef struct bench_quantized_gemm {
    int64_t m, n, k, tb, bias, c, u8;
} bench_quantized_gemm;

/* A's scale and zero point, and C's where it is quantized. */
#define BENCH_QUANTIZED_GEMM_A {0.02f, 3}
#define BENCH_QUANTIZED_GEMM_C {0.05f, -2}

#endif
