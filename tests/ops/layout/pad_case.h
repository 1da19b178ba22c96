/* SPDX-License-Identifier: MIT */
/* ops/layout/pad_case.h: paddings drawn by chance, for pad and its gradient. */
#ifndef HUSK_TESTS_OPS_LAYOUT_PAD_CASE_H
#define HUSK_TESTS_OPS_LAYOUT_PAD_CASE_H

#include <husk/ops/pad.h>

#include "support/support.h"

typedef struct pad_case {
    int32_t rank;
    husk_pad_params params;
    int64_t x[HUSK_MAX_RANK], y[HUSK_MAX_RANK];
    test_layout x_layout, y_layout;
    char text[200];
} pad_case;

/* largest: of the last dimension, about. */
pad_case pad_case_draw(husk_ref_random *random, husk_pad_mode mode, int64_t largest);

#endif
