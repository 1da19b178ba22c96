// SPDX-License-Identifier: MIT
// ctest: tiers=default,long timeout=600
// Multiplication of bytes by matrix engines against the reference: each soft engine (cl/lib/fragment_soft.clh), whose
// fragments, layouts and main loop are those of the real one, with A of either signedness that it has. In the default
// tier one of them, for the sake of few programs.
#include "support/byte_products.h"
#include "support/environment.h"
#include "support/support.h"

static const struct {
    const char *engine;
    husk_dtype a_dtype;
} products[] = {
    {"soft_nv_mma", HUSK_U8},         {"soft_nv_mma", HUSK_I8},       {"soft_amd_mfma", HUSK_I8},
    {"soft_amd_wmma", HUSK_I8},       {"soft_amd_wmma", HUSK_U8},     {"soft_amd_wmma_gfx12", HUSK_I8},
    {"soft_amd_wmma_gfx12", HUSK_U8}, {"soft_intel_dpas", HUSK_I8},   {"soft_intel_dpas", HUSK_U8},
    {"soft_intel_dpas_8", HUSK_I8},   {"soft_intel_dpas_8", HUSK_U8},
};
enum { PRODUCTS = sizeof products / sizeof *products, IN_DEFAULT = 2 };

static const char *const variants[] = {"matrix:32x32", "matrix:64x64", "matrix:128x128"};

START_TEST(shapes_and_outputs)
{
    husk_ref_random random = {.seed = 411 + (uint64_t)_i};
    if (_i >= IN_DEFAULT && !test_is_long())
        return;
    test_setenv("HUSK_ENGINES", products[_i].engine);
    const int rounds = test_is_long() ? 40 : 16;
    int ran = 0;
    for (int i = 0; i < rounds; ++i) {
        const int tile = test_is_long() && i % 4 == 3 ? 1 + i / 4 % 2 : 0;
        test_byte_shape s = test_draw_byte_shape(&random, products[_i].a_dtype, tile ? 150 : 70, 200, i / 2);
        // Side by side along k, whole fours at a time: what engines copy straight to local memory.
        if (i % 4 == 0) {
            s.a = TEST_PACKED;
            s.b = TEST_REVERSED;
            s.k = (s.k + 3) / 4 * 4;
        }
        s.zero = i % 3 == 0 ? 0 : s.zero;
        if (test_is_long() && i % 8 == 1) {
            s.activation = HUSK_ACT_GELU;
            s.c_dtype = i % 16 == 1 ? HUSK_F32 : HUSK_I8;
        }
        if (test_is_long() && i % 16 == 5)
            s.c_dtype = HUSK_F16;
        ran += test_byte_product_run(&s, variants[tile], 3500 + (uint64_t)i);
    }
    ck_assert_msg(ran > 10 || husk_context_traits(test_context())->work_group < 128, "%s refuses too much",
                  products[_i].engine);
    test_restore_environment();
}
END_TEST

START_TEST(sums_of_nothing)
{
    static const int64_t sizes[][3] = {{0, 5, 7}, {5, 0, 7}, {5, 7, 0}};
    test_setenv("HUSK_ENGINES", products[0].engine);
    for (int i = 0; i < 3; ++i)
        test_byte_product_run(&(test_byte_shape){.m = sizes[i][0],
                                                 .n = sizes[i][1],
                                                 .k = sizes[i][2],
                                                 .zero = 3,
                                                 .a_dtype = products[0].a_dtype,
                                                 .c_dtype = HUSK_F32,
                                                 .has_bias = true},
                              variants[0], 1);
    test_restore_environment();
}
END_TEST

// An engine that has no bytes of this signedness, and none at all, are refused.
START_TEST(what_it_does_not_take)
{
    const test_byte_shape s = {.m = 20, .n = 20, .k = 20, .a_dtype = HUSK_U8, .c_dtype = HUSK_I32};
    test_setenv("HUSK_ENGINES", "soft_amd_mfma");
    ck_assert(!test_byte_product_run(&s, variants[0], 1));
    test_setenv("HUSK_ENGINES", "none");
    ck_assert(!test_byte_product_run(&s, variants[0], 1));
    test_restore_environment();
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("quantized_gemm_matrix");
    TCase *cases = tcase_create("quantized_gemm_matrix");
    tcase_set_timeout(cases, 600);
    tcase_add_loop_test(cases, shapes_and_outputs, 0, PRODUCTS);
    tcase_add_test(cases, sums_of_nothing);
    tcase_add_test(cases, what_it_does_not_take);
    suite_add_tcase(suite, cases);
    return test_main(suite);
}
