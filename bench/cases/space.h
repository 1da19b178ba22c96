/* SPDX-License-Identifier: MIT */
/* bench/cases/space.h: what conv and pool share: one to three dimensions of space and a window over them. */
#ifndef BENCH_CASES_SPACE_H
#define BENCH_CASES_SPACE_H

#include "cases/case.h"
#include "common/text.h"

/* Number of dimensions from which of d and h are there; 0 with reason when the window does not fit them. */
static inline int64_t bench_space_count(int64_t d, int64_t h, const int64_t window[3], bool window_wanted,
                                        char reason[BENCH_REASON_TEXT])
{
    static const char *const sizes = "dhw", *const windows = "trs";
    int64_t space = d ? 3 : h ? 2 : 1;
    if (space == 3 && !h) {
        bench_explain(reason, BENCH_REASON_TEXT, "d needs h as well");
        return 0;
    }
    for (int i = 0; i < 3; i++) {
        bool is_there = i >= 3 - space;
        if (is_there && window_wanted && !window[i]) {
            bench_explain(reason, BENCH_REASON_TEXT, "%c is required beside %c", windows[i], sizes[i]);
            return 0;
        }
        if (!is_there && window[i]) {
            bench_explain(reason, BENCH_REASON_TEXT, "%c has no %c to go with", windows[i], sizes[i]);
            return 0;
        }
    }
    return space;
}

/* The last `space` of d, h, w in front: the order of the public API's lists. */
static inline void bench_space_list(int64_t space, int64_t d, int64_t h, int64_t w, int64_t list[3])
{
    const int64_t all[3] = {d, h, w};
    for (int64_t i = 0; i < 3; i++)
        list[i] = i < space ? all[3 - space + i] : 1;
}

/* What a window reaches over; more than any input is long where that is no number. */
static inline int64_t bench_window_extent(int64_t window, int64_t dilation)
{
    const int64_t most = (int64_t)1 << 60;
    return window > 1 && dilation > (most - 1) / (window - 1) ? most : dilation * (window - 1) + 1;
}

#endif
