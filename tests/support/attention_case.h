/* SPDX-License-Identifier: MIT */
/*
 * support/attention_case.h: operands of attention, for the tests of it and of its gradient.
 */
#ifndef HUSK_TESTS_ATTENTION_CASE_H
#define HUSK_TESTS_ATTENTION_CASE_H

#include "ref/attention/attention.h"
#include "support/support.h"

typedef struct test_attention {
    husk_attention_params params;
    husk_dtype dtype;
    int64_t batch, heads, kv_heads, queries, keys, d, e;
    bool has_mask, has_sums; /* has_sums: log_sum_exp is wanted */
    int layout;              /* 0: heads before positions; 1: positions before heads; 2: rows with gaps */
    test_tensor q, k, v, mask;
    char text[240];
} test_attention;

/* Sizes as they are set; inputs of this scale, which keeps scores of the order of one. */
void test_attention_fill(test_attention *c, husk_ref_random *random, uint64_t seed);
/* Every size and option by chance. */
test_attention test_attention_draw(husk_ref_random *random, husk_dtype dtype, int64_t most, uint64_t seed);
void test_attention_release(test_attention *c);

/* [batch, heads, length, columns] in the case's layout, whose last stride is 1. */
test_tensor test_attention_input(const test_attention *c, int64_t heads, int64_t length, int64_t columns, uint64_t seed,
                                 float scale);
test_tensor test_attention_output(const test_attention *c, int64_t heads, int64_t length, int64_t columns, bool adds,
                                  uint64_t seed);
const husk_tensor *test_attention_mask(const test_attention *c);
husk_ref_attention test_attention_reference(const test_attention *c);

#endif
