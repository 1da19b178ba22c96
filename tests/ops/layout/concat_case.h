/* SPDX-License-Identifier: MIT */
/* ops/layout/concat_case.h: shapes of tensors one after the other, drawn by chance; for concat and its gradient. */
#ifndef HUSK_TESTS_OPS_LAYOUT_CONCAT_CASE_H
#define HUSK_TESTS_OPS_LAYOUT_CONCAT_CASE_H

#include <husk/ops/concat.h>

#include "support/support.h"

enum { CONCAT_MOST = 20 };

typedef struct concat_case {
    int32_t rank, axis; /* the axis may be counted from the end */
    size_t count;
    int64_t whole[HUSK_MAX_RANK], parts[CONCAT_MOST][HUSK_MAX_RANK], starts[CONCAT_MOST];
    test_layout whole_layout, layouts[CONCAT_MOST];
    char text[160];
} concat_case;

/* Half of them with all tensors in the same layout. */
concat_case concat_case_draw(husk_ref_random *random);

#endif
