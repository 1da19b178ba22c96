// SPDX-License-Identifier: MIT
// ctest: tiers=default,long timeout=600
// Multiplication by matrix engines against the reference: each soft engine (cl/lib/fragment_soft.clh), whose
// fragments, splitting and main loop are those of the real one, in each dtype and precision that it has; within the
// bound that the plan states. In the default tier one of them, for the sake of few programs.
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "ref/freivalds.h"
#include "support/environment.h"
#include "support/products.h"
#include "support/support.h"

enum { IN_DEFAULT = 1 };

START_TEST(every_product_is_within_its_bound)
{
    const test_product *p = &test_products[_i];
    husk_ref_random random = {.seed = 77 + (uint64_t)_i};
    static const char *const variants[] = {"matrix:32x32", "matrix:64x64", "matrix:128x128"};
    if (_i >= IN_DEFAULT && !test_is_long())
        return;
    test_setenv("HUSK_ENGINES", p->engine);
    int ran = 0;
    for (int i = 0; i < (test_is_long() ? 40 : 24); ++i) {
        const int tile = test_is_long() && i % 4 == 3 ? 1 + i / 4 % 2 : 0;
        test_shape s = test_draw_shape(&random, tile ? 150 : 70);
        s.c_is_wide = p->dtype != HUSK_F32 && i % 3 == 0;
        // Sides by side along k, whole fours at a time: what engines copy straight to local memory.
        if (i % 4 == 0) {
            s.a = s.b = TEST_PACKED;
            s.transpose_a = false;
            s.transpose_b = true;
            s.k = (s.k + 3) / 4 * 4;
        }
        ran += test_product_run(&s, p, variants[tile], 500 + (uint64_t)i);
    }
    ck_assert_msg(ran > 10 || husk_context_traits(test_context())->work_group < 128, "%s refuses too much", p->engine);
    test_restore_environment();
}
END_TEST

// A K that several work-groups share, of which the last has less than a tile.
START_TEST(split_sums)
{
    test_setenv("HUSK_ENGINES", test_products[0].engine);
    for (int i = 0; i < 3; ++i)
        test_product_run(
            &(test_shape){
                .m = 20, .n = 33, .k = 64 * 8 * 3 + 7 * i, .transpose_b = i == 1, .beta = i == 2 ? 1.0f : 0.0f},
            &test_products[0], "matrix:32x32", 900 + (uint64_t)i);
    test_product_run(&(test_shape){.m = 20, .n = 32, .k = 64 * 8 * 2 + 8, .transpose_b = true}, &test_products[3],
                     "matrix:64x64_async3", 903);
    test_restore_environment();
}
END_TEST

// Tiles that asynchronous copies fill, 16 bytes at a time: each of A and B along k and across, from first elements that
// begin such a chunk and from those that do not, matrices that tiles do not divide, and weights packed once.
START_TEST(copied_tiles)
{
    enum { BF16 = 3 };
    static const char *const variants[] = {"matrix:64x64_async3", "matrix:128x128_async5", "matrix:128x128_async2"};
    const test_product *p = &test_products[_i];
    ck_assert_str_eq(p->engine, "soft_nv_mma");
    if (_i != BF16 && !test_is_long())
        return;
    test_setenv("HUSK_ENGINES", p->engine);
    int ran = 0;
    for (int i = 0; i < (test_is_long() ? 32 : 8); ++i) {
        test_shape s = {.m = 64 + 8 * (i % 3) + 8, .n = 136 - 24 * (i % 4), .k = 40 + 24 * (i % 5)};
        // In the default tier two programs: A along k, B across and along.
        s.transpose_b = i % 2;
        s.transpose_a = test_is_long() && i / 2 % 2;
        s.batch = i % 3 == 2 ? 2 : 0;
        s.beta = i % 4 == 1 ? 0.5f : 0.0f;
        s.c_is_wide = p->dtype != HUSK_F32 && i % 4 >= 2;
        s.c = i % 5 == 4 ? TEST_REVERSED : TEST_PACKED;
        s.is_packed = i % 8 == 6;
        s.activation = test_is_long() && i % 7 == 0 ? HUSK_ACT_GELU : HUSK_ACT_RELU;
        // What is not contiguous has any size: rows of A, columns of B along k, steps of K across.
        if (!s.transpose_a)
            s.m -= i % 5;
        else if (!s.transpose_b)
            s.k -= i % 7;
        if (s.transpose_b)
            s.n -= i % 3;
        ran += test_product_run(&s, p, variants[test_is_long() && i % 4 == 3 ? 1 + i / 4 % 2 : 0], 700 + (uint64_t)i);
    }
    ck_assert_msg(ran > 4 || husk_context_traits(test_context())->work_group < 128, "too much is refused");
    // One stride of A and of B has to be 1, the others multiples of a chunk.
    const test_shape unfit[] = {
        {.m = 64, .n = 64, .k = 65}, {.m = 64, .n = 65, .k = 64}, {.m = 64, .n = 64, .k = 64, .a = TEST_PADDED}};
    for (size_t i = 0; i < sizeof unfit / sizeof *unfit; ++i)
        ck_assert(!test_product_run(&unfit[i], p, variants[0], 1));
    test_restore_environment();
}
END_TEST

// Weights that a plan for whole chunks has packed go with every A: one row, A by columns, rows that begin anywhere, A
// with no stride of 1.
START_TEST(copied_weights_fit_every_a)
{
    enum { N = 72, K = 64, BF16 = 3 };
    const int64_t b[] = {N, K}, most[] = {64, K};
    test_setenv("HUSK_ENGINES", test_products[BF16].engine);
    test_tensor w = test_input_of(HUSK_BF16, 2, b, TEST_PACKED, 4, 1.0f);
    test_tensor x = test_input_of(HUSK_BF16, 2, most, TEST_PACKED, 8, 1.0f);
    test_tensor c = test_output(HUSK_BF16, 2, (const int64_t[]){64, N}, TEST_PACKED);
    const husk_gemm_params params = HUSK_GEMM_PARAMS(.transpose_b = true, .variant = "matrix:64x64_async3");
    husk_plan *plan = NULL;
    husk_packed *packed = NULL;
    husk_error error = {0};
    const husk_status status =
        husk_gemm_plan_create(test_context(), &params, &x.tensor, &w.tensor, NULL, &c.tensor, &plan, &error);
    if (husk_context_traits(test_context())->work_group >= 128)
        test_ok_error(status, &error);
    if (status == HUSK_OK)
        test_ok(husk_gemm_plan_pack(plan, test_queue(), &w.tensor, &packed));
    static const struct {
        int64_t m;
        bool transposed;
        test_layout layout;
    } cases[] = {{1, false, TEST_PACKED},    {5, true, TEST_PACKED},    {9, false, TEST_PADDED},
                 {64, false, TEST_REVERSED}, {9, false, TEST_REVERSED}, {64, false, TEST_SPREAD}};
    for (size_t i = 0; packed && i < sizeof cases / sizeof *cases; ++i) {
        const int64_t m = cases[i].m, along[] = {m, K}, across[] = {K, m}, of_c[] = {m, N};
        test_tensor a =
            test_input_of(HUSK_BF16, 2, cases[i].transposed ? across : along, cases[i].layout, 20 + (uint64_t)i, 1.0f);
        test_tensor y = test_output(HUSK_BF16, 2, of_c, TEST_PACKED);
        const husk_tensor weights = husk_packed_tensor(packed);
        const husk_gemm_params free_params = HUSK_GEMM_PARAMS(.transpose_a = cases[i].transposed, .transpose_b = true);
        test_ok(husk_gemm(test_queue(), &free_params, 1.0f, &a.tensor, &weights, NULL, 0.0f, &y.tensor));
        ck_assert_str_eq(husk_plan_variant(husk_queue_plan(test_queue())), "matrix");
        test_fetch(&y);
        const husk_ref_gemm op = {.params = &free_params,
                                  .alpha = 1.0f,
                                  .a = &a.array,
                                  .b = &w.array,
                                  .c = &y.before,
                                  .error_factor = husk_plan_error_factor(husk_queue_plan(test_queue()))};
        husk_ref_report report = {0};
        husk_ref_gemm_check(&op, i, &y.array, &report);
        test_accept("gemm", "matrix:64x64_async3", "packed weights with any A", &report);
        test_release(&a);
        test_release(&y);
    }
    husk_packed_release(packed);
    husk_plan_release(plan);
    test_release(&w);
    test_release(&x);
    test_release(&c);
    test_restore_environment();
}
END_TEST

// ---- special values, and the same bits ----

static float call(float a0, float b0, husk_precision precision)
{
    test_fixture f;
    test_fixture_make(&f, &(test_shape){.m = 3, .n = 5, .k = 9}, HUSK_F32, precision, "matrix:32x32", 7);
    *(float *)f.a.array.data = a0;
    *(float *)f.b.array.data = b0;
    test_input_update(&f.a);
    test_input_update(&f.b);
    husk_plan *plan = test_fixture_plan(&f, "matrix:32x32");
    float result = 0.0f;
    if (plan) {
        test_ok(
            husk_gemm_plan_run(plan, test_queue(), 1.0f, &f.a.tensor, &f.b.tensor, &f.bias.tensor, 0.0f, &f.c.tensor));
        test_fetch(&f.c);
        const float *c = f.c.array.data;
        result = c[0];
        for (int i = 5; i < 15; ++i)
            ck_assert(isfinite(c[i]) || i % 5 == 0);
    }
    husk_plan_release(plan);
    test_fixture_release(&f);
    return plan ? result : NAN;
}

START_TEST(special_values)
{
    test_setenv("HUSK_ENGINES", test_products[0].engine);
    ck_assert(isnan(call(NAN, 1.0f, HUSK_PRECISION_HIGH)));
    ck_assert(!isfinite(call(INFINITY, 1.0f, HUSK_PRECISION_HIGH)));
    if (husk_context_traits(test_context())->work_group >= 128) {
        // Rounded to a part, this would be infinite.
        const float largest = call(0x1.ffep127f, 1.0f, HUSK_PRECISION_HIGH);
        ck_assert_msg(largest == 0x1.ffep127f, "%a", (double)largest);
    }
    test_restore_environment();
}
END_TEST

START_TEST(ten_runs_give_the_same_bits)
{
    test_fixture f;
    test_setenv("HUSK_ENGINES", test_products[0].engine);
    test_fixture_make(&f, &(test_shape){.m = 70, .n = 40, .k = 1600}, HUSK_F32, HUSK_PRECISION_HIGH, "matrix:32x32", 3);
    husk_plan *plan = test_fixture_plan(&f, "matrix:32x32");
    float first[70 * 40];
    for (int i = 0; plan && i < 10; ++i) {
        test_restore(&f.c);
        test_ok(
            husk_gemm_plan_run(plan, test_queue(), 1.0f, &f.a.tensor, &f.b.tensor, &f.bias.tensor, 0.0f, &f.c.tensor));
        test_fetch(&f.c);
        if (i == 0)
            memcpy(first, f.c.array.data, sizeof first);
        ck_assert_int_eq(memcmp(first, f.c.array.data, sizeof first), 0);
    }
    husk_plan_release(plan);
    test_fixture_release(&f);
    test_restore_environment();
}
END_TEST

// ---- who is asked ----

static const char *chosen(husk_context *context, test_fixture *f, const char *variant, husk_status wanted)
{
    static char name[32];
    husk_plan *plan = NULL;
    husk_error error = {0};
    f->params.variant = variant;
    husk_tensor bias = f->bias.tensor;
    const husk_status status =
        husk_gemm_plan_create(context, &f->params, &f->a.tensor, &f->b.tensor, &bias, &f->c.tensor, &plan, &error);
    ck_assert_msg(status == wanted, "%s", error.text);
    snprintf(name, sizeof name, "%s", status == HUSK_OK ? husk_plan_variant(plan) : "");
    husk_plan_release(plan);
    return name;
}

// Precision comes from the params, else from the context; without an engine everything is computed as highest.
START_TEST(precision_is_the_contexts_unless_a_call_says_otherwise)
{
    test_fixture f;
    husk_context *context = NULL;
    husk_error error = {0};
    husk_context_params params = HUSK_CONTEXT_PARAMS(.precision = HUSK_PRECISION_HIGH);
    if (husk_context_traits(test_context())->work_group < 128)
        return;
    test_setenv("HUSK_ENGINES", "soft_nv_mma");
    test_fixture_make(&f, &(test_shape){.m = 9, .n = 9, .k = 9}, HUSK_F32, HUSK_PRECISION_DEFAULT, NULL, 1);
    chosen(test_context(), &f, "matrix", HUSK_UNSUPPORTED); // which is highest there
    f.params.precision = HUSK_PRECISION_HIGH;
    ck_assert_str_eq(chosen(test_context(), &f, "matrix:32x32", HUSK_OK), "matrix");
    test_setenv("HUSK_ENGINES", "none");
    chosen(test_context(), &f, "matrix", HUSK_UNSUPPORTED);
    test_setenv("HUSK_ENGINES", "soft_nv_mma");
    if (test_is_long()) {
        test_ok_error(husk_context_create(NULL, &params, &context, &error), &error);
        f.params.precision = HUSK_PRECISION_DEFAULT;
        ck_assert_str_eq(chosen(context, &f, "matrix:32x32", HUSK_OK), "matrix");
        f.params.precision = HUSK_PRECISION_HIGHEST;
        chosen(context, &f, "matrix", HUSK_UNSUPPORTED);
        husk_context_release(context);
    }
    params.precision = (husk_precision)4;
    ck_assert_int_eq(husk_context_create(NULL, &params, &context, &error), HUSK_INVALID_ARGUMENT);
    ck_assert_ptr_nonnull(strstr(error.text, "precision"));
    test_fixture_release(&f);
    test_restore_environment();
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("gemm_matrix");
    TCase *cases = tcase_create("gemm_matrix");
    tcase_set_timeout(cases, 600);
    tcase_add_loop_test(cases, every_product_is_within_its_bound, 0, TEST_PRODUCTS);
    tcase_add_loop_test(cases, copied_tiles, 0, 4);
    tcase_add_test(cases, copied_weights_fit_every_a);
    tcase_add_test(cases, split_sums);
    tcase_add_test(cases, special_values);
    tcase_add_test(cases, ten_runs_give_the_same_bits);
    tcase_add_test(cases, precision_is_the_contexts_unless_a_call_says_otherwise);
    suite_add_tcase(suite, cases);
    return test_main(suite);
}
