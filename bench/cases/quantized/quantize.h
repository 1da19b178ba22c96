/* SPDX-License-Identifier: MIT */
/* bench/cases/quantized/quantize.h: the fields of a case of quantize, resolved. */
#ifndef BENCH_CASES_QUANTIZED_QUANTIZE_H
#define BENCH_CASES_QUANTIZED_QUANTIZE_H

#include <husk/ops/quantize.h>

/* rows by columns, packed; per: one scale and zero point, or one a row or a column */
typedef struct bench_quantize {
    int64_t rows, columns;
    int64_t per, u8;
} bench_quantize;

#endif
