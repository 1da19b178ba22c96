/* SPDX-License-Identifier: MIT */
/*
 * support/generate.h: configurations drawn by chance, the same in every run.
 */
#ifndef HUSK_TESTS_GENERATE_H
#define HUSK_TESTS_GENERATE_H

#include <husk/ops/reduce.h>

#include "ref/random.h"
#include "support/tensor.h"

/* One of the values, which are int64_t. */
#define TEST_PICK(random, ...)                          \
    test_pick((random), (const int64_t[]){__VA_ARGS__}, \
              sizeof((const int64_t[]){__VA_ARGS__}) / sizeof(int64_t))
int64_t test_pick(husk_ref_random *random, const int64_t *values, size_t count);
/* True once in so many times. */
bool test_one_in(husk_ref_random *random, int64_t times);

/*
 * A size from 1 to limit of the kind that finds mistakes: 1, a small one, a prime, a multiple of tile, one
 * less or one more than that, or anything.
 */
int64_t test_pick_size(husk_ref_random *random, int64_t tile, int64_t limit);
test_layout test_pick_layout(husk_ref_random *random);
/* A dimension's number as an axis: itself, or counted from the last. */
int32_t test_axis(husk_ref_random *random, int32_t dimension, int32_t rank);
/* The dimensions whose bits are set, bit 0 the last one's, as axes; the last of the list first, both ways by turns. */
void test_reduce_axes(husk_reduce_params *params, uint32_t bits, int32_t rank);
/* The axes as text, "0,-1"; "all". */
enum { TEST_AXES_TEXT = 40 };
const char *test_axes_text(const husk_reduce_params *params, char text[TEST_AXES_TEXT]);

#endif
