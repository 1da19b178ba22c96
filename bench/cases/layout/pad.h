/* SPDX-License-Identifier: MIT */
/* bench/cases/layout/pad.h: the fields of a case of pad, resolved. */
#ifndef BENCH_CASES_LAYOUT_PAD_H
#define BENCH_CASES_LAYOUT_PAD_H

#include <husk/ops/pad.h>

/* x: [outer, h, w], packed; width on all four sides of the last two dimensions */
typedef struct bench_pad {
    int64_t outer, h, w, width;
    husk_pad_mode mode;
} bench_pad;

#endif
