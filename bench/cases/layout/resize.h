/* SPDX-License-Identifier: MIT */
/* bench/cases/layout/resize.h: the fields of a case of resize, resolved. */
#ifndef BENCH_CASES_LAYOUT_RESIZE_H
#define BENCH_CASES_LAYOUT_RESIZE_H

#include <husk/ops/resize.h>

/* x: [n, c, (d,) (h,) w], y: the same with (t,) (r,) s in their places */
typedef struct bench_resize {
    int64_t n, c;
    int64_t d, h, w; /* d, h: 0 where there is no such dimension */
    int64_t t, r, s;
    int64_t mode, coordinates, rounding; /* of husk/ops/resize.h */
    /* derived */
    int64_t space;
    int64_t in[3], out[3];
} bench_resize;

#endif
