/* SPDX-License-Identifier: MIT */
/*
 * support/rotary_case.h: operands of rotary position embedding, for the tests of it and of its gradient.
 */
#ifndef HUSK_TESTS_ROTARY_CASE_H
#define HUSK_TESTS_ROTARY_CASE_H

#include "ref/attention/rotary.h"
#include "support/support.h"

/* Positions and tables may not be there: is_there says so. */
typedef struct test_rotary {
    husk_rotary_params params;
    husk_dtype dtype;
    test_layout layout;
    int64_t shape[4]; /* batch, heads, length, columns */
    bool has_positions, has_tables;
    test_tensor positions, cosines, sines;
    char text[160];
} test_rotary;

/* Every option by chance; a fifth of those with tables has positions without a row. Release it. */
test_rotary test_rotary_draw(husk_ref_random *random, husk_dtype dtype, uint64_t seed);
void test_rotary_release(test_rotary *c);

/* NULL where they are not there. */
const husk_tensor *test_rotary_tensor(const test_rotary *c, const test_tensor *tensor);
husk_ref_rotary test_rotary_reference(const test_rotary *c, const husk_ref_array *x);

#endif
