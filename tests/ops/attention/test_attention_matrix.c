// SPDX-License-Identifier: MIT
// ctest: tiers=default,long timeout=900
// Attention by matrix engines against the reference: each soft engine (cl/lib/fragment_soft.clh), whose fragments,
// splitting and main loop are those of the real one, in each dtype and precision that it has; within the bound that the
// plan states. In the default tier one of them, for the sake of few programs.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/attention_case.h"
#include "support/environment.h"
#include "support/products.h"

enum { IN_DEFAULT = 1 };

static const char name[] = "attention";
static const char *const variants[] = {"matrix:32x64", "matrix:32x128", "matrix:64x64", "matrix:64x128"};

static husk_status call(const test_attention *c, const test_product *p, const char *variant, const test_tensor *y,
                        const test_tensor *sums)
{
    husk_attention_params params = c->params;
    params.variant = variant;
    params.precision = p->precision;
    return husk_attention(test_queue(), &params, &c->q.tensor, &c->k.tensor, &c->v.tensor, test_attention_mask(c),
                          &y->tensor, sums ? &sums->tensor : NULL);
}

// Of the last plan: what sums in f32 may err by at least, and what its parts and its weights lose at most.
static double bound(const test_attention *c, const test_product *p)
{
    const husk_plan *plan = husk_queue_plan(test_queue());
    const double factor = husk_plan_error_factor(plan), terms = (double)(c->keys > c->d ? c->keys : c->d);
    const double parts = p->dtype == HUSK_F16                     ? 0x1p13
                         : p->dtype == HUSK_BF16                  ? 0x1p16
                         : p->precision == HUSK_PRECISION_HIGHEST ? 0.0
                         : p->precision == HUSK_PRECISION_MEDIUM  ? 0x1p17 + 0x1p8
                                                                  : 3 * 0x1p8;
    ck_assert_str_eq(husk_plan_variant(plan), "matrix");
    ck_assert_msg(factor >= 4.0 + 2.0 * sqrt(terms) && factor <= parts + 4.0 + 2.0 * sqrt(3.0 * terms), "%s claims %g",
                  p->engine, factor);
    return factor;
}

static bool run(const test_attention *c, const test_product *p, const char *variant)
{
    const int64_t sums_shape[] = {c->batch, c->heads, c->queries};
    test_tensor y = test_attention_output(c, c->heads, c->queries, c->e, false, 0);
    test_tensor sums = test_output(HUSK_F32, 3, sums_shape, c->layout == 1 ? TEST_REVERSED : TEST_PADDED);
    const bool ran = test_ran(call(c, p, variant, &y, c->has_sums ? &sums : NULL), name, variant);
    if (ran) {
        char text[400];
        husk_ref_report report = {0};
        husk_ref_attention op = test_attention_reference(c);
        op.error_factor = bound(c, p);
        ck_assert(husk_ref_attention_prepare(&op));
        husk_ref_function function = husk_ref_attention_function(&op);
        test_fetch(&y);
        husk_ref_check(&function, 1, &y.array, &report);
        if (c->has_sums) {
            function = husk_ref_attention_log_sum_exp_function(&op);
            test_fetch(&sums);
            husk_ref_check(&function, 1, &sums.array, &report);
        } else {
            test_untouched(&sums);
        }
        snprintf(text, sizeof text, "%s %s precision %d %s", p->engine, husk_dtype_name(p->dtype), (int)p->precision,
                 c->text);
        if (report.zeros == report.checked) // a row whose only key is dropped
            ck_assert_int_eq(report.failures, 0);
        else
            test_accept(name, variant, text, &report);
        husk_ref_attention_release(&op);
    }
    test_release(&y);
    test_release(&sums);
    return ran;
}

START_TEST(every_product_is_within_its_bound)
{
    const test_product *p = &test_products[_i];
    husk_ref_random random = {.seed = 31 + (uint64_t)_i};
    if (_i >= IN_DEFAULT && !test_is_long())
        return;
    test_setenv("HUSK_ENGINES", p->engine);
    int ran = 0;
    for (int i = 0; i < (test_is_long() ? 32 : 20); ++i) {
        const int form = test_is_long() && i % 4 == 3 ? 1 + i / 4 % 3 : 0;
        test_attention c = test_attention_draw(&random, p->dtype, i % 8 == 5 ? 150 : 70, (uint64_t)(i + 40 * _i));
        if (c.batch && c.heads && c.queries) // else there is no plan
            ran += run(&c, p, variants[form]);
        test_attention_release(&c);
    }
    ck_assert_msg(ran > 8 || husk_context_traits(test_context())->work_group < 128, "%s refuses too much", p->engine);
    test_restore_environment();
}
END_TEST

static test_attention of_sizes(const int64_t *sizes, int causal, float dropout, husk_dtype dtype)
{
    husk_ref_random random = {.seed = 7};
    test_attention c = {.dtype = dtype,
                        .batch = 1,
                        .heads = sizes[0],
                        .kv_heads = sizes[1],
                        .queries = sizes[2],
                        .keys = sizes[3],
                        .d = sizes[4],
                        .e = sizes[5],
                        .has_sums = true};
    c.params = HUSK_ATTENTION_PARAMS(.causal = (husk_causal)causal, .dropout = dropout, .seed = 5);
    test_attention_fill(&c, &random, 3);
    return c;
}

// Whole tiles, many keys, so many that sums are made in parts, more columns of values than a work-group computes, none
// of the queries.
START_TEST(large)
{
    static const struct {
        int64_t sizes[6];
        int causal;
        float dropout;
    } cases[] = {
        {{2, 1, 64, 96, 64, 64}, 0, 0}, {{1, 1, 40, 700, 32, 64}, 2, 0.1f}, {{1, 1, 33, 70, 64, 150}, 1, 0},
        {{4, 2, 1, 300, 64, 64}, 2, 0}, {{1, 1, 90, 130, 17, 65}, 1, 0.5f}, {{1, 1, 9, 40, 0, 20}, 0, 0},
        {{1, 1, 70, 3, 40, 8}, 2, 0},   {{1, 1, 5, 0, 40, 8}, 0, 0},        {{2, 1, 5, 8500, 20, 40}, 2, 0.1f}};
    const test_product *p = &test_products[0];
    test_setenv("HUSK_ENGINES", p->engine);
    test_attention c = of_sizes(cases[_i].sizes, cases[_i].causal, cases[_i].dropout, p->dtype);
    run(&c, p, variants[0]);
    test_attention_release(&c);
    test_restore_environment();
}
END_TEST

// Keys and values that are all alike: the errors of a row's sums have one sign.
START_TEST(many_terms_of_one_sign)
{
    static const int64_t sizes[] = {1, 1, 2, 100000, 4, 4};
    const int64_t shape[] = {1, 1, sizes[3], 4};
    const test_product *p = &test_products[_i];
    if (_i >= IN_DEFAULT && !test_is_long())
        return;
    test_setenv("HUSK_ENGINES", p->engine);
    test_attention c = of_sizes(sizes, 0, 0, p->dtype);
    test_release(&c.k);
    test_release(&c.v);
    c.params.scale = 0.01f;
    c.k = test_input_of(p->dtype, 4, shape, TEST_PACKED, 3, 0.0f);
    c.v = test_input_of(p->dtype, 4, shape, TEST_PACKED, 3, 0.0f);
    for (int64_t i = 0; i < shape[2] * 4; i++) {
        husk_ref_store(&c.k.array, i, 0.3f);
        husk_ref_store(&c.v.array, i, 0.1f);
    }
    test_input_update(&c.k);
    test_input_update(&c.v);
    run(&c, p, variants[0]);
    test_attention_release(&c);
    test_restore_environment();
}
END_TEST

// What does not fit is refused; on a CPU the heuristic leaves engines of GPUs alone.
START_TEST(refusals)
{
    static const int64_t wide[] = {1, 1, 9, 20, 65, 8};
    const test_product *p = &test_products[0];
    test_setenv("HUSK_ENGINES", p->engine);
    test_attention c = of_sizes(wide, 0, 0, p->dtype);
    test_tensor y = test_attention_output(&c, 1, 9, 8, false, 0);
    ck_assert_int_eq(call(&c, p, "matrix:32x64", &y, NULL), HUSK_UNSUPPORTED);
    test_untouched(&y);
    test_ok(call(&c, p, NULL, &y, NULL));
    if (husk_context_traits(test_context())->device_class == HUSK_DEVICE_CPU) {
        ck_assert_str_ne(husk_plan_variant(husk_queue_plan(test_queue())), "matrix");
        ck_assert_str_ne(husk_plan_variant(husk_queue_plan(test_queue())), "tiled");
    }
    test_setenv("HUSK_ENGINES", "none");
    test_restore(&y);
    ck_assert_int_eq(call(&c, p, "matrix", &y, NULL), HUSK_UNSUPPORTED);
    test_product other = *p;
    other.precision = (husk_precision)4;
    ck_assert_int_eq(call(&c, &other, NULL, &y, NULL), HUSK_INVALID_ARGUMENT);
    ck_assert_ptr_nonnull(strstr(husk_queue_error(test_queue())->text, "precision"));
    test_release(&y);
    test_attention_release(&c);
    test_restore_environment();
}
END_TEST

// Scores far apart, and past what exp takes; NaN and infinity in a query or a key touch no other row.
START_TEST(special_values)
{
    static const int64_t sizes[] = {2, 1, 5, 40, 18, 20};
    static const float specials[] = {1e3f, -1e3f, NAN, INFINITY};
    const test_product *p = &test_products[0];
    test_setenv("HUSK_ENGINES", p->engine);
    test_attention c = of_sizes(sizes, 0, 0, p->dtype);
    float *q = c.q.array.data;
    for (int i = 0; i < 18; i++)
        q[18 + i] *= _i < 2 || i == 0 ? specials[_i] : 1.0f;
    test_input_update(&c.q);
    run(&c, p, variants[0]);
    test_attention_release(&c);
    test_restore_environment();
}
END_TEST

START_TEST(ten_runs_give_the_same_bits)
{
    static const int64_t sizes[] = {2, 1, 50, 140, 40, 40};
    const test_product *p = &test_products[0];
    test_setenv("HUSK_ENGINES", p->engine);
    test_attention c = of_sizes(sizes, 0, 0.2f, p->dtype);
    test_tensor y = test_attention_output(&c, 2, 50, 40, false, 0);
    const size_t bytes = (size_t)y.words * sizeof(uint32_t);
    uint32_t *first = malloc(bytes);
    ck_assert_ptr_nonnull(first);
    for (int i = 0; i < 10; ++i) {
        test_restore(&y);
        if (!test_ran(call(&c, p, variants[0], &y, NULL), name, variants[0]))
            break;
        test_fetch(&y);
        if (i == 0)
            memcpy(first, y.current, bytes);
        ck_assert_msg(memcmp(first, y.current, bytes) == 0, "run %d has other bits", i);
    }
    free(first);
    test_release(&y);
    test_attention_release(&c);
    test_restore_environment();
}
END_TEST

// The check sees a mistake as large as what a part leaves of a number, and the context's precision is taken.
START_TEST(precision_is_the_contexts_unless_a_call_says_otherwise)
{
    static const int64_t sizes[] = {1, 1, 20, 40, 18, 20};
    test_product p = test_products[0];
    test_setenv("HUSK_ENGINES", p.engine);
    test_attention c = of_sizes(sizes, 0, 0, p.dtype);
    test_tensor y = test_attention_output(&c, 1, 20, 20, false, 0);
    if (test_ran(call(&c, &p, variants[0], &y, NULL), name, variants[0])) {
        husk_ref_attention op = test_attention_reference(&c);
        op.error_factor = bound(&c, &p);
        ck_assert(husk_ref_attention_prepare(&op));
        const husk_ref_function function = husk_ref_attention_function(&op);
        const int64_t index[] = {0, 0, 3, 4};
        test_fetch(&y);
        const husk_ref_value value = husk_ref_attention_at(&op, index);
        ck_assert(value.bound < 0x1p-9 * value.magnitude);
        husk_ref_report report = {0};
        const int64_t at = husk_ref_offset(&y.array, index);
        husk_ref_store(&y.array, at, husk_ref_load(&y.array, at) + 4.0 * value.bound);
        husk_ref_check(&function, 1, &y.array, &report);
        ck_assert_int_eq(report.failures, 1);
        husk_ref_attention_release(&op);
    }
    p.precision = HUSK_PRECISION_DEFAULT; // which is highest in this context
    ck_assert_int_eq(call(&c, &p, variants[0], &y, NULL), HUSK_UNSUPPORTED);
    test_release(&y);
    test_attention_release(&c);
    test_restore_environment();
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("attention_matrix");
    TCase *cases = tcase_create("attention_matrix");
    tcase_set_timeout(cases, 600);
    tcase_add_loop_test(cases, every_product_is_within_its_bound, 0, TEST_PRODUCTS);
    tcase_add_loop_test(cases, large, 0, 9);
    tcase_add_loop_test(cases, many_terms_of_one_sign, 0, TEST_PRODUCTS);
    tcase_add_loop_test(cases, special_values, 0, 4);
    tcase_add_test(cases, refusals);
    tcase_add_test(cases, ten_runs_give_the_same_bits);
    tcase_add_test(cases, precision_is_the_contexts_unless_a_call_says_otherwise);
    suite_add_tcase(suite, cases);
    return test_main(suite);
}
