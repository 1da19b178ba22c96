/* SPDX-License-Identifier: MIT */
/*
 * support/generate.h: configurations drawn by chance, the same in every run.
 */
#ifndef HUSK_TESTS_GENERATE_H
#define HUSK_TESTS_GENERATE_H

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

#endif
