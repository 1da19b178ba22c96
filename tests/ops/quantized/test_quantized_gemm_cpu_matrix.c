// SPDX-License-Identifier: MIT
// ctest: tiers=default,long timeout=300
// Multiplication of bytes by AMX against the reference: the kernels' own machine code, whose tile instructions are
// computed by a handler where the CPU has none (support/amx_emulator.h), and soft_amx, on any device. Both signednesses
// of A, and both forms of B, in the default tier by the former alone.
#include <stdio.h>
#include <string.h>

#include "support/amx_emulator.h"
#include "support/byte_products.h"
#include "support/environment.h"
#include "support/support.h"

static const struct {
    const char *engine;
    husk_dtype a_dtype;
} products[] = {{"amx", HUSK_I8}, {"amx", HUSK_U8}, {"soft_amx", HUSK_I8}, {"soft_amx", HUSK_U8}};
enum { PRODUCTS = sizeof products / sizeof *products, IN_DEFAULT = 2 };

static const char *const variants[] = {"cpu_matrix:1024", "cpu_matrix:2048"};

// Whether the engine can be here at all.
static bool begin(int product)
{
    if (product >= IN_DEFAULT && !test_is_long())
        return false;
    test_setenv("HUSK_ENGINES", products[product].engine);
    return test_engine_is_here(products[product].engine);
}

START_TEST(shapes_and_outputs)
{
    husk_ref_random random = {.seed = 311 + (uint64_t)_i};
    if (!begin(_i))
        return;
    const int rounds = test_is_long() ? 80 : 24;
    int ran = 0;
    for (int i = 0; i < rounds; ++i) {
        test_byte_shape s = test_draw_byte_shape(&random, products[_i].a_dtype, 100, 200, i);
        s.is_packed = i % 3 == 1 && (!s.batch || s.shares_b);
        if (s.is_packed)
            s.batch = 0;
        if (i % 5 == 0) // what is copied as it lies
            s.a = TEST_PACKED;
        ran += test_byte_product_run(&s, variants[i / 4 % 2], 2500 + (uint64_t)i);
    }
    ck_assert_msg(ran == 0 || ran == rounds, "%s refuses %d", products[_i].engine, rounds - ran);
    test_restore_environment();
}
END_TEST

// K in several blocks, columns in several strips, several groups, an activation of its own program in the tier long.
START_TEST(blocks_and_strips)
{
    if (!begin(_i))
        return;
    for (int i = 0; i < 4; ++i) {
        test_byte_shape s = {.m = 37,
                             .n = 20 + 30 * i,
                             .k = 2060 + 7 * i,
                             .a_dtype = products[_i].a_dtype,
                             .c_dtype = i % 2 ? HUSK_I32 : HUSK_F32,
                             .b = i == 2 ? TEST_REVERSED : TEST_PACKED,
                             .is_packed = i % 2,
                             .is_extreme = i == 3,
                             .zero = 5 * i};
        test_byte_product_run(&s, variants[i % 2], 2900 + (uint64_t)i);
        if (!test_is_long())
            continue;
        s.activation = HUSK_ACT_GELU;
        test_byte_product_run(&s, variants[i % 2], 2920 + (uint64_t)i);
        s = (test_byte_shape){.m = 5 + 16 * i,
                              .n = 1100,
                              .k = 1025,
                              .a_dtype = products[_i].a_dtype,
                              .c_dtype = (const husk_dtype[]){HUSK_I8, HUSK_F16, HUSK_BF16, HUSK_F32}[i],
                              .is_packed = i % 2,
                              .has_bias = true,
                              .zero = 100};
        test_byte_product_run(&s, "cpu_matrix:1024", 2950 + (uint64_t)i);
    }
    test_restore_environment();
}
END_TEST

START_TEST(sums_of_nothing)
{
    static const int64_t sizes[][3] = {{0, 5, 7}, {5, 0, 7}, {5, 7, 0}};
    if (!begin(0))
        return;
    for (int i = 0; i < 3; ++i)
        for (int is_packed = 0; is_packed < 2; ++is_packed)
            test_byte_product_run(&(test_byte_shape){.m = sizes[i][0],
                                                     .n = sizes[i][1],
                                                     .k = sizes[i][2],
                                                     .a_dtype = HUSK_I8,
                                                     .c_dtype = HUSK_F32,
                                                     .has_bias = true,
                                                     .is_packed = is_packed},
                                  "cpu_matrix", 1);
    test_restore_environment();
}
END_TEST

// What runs is the kernels' machine code, all of whose instructions the handler knows; where the device's compiler is
// one that the engine is for, it does run.
START_TEST(instructions_are_met)
{
    const int wanted = test_amx_is_wanted();
    for (int i = 0; i < IN_DEFAULT && begin(i); ++i) {
        const uint64_t before = test_amx_emulated();
        const bool ran = test_byte_product_run(
            &(test_byte_shape){.m = 40, .n = 40, .k = 64, .c_dtype = HUSK_I32, .a_dtype = products[i].a_dtype},
            "cpu_matrix:1024", 1);
        printf("cpu_matrix: %s, %llu tile instructions computed by the handler\n", ran ? "ran" : "refused",
               (unsigned long long)(test_amx_emulated() - before));
        ck_assert(wanted < 0 || ran == wanted);
    }
    test_restore_environment();
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("quantized_gemm_cpu_matrix");
    TCase *cases = tcase_create("quantized_gemm_cpu_matrix");
    tcase_set_timeout(cases, 300);
    tcase_add_loop_test(cases, shapes_and_outputs, 0, PRODUCTS);
    tcase_add_loop_test(cases, blocks_and_strips, 0, PRODUCTS);
    tcase_add_test(cases, sums_of_nothing);
    tcase_add_test(cases, instructions_are_met);
    suite_add_tcase(suite, cases);
    return test_main(suite);
}
