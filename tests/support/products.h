/* SPDX-License-Identifier: MIT */
/*
 * support/products.h: multiplications by matrix engines, checked against the bound that their plan states.
 */
#ifndef HUSK_TEST_PRODUCTS_H
#define HUSK_TEST_PRODUCTS_H

#include "ref/gemm/gemm.h"
#include "support/support.h"

typedef struct test_product {
    const char *engine;
    husk_dtype dtype;
    husk_precision precision;
    double most; /* of the error factor, at K = 100 */
} test_product;

/* Three products of parts, one of one part, whole numbers: see husk/context.h. Sums here are rounded, not cut off. */
#define BF16X3 (3 * 0x1p8 + 4 + 2 * 17.33)
#define BF16X1 (0x1p17 + 0x1p8 + 4 + 20.01)
#define TF32X3 (3 * 0x1p2 + 4 + 2 * 17.33)
#define TF32X1 (0x1p14 + 0x1p2 + 4 + 20.01)
#define WHOLE  (4 + 20.01)
#define HALVES(engine) {engine, HUSK_F16, HUSK_PRECISION_HIGHEST, WHOLE}, \
    {engine, HUSK_BF16, HUSK_PRECISION_HIGHEST, WHOLE}
#define BF16_PARTS(engine) {engine, HUSK_F32, HUSK_PRECISION_HIGH, BF16X3}, \
    {engine, HUSK_F32, HUSK_PRECISION_MEDIUM, BF16X1}

/* All that soft engines have; the first of each engine begins its group. */
enum { TEST_PRODUCTS = 25 };
extern const test_product test_products[TEST_PRODUCTS];

typedef struct test_fixture {
    test_tensor a, b, bias, c;
    husk_gemm_params params;
    husk_ref_gemm op;
} test_fixture;

typedef struct test_shape {
    int64_t batch, m, n, k;
    bool transpose_a, transpose_b;
    test_layout a, b, c;
    float beta;
    husk_act activation;
    bool c_is_wide;
    bool is_packed; /* B is packed beforehand */
} test_shape;

void test_fixture_make(test_fixture *f, const test_shape *s, husk_dtype dtype, husk_precision precision,
                       const char *variant, uint64_t seed);
void test_fixture_release(test_fixture *f);
/* A plan of its own each time, as engines change between tests; NULL where the variant refuses. */
husk_plan *test_fixture_plan(test_fixture *f, const char *variant);
/* One multiplication against the reference; false where the variant refuses. */
bool test_product_run(const test_shape *s, const test_product *p, const char *variant, uint64_t seed);
/* Sizes about multiples of 32, up to limit and for K 100. */
test_shape test_draw_shape(husk_ref_random *random, int64_t limit);

#endif
