// SPDX-License-Identifier: MIT
// ctest: tiers=default,long timeout=300
// Multiplication by CPUs' matrix engines against the reference, within the bound that the plan states: the kernels' own
// machine code, whose tile instructions are computed by a handler where the CPU has none (support/amx_emulator.h); dot
// products of AVX-512, where the CPU has them; and soft_amx, on any device. In the default tier one product of each of
// the former two, B not packed, for the sake of few programs.
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "support/amx_emulator.h"
#include "support/environment.h"
#include "support/products.h"
#include "support/support.h"

// Sums that an instruction may cut off: see husk__engine_error_factor.
#define SUMS(terms) (2 * 1.25 * (terms) + 20)

static const test_product products[] = {
    {"amx", HUSK_F32, HUSK_PRECISION_HIGH, 3 * 0x1p8 + SUMS(300)},
    {"avx512_bf16", HUSK_BF16, HUSK_PRECISION_HIGHEST, SUMS(100)},
    {"avx512_bf16", HUSK_F32, HUSK_PRECISION_MEDIUM, 0x1p17 + 0x1p8 + SUMS(100)},
    {"amx", HUSK_BF16, HUSK_PRECISION_HIGHEST, SUMS(100)},
    {"amx", HUSK_F32, HUSK_PRECISION_MEDIUM, 0x1p17 + 0x1p8 + SUMS(100)},
    {"soft_amx", HUSK_BF16, HUSK_PRECISION_HIGHEST, WHOLE},
    BF16_PARTS("soft_amx"),
};
enum { PRODUCTS = sizeof products / sizeof *products, IN_DEFAULT = 2 };

static const char *const variants[] = {"cpu_matrix:512", "cpu_matrix:1024"};

// Whether the engine can be here at all.
static bool begin(const test_product *p)
{
    test_setenv("HUSK_ENGINES", p->engine);
    return test_engine_is_here(p->engine);
}

START_TEST(every_product_is_within_its_bound)
{
    const test_product *p = &products[_i];
    husk_ref_random random = {.seed = 177 + (uint64_t)_i};
    if ((_i >= IN_DEFAULT && !test_is_long()) || !begin(p))
        return;
    int ran = 0;
    for (int i = 0; i < (test_is_long() ? 60 : 30); ++i) {
        test_shape s = test_draw_shape(&random, 100);
        s.c_is_wide = p->dtype != HUSK_F32 && i % 3 == 0;
        s.is_packed = i % 3 == 1 && test_is_long();
        ran += test_product_run(&s, p, variants[i % 2], 1500 + (uint64_t)i);
    }
    ck_assert_msg(ran == 0 || ran > 20, "%s refuses too much", p->engine);
    test_restore_environment();
}
END_TEST

// K in several blocks, columns in several strips, work-groups that own several matrices.
START_TEST(blocks_and_strips)
{
    const test_product *p = &products[_i];
    if ((_i >= IN_DEFAULT && !test_is_long()) || !begin(p))
        return;
    for (int i = 0; i < 4; ++i) {
        const bool is_packed = i % 2 && test_is_long();
        test_product_run(&(test_shape){.m = 37,
                                       .n = 20 + 30 * i,
                                       .k = 1100 + 7 * i,
                                       .is_packed = is_packed,
                                       .transpose_b = i == 2,
                                       .beta = i == 3 ? 1.0f : 0.0f},
                         p, variants[i % 2], 1900 + (uint64_t)i);
        if (test_is_long())
            test_product_run(&(test_shape){.m = 5 + 16 * i, .n = 1050, .k = 513, .is_packed = is_packed}, p,
                             "cpu_matrix:512", 1950 + (uint64_t)i);
        test_product_run(&(test_shape){.m = 33, .n = 31, .k = 40, .batch = 5 + i}, p, "cpu_matrix:1024",
                         1980 + (uint64_t)i);
    }
    // Large enough for the panels of A to be made beforehand.
    for (int i = 0; i < 4 && test_is_long(); ++i)
        test_product_run(&(test_shape){.m = 400, .n = 2100, .k = 530, .transpose_a = i / 2, .is_packed = i % 2}, p,
                         "cpu_matrix:512", 1990 + (uint64_t)i);
    test_restore_environment();
}
END_TEST

static void call(float a0, float b0, float result[3 * 5])
{
    test_fixture f;
    test_fixture_make(&f, &(test_shape){.m = 3, .n = 5, .k = 9}, HUSK_F32, HUSK_PRECISION_HIGH, "cpu_matrix:512", 7);
    *(float *)f.a.array.data = a0;
    *(float *)f.b.array.data = b0;
    test_input_update(&f.a);
    test_input_update(&f.b);
    husk_plan *plan = test_fixture_plan(&f, "cpu_matrix:512");
    memset(result, 0, 15 * sizeof *result);
    if (plan) {
        test_ok(
            husk_gemm_plan_run(plan, test_queue(), 1.0f, &f.a.tensor, &f.b.tensor, &f.bias.tensor, 0.0f, &f.c.tensor));
        test_fetch(&f.c);
        memcpy(result, f.c.array.data, 15 * sizeof *result);
        for (int i = 5; i < 15; ++i)
            ck_assert(isfinite(result[i]) || i % 5 == 0);
    } else {
        result[0] = NAN;
    }
    husk_plan_release(plan);
    test_fixture_release(&f);
}

START_TEST(special_values)
{
    float result[15];
    if (!begin(&products[0]))
        return;
    call(NAN, 1.0f, result);
    ck_assert(isnan(result[0]));
    call(INFINITY, 1.0f, result);
    ck_assert(!isfinite(result[0]));
    // Rounded to a part, this would be infinite.
    call(0x1.ffep127f, 1.0f, result);
    ck_assert_msg(isnan(result[0]) || result[0] == 0x1.ffep127f, "%a", (double)result[0]);
    test_restore_environment();
}
END_TEST

// What runs is the kernels' machine code, all of whose instructions the handler knows.
START_TEST(instructions_are_met)
{
    if (!begin(&products[0]))
        return;
    const bool ran = test_product_run(&(test_shape){.m = 40, .n = 40, .k = 64}, &products[0], "cpu_matrix:512", 1);
    printf("cpu_matrix: %s, %llu tile instructions computed by the handler\n", ran ? "ran" : "refused",
           (unsigned long long)test_amx_emulated());
    // Where the device's compiler is one that the engine is for, it runs.
    const int wanted = test_amx_is_wanted();
    ck_assert(wanted < 0 || ran == wanted);
    test_restore_environment();
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("gemm_cpu_matrix");
    TCase *cases = tcase_create("gemm_cpu_matrix");
    tcase_set_timeout(cases, 300);
    tcase_add_loop_test(cases, every_product_is_within_its_bound, 0, PRODUCTS);
    tcase_add_loop_test(cases, blocks_and_strips, 0, PRODUCTS);
    tcase_add_test(cases, special_values);
    tcase_add_test(cases, instructions_are_met);
    suite_add_tcase(suite, cases);
    return test_main(suite);
}
