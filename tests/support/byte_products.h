/* SPDX-License-Identifier: MIT */
/*
 * support/byte_products.h: multiplications of bytes by matrix engines, checked against the reference as every other
 * variant of quantized_gemm is: sums exactly.
 */
#ifndef HUSK_TEST_BYTE_PRODUCTS_H
#define HUSK_TEST_BYTE_PRODUCTS_H

#include "ref/random.h"
#include "support/tensor.h"

typedef struct test_byte_shape {
    int64_t batch, m, n, k;
    husk_dtype a_dtype, c_dtype;
    test_layout a, b, c;
    bool shares_a, shares_b; /* one matrix for the whole batch */
    bool has_bias, has_one_scale;
    bool is_packed;  /* B is packed beforehand */
    bool is_extreme; /* the least and the largest numbers alone */
    int32_t zero;    /* of A */
    husk_act activation;
} test_byte_shape;

/* One multiplication by a plan of its own, as engines change between tests; false where the variant refuses. */
bool test_byte_product_run(const test_byte_shape *s, const char *variant, uint64_t seed);
/* Sizes about multiples of 32, up to limit and for K `most`; outputs in turn, by round. */
test_byte_shape test_draw_byte_shape(husk_ref_random *random, husk_dtype a_dtype, int64_t limit, int64_t most,
                                     int round);

#endif
