/* SPDX-License-Identifier: MIT */
/* bench/cases/conv/conv.h: the fields of a conv case, resolved. */
#ifndef BENCH_CASES_CONV_CONV_H
#define BENCH_CASES_CONV_CONV_H

#include <stdint.h>

/* Space dimensions are listed in the order d, h, w; the first `space` entries of each list count. */
typedef struct bench_conv {
    int64_t n, c, k;
    int64_t d, h, w; /* d 0: no such dimension; h 0 with d 0: one-dimensional */
    int64_t t, r, s; /* filter extents along d, h, w; 0 where the dimension is not there */
    int64_t stride[3], pad[3], pad_end[3], dilation[3]; /* resolved: pad_end is the true number */
    int64_t groups;
    int64_t bias; /* 1: [k] */
    /* derived */
    int64_t space; /* 1, 2 or 3 */
    int64_t in[3], filter[3], out[3];
} bench_conv;

#endif
