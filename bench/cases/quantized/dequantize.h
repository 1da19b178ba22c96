/* SPDX-License-Identifier: MIT */
/* bench/cases/quantized/dequantize.h: the fields of a case of dequantize, resolved. */
#ifndef BENCH_CASES_QUANTIZED_DEQUANTIZE_H
#define BENCH_CASES_QUANTIZED_DEQUANTIZE_H

#include <husk/ops/dequantize.h>

/* rows by columns, packed; per: one scale and zero point, or one a row or a column */
typedef struct bench_dequantize {
    int64_t rows, columns;
    int64_t per, u8;
} bench_dequantize;

#endif
