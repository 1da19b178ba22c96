// SPDX-License-Identifier: MIT
// ctest: tiers=default,long timeout=900 with=conv_backward_case,conv_engine_case
// Convolution and its gradients by matrix engines against the reference: each soft engine (cl/lib/fragment_soft.clh),
// whose fragments, splitting and main loop are those of the real one, in each dtype and precision that it has; within
// the bound that the plan states. In the default tier one of them, forward, for the sake of few programs.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "conv_engine_case.h"
#include "ref/freivalds.h"
#include "support/environment.h"

enum { IN_DEFAULT = 1, EACH = 12, WITH_COPIES = 4 /* soft_nv_mma's */ };

static const char *const variants[] = {"matrix:32x32", "matrix:64x64", "matrix:128x128"};

static test_tensor gradient_of(const conv_backward_case *c, const int64_t *shape, test_layout layout)
{
    const husk_dtype dtype = c->is_wide ? HUSK_F32 : c->dtype;
    return c->params.accumulate ? test_inout_of(dtype, 2 + c->space, shape, layout, c->seed + 3, 1.0f)
                                : test_output(dtype, 2 + c->space, shape, layout);
}

static bool by_data(conv_backward_case *c, const test_product *p, const char *variant)
{
    const int32_t rank = 2 + c->space;
    const husk_conv_params params = conv_engine_params(c, p, variant);
    test_tensor w = test_input_of(c->dtype, rank, c->w, c->layouts[1], c->seed, 1.0f);
    test_tensor dy = test_input_of(c->dtype, rank, c->y, c->layouts[2], c->seed + 1, 1.0f);
    test_tensor dx = gradient_of(c, c->x, c->layouts[0]);
    const bool ran = test_ran(husk_conv_backward_data(test_queue(), &params, &w.tensor, &dy.tensor, &dx.tensor),
                              "conv_backward_data", variant);
    if (ran) {
        husk_ref_conv_backward_data op = {.params = &params,
                                          .w = &w.array,
                                          .dy = &dy.array,
                                          .before = c->params.accumulate ? &dx.before : NULL,
                                          .error_factor = conv_engine_bound(p, variant, 4.0)};
        memcpy(op.shape, c->x, sizeof c->x);
        husk_ref_report report = {0};
        test_fetch(&dx);
        husk_ref_conv_backward_data_check(&op, 1, &dx.array, &report);
        test_accept("conv_backward_data", variant, conv_engine_text(c, p, "by data"), &report);
    }
    test_release(&w);
    test_release(&dy);
    test_release(&dx);
    return ran;
}

static bool by_weights(conv_backward_case *c, const test_product *p, const char *variant)
{
    const int32_t rank = 2 + c->space;
    const husk_conv_params params = conv_engine_params(c, p, variant);
    test_tensor x = test_input_of(c->dtype, rank, c->x, c->layouts[0], c->seed, 1.0f);
    test_tensor dy = test_input_of(c->dtype, rank, c->y, c->layouts[2], c->seed + 1, 1.0f);
    test_tensor dw = gradient_of(c, c->w, c->layouts[1]);
    const bool ran =
        test_ran(husk_conv_backward_weights(test_queue(), &params, &x.tensor, &dy.tensor, &dw.tensor, NULL),
                 "conv_backward_weights", variant);
    if (ran) {
        husk_ref_conv_backward_weights op = {.params = &params,
                                             .x = &x.array,
                                             .dy = &dy.array,
                                             .before = c->params.accumulate ? &dw.before : NULL,
                                             .error_factor = conv_engine_bound(p, variant, 4.0)};
        memcpy(op.shape, c->w, sizeof c->w);
        husk_ref_report report = {0};
        test_fetch(&dw);
        husk_ref_conv_backward_weights_check(&op, 1, &dw.array, &report);
        test_accept("conv_backward_weights", variant, conv_engine_text(c, p, "by weights"), &report);
    }
    test_release(&x);
    test_release(&dy);
    test_release(&dw);
    return ran;
}

START_TEST(every_product_is_within_its_bound)
{
    const test_product *p = &test_products[_i];
    // Engines change between tests and plans are kept: no two draw the same shapes.
    husk_ref_random random = {.seed = 9000 + 31 * (uint64_t)_i};
    if (_i >= IN_DEFAULT && !test_is_long())
        return;
    // Large tiles and smooth activations, programs of their own, with the first product of each engine.
    const bool is_first = _i == 0 || strcmp(test_products[_i - 1].engine, p->engine) != 0;
    const bool has_all = test_is_long() && is_first;
    test_setenv("HUSK_ENGINES", p->engine);
    int ran = 0, data = 0, weights = 0;
    for (int i = 0; i < EACH; ++i) {
        const char *variant = variants[has_all && i % 4 == 3 ? 1 + i / 4 % 2 : 0];
        conv_backward_case c = conv_backward_draw(&random, 4e5, false);
        c.dtype = p->dtype;
        c.is_wide = p->dtype != HUSK_F32 && i % 3 == 0;
        ran += conv_engine_forward(&c, p, variant,
                                   i == 4 && has_all ? HUSK_ACT_GELU
                                   : i % 2           ? HUSK_ACT_LEAKY_RELU
                                                     : HUSK_ACT_NONE);
        if (test_is_long()) {
            data += by_data(&c, p, variant);
            weights += by_weights(&c, p, variant);
        }
    }
    ck_assert_msg(!test_is_long() || (data > EACH / 2 && weights > EACH / 2) ||
                      husk_context_traits(test_context())->work_group < 128,
                  "%s refuses too many gradients", p->engine);
    ck_assert_msg(ran > EACH / 2 || husk_context_traits(test_context())->work_group < 128, "%s refuses too much",
                  p->engine);
    test_restore_environment();
}
END_TEST

// Tiles that copies fill: channels in whole chunks and others, side by side and not, in groups, with and without whole
// tiles of them; in each product of an engine that has copies, in the default tier f32's and bf16 alone.
START_TEST(tiles_that_copies_fill)
{
    static const char *const copying[] = {"matrix:64x64_async3", "matrix:128x128_async5"};
    static const int64_t channels[] = {8, 5, 16, 24, 4, 40, 12, 33};
    const test_product *p = &test_products[_i];
    husk_ref_random random = {.seed = 9400 + 31 * (uint64_t)_i};
    const int count = test_is_long() ? 16 : 8;
    int ran = 0;
    const bool is_bf16 = p->dtype == HUSK_BF16, has_large = is_bf16 || test_is_long();
    if (husk_context_traits(test_context())->work_group < 128 || (!test_is_long() && _i != 0 && !is_bf16))
        return;
    test_setenv("HUSK_ENGINES", p->engine);
    for (int i = 0; i < count; ++i) {
        const bool is_smooth = test_is_long() && i % 3 == 0, is_large = has_large && i % 4 == 3;
        conv_backward_case c;
        do {
            c = conv_backward_draw(&random, 4e5, false);
            c.channels = channels[i % 8];
        } while (!conv_backward_resolve(&c) || conv_backward_products(&c) > 8e5);
        c.dtype = p->dtype;
        c.is_wide = p->dtype != HUSK_F32 && i % 3 == 0;
        if (i % 4 != 1)
            c.layouts[0] = TEST_CHANNELS_LAST;
        if (i % 2 == 0)
            c.layouts[2] = TEST_CHANNELS_LAST;
        ran += conv_engine_forward(&c, p, copying[is_large], is_smooth ? HUSK_ACT_GELU : HUSK_ACT_LEAKY_RELU);
    }
    const bool fits = !has_large || husk_context_traits(test_context())->local_memory >= 44 * 1024;
    ck_assert_int_eq(ran, fits ? count : count - count / 4);
    test_restore_environment();
}
END_TEST

// Fewer channels than are worth a copy, and an engine that has none.
START_TEST(what_copies_refuse)
{
    if (husk_context_traits(test_context())->work_group < 128)
        return;
    conv_backward_case c = conv_backward_plain(3, 5, 6, 3, 1, 1);
    husk_conv_params params = conv_engine_params(&c, &test_products[0], "matrix:64x64_async3");
    test_tensor x = test_input(4, c.x, TEST_PACKED, 5, 1.0f), w = test_input(4, c.w, TEST_PACKED, 6, 1.0f);
    test_tensor y = test_output(HUSK_F32, 4, c.y, TEST_PACKED);
    test_setenv("HUSK_ENGINES", "soft_nv_mma");
    ck_assert_int_eq(husk_conv(test_queue(), &params, &x.tensor, &w.tensor, NULL, &y.tensor), HUSK_UNSUPPORTED);
    ck_assert_ptr_nonnull(strstr(husk_queue_error(test_queue())->text, "fewer than 4"));
    test_restore_environment();
    test_setenv("HUSK_ENGINES", "soft_amd_wmma");
    ck_assert_int_eq(husk_conv(test_queue(), &params, &x.tensor, &w.tensor, NULL, &y.tensor), HUSK_UNSUPPORTED);
    ck_assert_ptr_nonnull(strstr(husk_queue_error(test_queue())->text, "no asynchronous copies"));
    test_release(&x);
    test_release(&w);
    test_release(&y);
    test_restore_environment();
}
END_TEST

// The same bits in ten runs, and a whole tile of filters and positions with a tail of k.
START_TEST(ten_runs_give_the_same_bits)
{
    enum { RUNS = 10, COUNT = 40 * 12 * 12 };
    const test_product *p = &test_products[0];
    float first[COUNT];
    if (husk_context_traits(test_context())->work_group < 128)
        return;
    test_setenv("HUSK_ENGINES", p->engine);
    conv_backward_case c = conv_backward_plain(7, 40, 12, 3, 1, 1);
    const husk_conv_params params = conv_engine_params(&c, p, "matrix:32x32");
    test_tensor x = test_input(4, c.x, TEST_PACKED, 5, 1.0f), w = test_input(4, c.w, TEST_PACKED, 6, 1.0f);
    test_tensor y = test_output(HUSK_F32, 4, c.y, TEST_PACKED);
    ck_assert_int_eq(c.y[0] * c.y[1] * c.y[2] * c.y[3], COUNT);
    for (int i = 0; i < RUNS; ++i) {
        test_restore(&y);
        test_ok(husk_conv(test_queue(), &params, &x.tensor, &w.tensor, NULL, &y.tensor));
        test_fetch(&y);
        if (i == 0)
            memcpy(first, y.array.data, sizeof first);
        ck_assert_int_eq(memcmp(first, y.array.data, sizeof first), 0);
    }
    test_release(&x);
    test_release(&w);
    test_release(&y);
    test_restore_environment();
}
END_TEST

// Packed weights do not depend on the precision: those of one plan serve another's.
START_TEST(packed_weights_serve_every_precision)
{
    if (husk_context_traits(test_context())->work_group < 128 || !test_is_long())
        return;
    test_setenv("HUSK_ENGINES", "soft_amd_mfma");
    conv_backward_case c = conv_backward_plain(5, 37, 9, 3, 1, 1); // 45 products: 48 in steps of 16, 64 in steps of 32
    test_tensor x = test_input(4, c.x, TEST_PACKED, 5, 1.0f), w = test_input(4, c.w, TEST_PACKED, 6, 1.0f);
    test_tensor y = test_output(HUSK_F32, 4, c.y, TEST_PACKED);
    static const husk_precision precisions[] = {HUSK_PRECISION_HIGHEST, HUSK_PRECISION_HIGH, HUSK_PRECISION_MEDIUM};
    husk_plan *plans[3] = {NULL};
    husk_packed *packed = NULL;
    husk_error error = {0};
    for (int i = 0; i < 3; ++i) {
        husk_conv_params params = c.params;
        params.precision = precisions[i];
        params.variant = "matrix:32x32";
        test_ok_error(
            husk_conv_plan_create(test_context(), &params, &x.tensor, &w.tensor, NULL, &y.tensor, &plans[i], &error),
            &error);
        if (i == 0)
            test_ok(husk_conv_plan_pack(plans[0], test_queue(), &w.tensor, &packed));
        const husk_tensor packed_w = husk_packed_tensor(packed);
        husk_ref_conv op = {
            .params = &params, .x = &x.array, .w = &w.array, .error_factor = husk_plan_error_factor(plans[i])};
        husk_ref_report report = {0};
        test_restore(&y);
        test_ok(husk_conv_plan_run(plans[i], test_queue(), &x.tensor, &packed_w, NULL, &y.tensor));
        test_fetch(&y);
        husk_ref_conv_prepare(&op);
        husk_ref_conv_check(&op, 1, &y.array, &report);
        test_accept("conv", "matrix:32x32", "packed in another precision", &report);
        husk_ref_conv_release(&op);
    }
    husk_packed_release(packed);
    for (int i = 0; i < 3; ++i)
        husk_plan_release(plans[i]);
    test_release(&x);
    test_release(&w);
    test_release(&y);
    test_restore_environment();
}
END_TEST

// Precision comes from the params, else from the context; where no engine is for it, the variant refuses.
START_TEST(the_engine_has_to_be_for_it)
{
    if (husk_context_traits(test_context())->work_group < 128)
        return;
    test_setenv("HUSK_ENGINES", "soft_nv_mma");
    conv_backward_case c = conv_backward_plain(3, 5, 6, 3, 1, 1);
    husk_conv_params params = conv_engine_params(&c, &test_products[0], "matrix:32x32");
    test_tensor x = test_input(4, c.x, TEST_PACKED, 5, 1.0f), w = test_input(4, c.w, TEST_PACKED, 6, 1.0f);
    test_tensor y = test_output(HUSK_F32, 4, c.y, TEST_PACKED);
    params.precision = HUSK_PRECISION_DEFAULT; // which is highest in this context
    ck_assert_int_eq(husk_conv(test_queue(), &params, &x.tensor, &w.tensor, NULL, &y.tensor), HUSK_UNSUPPORTED);
    ck_assert_ptr_nonnull(strstr(husk_queue_error(test_queue())->text, "no matrix engine"));
    params.precision = HUSK_PRECISION_HIGH;
    test_ok(husk_conv(test_queue(), &params, &x.tensor, &w.tensor, NULL, &y.tensor));
    params.precision = (husk_precision)4;
    ck_assert_int_eq(husk_conv(test_queue(), &params, &x.tensor, &w.tensor, NULL, &y.tensor), HUSK_INVALID_ARGUMENT);
    ck_assert_ptr_nonnull(strstr(husk_queue_error(test_queue())->text, "precision"));
    test_release(&x);
    test_release(&w);
    test_release(&y);
    test_restore_environment();
}
END_TEST

int main(void)
{
    setenv("POCL_WORK_GROUP_METHOD", "loops", 0); // docs/testing.md, PoCL 6 with AVX2
    Suite *suite = suite_create("conv_matrix");
    TCase *cases = tcase_create("conv_matrix");
    tcase_set_timeout(cases, 900);
    tcase_add_loop_test(cases, every_product_is_within_its_bound, 0, TEST_PRODUCTS);
    tcase_add_loop_test(cases, tiles_that_copies_fill, 0, WITH_COPIES);
    tcase_add_test(cases, what_copies_refuse);
    tcase_add_test(cases, ten_runs_give_the_same_bits);
    tcase_add_test(cases, packed_weights_serve_every_precision);
    tcase_add_test(cases, the_engine_has_to_be_for_it);
    suite_add_tcase(suite, cases);
    return test_main(suite);
}
