// SPDX-License-Identifier: MIT
// ctest: tiers=default,long timeout=600 with=conv_backward_case,conv_engine_case
// Convolution by CPUs' matrix engines against the reference, within the bound that the plan states: the kernels' own
// machine code, whose tile instructions are computed by a handler where the CPU has none (support/amx_emulator.h); dot
// products of AVX-512, where the CPU has them; and soft_amx, on any device. In the default tier the machine code in
// bf16 alone, for the sake of few programs.
#include <stdio.h>
#include <string.h>

#include "conv_engine_case.h"
#include "ref/freivalds.h"
#include "support/amx_emulator.h"
#include "support/environment.h"

static const test_product products[] = {
    {"amx", HUSK_BF16, HUSK_PRECISION_HIGHEST, 0},       {"avx512_bf16", HUSK_BF16, HUSK_PRECISION_HIGHEST, 0},
    {"amx", HUSK_F32, HUSK_PRECISION_HIGH, 0},           {"amx", HUSK_F32, HUSK_PRECISION_MEDIUM, 0},
    {"avx512_bf16", HUSK_F32, HUSK_PRECISION_MEDIUM, 0}, {"soft_amx", HUSK_BF16, HUSK_PRECISION_HIGHEST, 0},
    {"soft_amx", HUSK_F32, HUSK_PRECISION_HIGH, 0},      {"soft_amx", HUSK_F32, HUSK_PRECISION_MEDIUM, 0},
};
enum { PRODUCTS = sizeof products / sizeof *products, IN_DEFAULT = 2, EACH = 60 };

static const char *const variants[] = {"cpu_matrix:512", "cpu_matrix:1024"};

// Whether the engine can be here at all.
static bool begin(const test_product *p)
{
    test_setenv("HUSK_ENGINES", p->engine);
    return test_engine_is_here(p->engine);
}

static bool run(conv_backward_case *c, const test_product *p, int i, husk_act activation)
{
    c->dtype = p->dtype;
    return conv_engine_forward(c, p, variants[i % 2], activation);
}

START_TEST(every_product_is_within_its_bound)
{
    const test_product *p = &products[_i];
    // Engines change between tests and plans are kept: no two draw the same shapes.
    husk_ref_random random = {.seed = 12000 + 31 * (uint64_t)_i};
    if ((_i >= IN_DEFAULT && !test_is_long()) || !begin(p))
        return;
    int ran = 0;
    for (int i = 0; i < EACH; ++i) {
        conv_backward_case c = conv_backward_draw(&random, test_is_long() ? 2e6 : 3e5, false);
        c.is_wide = p->dtype != HUSK_F32 && i % 3 == 0;
        ran += run(&c, p, i,
                   i % 7 == 0 && test_is_long() ? HUSK_ACT_GELU
                   : i % 2                      ? HUSK_ACT_LEAKY_RELU
                                                : HUSK_ACT_NONE);
    }
    ck_assert_msg(ran == 0 || ran > EACH / 2, "%s refuses too much", p->engine);
    test_restore_environment();
}
END_TEST

// K in several blocks, positions in several strips; positions as columns and as rows of the product, with few channels
// and many, a stride's phases, and x in its own image's place but for the last panel.
START_TEST(blocks_and_strips)
{
    static const struct {
        int64_t channels, filters, extent, filter, stride;
        test_layout layout;
    } shapes[] = {
        {130, 40, 9, 3, 1, TEST_PACKED},        {60, 17, 40, 3, 2, TEST_PACKED},
        {64, 40, 9, 5, 1, TEST_CHANNELS_LAST},  {64, 33, 39, 1, 1, TEST_CHANNELS_LAST},
        {7, 33, 37, 15, 2, TEST_CHANNELS_LAST}, {3, 64, 40, 7, 2, TEST_CHANNELS_LAST},
    };
    const test_product *p = &products[_i];
    if ((_i >= IN_DEFAULT && !test_is_long()) || !begin(p))
        return;
    for (int i = 0; i < (int)(sizeof shapes / sizeof *shapes); ++i) {
        conv_backward_case c = conv_backward_plain(shapes[i].channels, shapes[i].filters, shapes[i].extent,
                                                   shapes[i].filter, shapes[i].filter / 2, shapes[i].stride);
        c.layouts[0] = c.layouts[2] = shapes[i].layout;
        c.batch = c.x[0] = c.y[0] = 2;
        c.seed = 40 + 10 * (uint64_t)_i + (uint64_t)i;
        for (int v = 0; v < 2; ++v)
            run(&c, p, v, HUSK_ACT_RELU);
    }
    test_restore_environment();
}
END_TEST

// Two problems of one filter whose weights are packed differently: channels lie elsewhere, or x is as narrow as the
// filter, so that a row of a tile holds several taps, and wider.
static conv_backward_case of_form(bool by_width, int i)
{
    conv_backward_case c = conv_backward_plain(8, 20, 9, 3, 1, 1);
    c.dtype = products[0].dtype;
    if (by_width) {
        c.in[1] = i ? 4 : 1;
        c.filter[1] = 1;
        c.params.pad[1] = 0;
        conv_backward_resolve(&c);
    } else if (i) {
        c.layouts[0] = c.layouts[2] = TEST_CHANNELS_LAST;
    }
    return c;
}

// Weights that were packed for another form of the product, or another product, are refused, not misread.
START_TEST(packed_weights_have_a_form)
{
    const test_product *p = &products[0];
    if (!begin(p))
        return;
    const conv_backward_case forms[2] = {of_form(_i, 0), of_form(_i, 1)};
    const husk_conv_params params = conv_engine_params(&forms[0], p, "cpu_matrix:512");
    test_tensor w = test_input_of(p->dtype, 4, forms[0].w, TEST_PACKED, 6, 1.0f);
    husk_plan *plans[2] = {NULL};
    husk_packed *packed[2] = {NULL};
    test_tensor x[2], y[2];
    for (int i = 0; i < 2; ++i) {
        const conv_backward_case *c = &forms[i];
        husk_error error = {0};
        x[i] = test_input_of(c->dtype, 4, c->x, c->layouts[0], 5, 1.0f);
        y[i] = test_output(c->dtype, 4, c->y, c->layouts[2]);
        const husk_status status = husk_conv_plan_create(test_context(), &params, &x[i].tensor, &w.tensor, NULL,
                                                         &y[i].tensor, &plans[i], &error);
        if (status == HUSK_UNSUPPORTED)
            continue;
        test_ok_error(status, &error);
        test_ok(husk_conv_plan_pack(plans[i], test_queue(), &w.tensor, &packed[i]));
    }
    for (int i = 0; i < 2 && plans[0] && plans[1]; ++i) {
        const husk_tensor own = husk_packed_tensor(packed[i]), other = husk_packed_tensor(packed[1 - i]);
        husk_ref_conv op = {
            .params = &params, .x = &x[i].array, .w = &w.array, .error_factor = husk_plan_error_factor(plans[i])};
        husk_ref_report report = {0};
        ck_assert_int_eq(husk_conv_plan_run(plans[i], test_queue(), &x[i].tensor, &other, NULL, &y[i].tensor),
                         HUSK_INVALID_ARGUMENT);
        ck_assert_ptr_nonnull(strstr(husk_queue_error(test_queue())->text, "w: was packed for"));
        test_ok(husk_conv_plan_run(plans[i], test_queue(), &x[i].tensor, &own, NULL, &y[i].tensor));
        test_fetch(&y[i]);
        husk_ref_conv_prepare(&op);
        husk_ref_conv_check(&op, 1, &y[i].array, &report);
        test_accept("conv", "cpu_matrix:512", "packed weights", &report);
        husk_ref_conv_release(&op);
    }
    for (int i = 0; i < 2; ++i) {
        husk_packed_release(packed[i]);
        husk_plan_release(plans[i]);
        test_release(&x[i]);
        test_release(&y[i]);
    }
    test_release(&w);
    test_restore_environment();
}
END_TEST

// What runs is the kernels' machine code, all of whose instructions the handler knows.
START_TEST(instructions_are_met)
{
    if (!begin(&products[0]))
        return;
    conv_backward_case c = conv_backward_plain(40, 40, 8, 3, 1, 1);
    const bool ran = run(&c, &products[0], 0, HUSK_ACT_NONE);
    printf("cpu_matrix: %s, %llu tile instructions computed by the handler\n", ran ? "ran" : "refused",
           (unsigned long long)test_amx_emulated());
    const int wanted = test_amx_is_wanted();
    ck_assert(wanted < 0 || ran == wanted);
    test_restore_environment();
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("conv_cpu_matrix");
    TCase *cases = tcase_create("conv_cpu_matrix");
    tcase_set_timeout(cases, 600);
    tcase_add_loop_test(cases, every_product_is_within_its_bound, 0, PRODUCTS);
    tcase_add_loop_test(cases, blocks_and_strips, 0, PRODUCTS);
    tcase_add_loop_test(cases, packed_weights_have_a_form, 0, 2);
    tcase_add_test(cases, instructions_are_met);
    suite_add_tcase(suite, cases);
    return test_main(suite);
}
