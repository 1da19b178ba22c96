/* SPDX-License-Identifier: MIT */
/* bench/cases/quantized/conv.h: the fields of a case of quantized_conv, resolved. */
#ifndef BENCH_CASES_QUANTIZED_CONV_H
#define BENCH_CASES_QUANTIZED_CONV_H

#include <husk/ops/quantized_conv.h>

/* Two dimensions of space; y: a husk_dtype. */
typedef struct bench_quantized_conv {
    int64_t n, c, h, w, k, r, s, stride, pad, dilation, groups, bias, y, u8;
} bench_quantized_conv;

/* x's scale and zero point, and y's where it is quantized. */
#define BENCH_QUANTIZED_CONV_X {0.02f, 3}
#define BENCH_QUANTIZED_CONV_Y {0.05f, -2}

#endif
