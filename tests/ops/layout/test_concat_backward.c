// SPDX-License-Identifier: MIT
// ctest: tiers=default,long,dtypes timeout=180 with=concat_case
// Gradients of tensors one after the other: finite differences; every variant against the reference; gradients that are
// not wanted; the same bits every time; bad input.
#include <stdlib.h>
#include <string.h>

#include "ref/layout/concat.h"

#include "concat_case.h"

static const char *const variants[] = {NULL, "rows", "grid:64"};
enum { VARIANTS = sizeof(variants) / sizeof(variants[0]) };
static const char name[] = "concat_backward";

// ---- the reference is the gradient ----

static void forward(void *user)
{
    husk_ref_concat_run(((void **)user)[0], ((void **)user)[1]);
}

START_TEST(differences)
{
    husk_ref_random random = {.seed = 5};
    for (uint64_t seed = 1; seed <= 12; seed++) {
        concat_case c = concat_case_draw(&random);
        const husk_concat_params params = HUSK_CONCAT_PARAMS(.axis = c.axis);
        husk_ref_array inputs[CONCAT_MOST];
        for (size_t i = 0; i < c.count; i++)
            inputs[i] = test_array(c.rank, c.parts[i], seed + i, 2.0);
        husk_ref_array y = test_array(c.rank, c.whole, 0, 0), dy = test_array(c.rank, c.whole, seed + 80, 1);
        husk_ref_concat op = {.params = &params, .inputs = inputs, .count = c.count};
        void *user[] = {&op, &y};
        forward(user);
        for (size_t i = 0; i < c.count; i += c.count > 4 ? 5 : 1) {
            if (husk_ref_array_count(&inputs[i]) == 0)
                continue;
            husk_ref_array gradient = test_array(c.rank, c.parts[i], 0, 0);
            husk_ref_concat_backward backward = {
                .params = &params, .dy = &dy, .gradient = &gradient, .start = c.starts[i]};
            husk_ref_concat_backward_run(&backward, &gradient);
            test_differences(name, forward, user, &inputs[i], &y, &dy, &gradient, seed);
            test_array_release(&gradient);
        }
        for (size_t i = 0; i < c.count; i++)
            test_array_release(&inputs[i]);
        test_array_release(&y);
        test_array_release(&dy);
    }
}
END_TEST

// ---- every variant ----

static void check(void *user, const husk_ref_array *gradient, husk_ref_report *report)
{
    husk_ref_function function = husk_ref_concat_backward_function(user);
    husk_ref_check(&function, 1, gradient, report);
}

// wanted: a bit for each part.
static void run_case(const concat_case *c, husk_dtype dtype, uint32_t accumulate, uint32_t wanted)
{
    test_tensor dy = test_input_of(dtype, c->rank, c->whole, c->whole_layout, 7, 2.0f), gradients[CONCAT_MOST];
    const husk_tensor *list[CONCAT_MOST];
    int64_t extents[CONCAT_MOST];
    bool is_all = true;
    const int32_t axis = c->axis < 0 ? c->axis + c->rank : c->axis;
    for (size_t i = 0; i < c->count; i++) {
        gradients[i] = test_inout_of(dtype, c->rank, c->parts[i], c->layouts[i], i + 9, 1.0f);
        list[i] = wanted >> i & 1 ? &gradients[i].tensor : NULL;
        extents[i] = c->parts[i][axis];
        is_all = is_all && list[i];
    }
    husk_concat_params params = HUSK_CONCAT_PARAMS(.axis = c->axis, .accumulate = accumulate);
    for (int v = 0; v < VARIANTS; v++) {
        params.variant = variants[v];
        for (size_t i = 0; i < c->count; i++)
            test_restore(&gradients[i]);
        if (!test_ran(husk_concat_backward(test_queue(), &params, is_all && v == 1 ? NULL : extents, &dy.tensor, list,
                                           c->count),
                      name, variants[v]))
            continue;
        for (size_t i = 0; i < c->count; i++) {
            if (!list[i] || husk_ref_array_count(&gradients[i].array) == 0) {
                test_untouched(&gradients[i]);
                continue;
            }
            husk_ref_concat_backward op = {.params = &params,
                                           .dy = &dy.array,
                                           .gradient = &gradients[i].array,
                                           .before = &gradients[i].before,
                                           .start = c->starts[i]};
            husk_ref_report report = {0};
            test_fetch(&gradients[i]);
            check(&op, &gradients[i].array, &report);
            test_accept(name, variants[v], c->text, &report);
        }
    }
    for (size_t i = 0; i < c->count; i++)
        test_release(&gradients[i]);
    test_release(&dy);
}

START_TEST(axes_and_layouts)
{
    husk_ref_random random = {.seed = 190 + (uint64_t)_i};
    for (int64_t round = 0; round < (test_is_long() ? 40 : 7); round++) {
        const concat_case c = concat_case_draw(&random);
        const bool is_narrow = test_tier_is("dtypes") || round % 6 == 5;
        const uint32_t wanted = test_one_in(&random, 2) ? ~0u : 1u | (uint32_t)husk_ref_random_below(&random, 1 << 20);
        const husk_dtype narrow = test_tier_is("dtypes") ? test_dtype(round) : round % 4 < 2 ? HUSK_F16 : HUSK_BF16;
        run_case(&c, is_narrow ? narrow : HUSK_F32, round % 2 ? HUSK_ACCUMULATE_INPUTS : 0, wanted);
    }
}
END_TEST

START_TEST(rows)
{
    static const int64_t lengths[] = {1, 15, 17, 65, 1000, 40000, 65537, 140001};
    concat_case c = {.rank = 2, .axis = 1, .count = 2, .text = "packed rows"};
    c.whole[0] = c.parts[0][0] = c.parts[1][0] = 3;
    c.parts[0][1] = c.starts[1] = lengths[_i];
    c.parts[1][1] = lengths[_i] / 2 + 1;
    c.whole[1] = c.parts[0][1] + c.parts[1][1];
    run_case(&c, HUSK_F32, 0, 3);
    run_case(&c, HUSK_F32, HUSK_ACCUMULATE_INPUTS, 3);
}
END_TEST

START_TEST(the_same_bits)
{
    const int64_t whole[] = {300, 1000}, shape[] = {300, 500};
    test_tensor dy = test_input(2, whole, TEST_PACKED, 3, 1), a = test_inout(2, shape, TEST_PACKED, 4, 1),
                b = test_inout(2, shape, TEST_PACKED, 5, 1);
    const husk_tensor *const list[] = {&a.tensor, &b.tensor};
    const husk_concat_params params = HUSK_CONCAT_PARAMS(.axis = 1, .accumulate = HUSK_ACCUMULATE_INPUTS);
    float *first = malloc(sizeof(float) * 300 * 500);
    ck_assert_ptr_nonnull(first);
    for (int run = 0; run < 10; run++) {
        test_restore(&b);
        test_restore(&a);
        test_ok(husk_concat_backward(test_queue(), &params, NULL, &dy.tensor, list, 2));
        test_fetch(&b);
        if (run == 0)
            memcpy(first, b.array.data, sizeof(float) * 300 * 500);
        ck_assert_mem_eq(first, b.array.data, sizeof(float) * 300 * 500);
    }
    free(first);
    test_release(&dy);
    test_release(&a);
    test_release(&b);
}
END_TEST

START_TEST(the_check_sees_mistakes)
{
    const int64_t whole[] = {6, 50}, shape[] = {6, 30};
    const int64_t extents[] = {20, 30};
    test_tensor dy = test_input(2, whole, TEST_PACKED, 3, 1), b = test_inout(2, shape, TEST_PADDED, 5, 1);
    const husk_tensor *const list[] = {NULL, &b.tensor};
    const husk_concat_params params = HUSK_CONCAT_PARAMS(.axis = -1);
    test_ok(husk_concat_backward(test_queue(), &params, extents, &dy.tensor, list, 2));
    test_fetch(&b);
    husk_ref_concat_backward op = {.params = &params, .dy = &dy.array, .gradient = &b.array, .start = 20};
    husk_ref_function function = husk_ref_concat_backward_function(&op);
    test_planted(&function, &b.array, check, &op);
    test_planted_guards(&b);
    test_release(&dy);
    test_release(&b);
}
END_TEST

static void refuse(husk_status wanted, const char *argument, const husk_concat_params *params, const int64_t *extents,
                   const husk_tensor *dy, const husk_tensor *const *list, size_t count)
{
    test_refused(husk_concat_backward(test_silent_queue(), params, extents, dy, list, count), wanted, argument);
}

START_TEST(bad_input)
{
    const int64_t shape[] = {4, 6}, turned[] = {6, 4}, whole[] = {8, 6}, extents[] = {4, 4}, wrong[] = {4, 3},
                  negative[] = {9, -1};
    test_tensor a = test_inout(2, shape, TEST_PACKED, 1, 1), b = test_inout(2, shape, TEST_PACKED, 2, 1);
    test_tensor t = test_inout(2, turned, TEST_PACKED, 1, 1), y = test_input(2, whole, TEST_PACKED, 4, 1);
    test_tensor half = test_output(HUSK_F16, 2, shape, TEST_PACKED), i32 = test_output(HUSK_I32, 2, whole, TEST_PACKED);
    const husk_tensor *list[] = {&a.tensor, &b.tensor}, *dy = &y.tensor;
    husk_concat_params params = HUSK_CONCAT_PARAMS(.variant = "columns");
    refuse(HUSK_INVALID_ARGUMENT, "columns", &params, NULL, dy, list, 2);
    params = HUSK_CONCAT_PARAMS(.accumulate = 4);
    refuse(HUSK_INVALID_ARGUMENT, "accumulate", &params, NULL, dy, list, 2);
    params = HUSK_CONCAT_PARAMS(.axis = 2);
    refuse(HUSK_INVALID_ARGUMENT, "axis", &params, NULL, dy, list, 2);
    refuse(HUSK_INVALID_ARGUMENT, "extents", NULL, negative, dy, list, 2);
    refuse(HUSK_INVALID_ARGUMENT, "gradients[1]", NULL, wrong, dy, list, 2);
    refuse(HUSK_INVALID_ARGUMENT, "dy", NULL, NULL, NULL, list, 2);
    refuse(HUSK_INVALID_ARGUMENT, "dy", NULL, NULL, dy, list, 1);
    refuse(HUSK_UNSUPPORTED, "dy", NULL, NULL, &i32.tensor, list, 2);
    refuse(HUSK_INVALID_ARGUMENT, "gradients", NULL, NULL, dy, NULL, 2);
    refuse(HUSK_INVALID_ARGUMENT, "count", NULL, NULL, dy, list, 0);
    list[1] = NULL;
    refuse(HUSK_INVALID_ARGUMENT, "gradients[1]", NULL, NULL, dy, list, 2);
    list[0] = NULL;
    refuse(HUSK_INVALID_ARGUMENT, "gradients", NULL, extents, dy, list, 2);
    list[0] = &a.tensor;
    list[1] = &t.tensor;
    refuse(HUSK_INVALID_ARGUMENT, "gradients[1]", NULL, NULL, dy, list, 2);
    list[1] = &half.tensor;
    refuse(HUSK_UNSUPPORTED, "gradients[1]", NULL, NULL, dy, list, 2);
    list[1] = &a.tensor; // twice
    refuse(HUSK_INVALID_ARGUMENT, "gradients[1]", NULL, NULL, dy, list, 2);
    husk_tensor bad = y.tensor; // dy's own rows
    bad.shape[0] = 4;
    list[1] = &bad;
    refuse(HUSK_INVALID_ARGUMENT, "gradients[1]", NULL, NULL, dy, list, 2);
    bad = b.tensor;
    bad.strides[0] = 3;
    bad.strides[1] = 1;
    refuse(HUSK_INVALID_ARGUMENT, "gradients[1]", NULL, NULL, dy, list, 2);
    test_untouched(&a);
    test_untouched(&b);
    test_tensor *const all[] = {&a, &b, &t, &y, &half, &i32};
    for (int i = 0; i < 6; i++)
        test_release(all[i]);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create(name);
    TCase *tests = tcase_create(name);
    tcase_add_loop_test(tests, axes_and_layouts, 0, 4);
    suite_add_tcase(suite, tests);
    if (test_tier_is("dtypes"))
        return test_main(suite);
    tcase_add_test(tests, differences);
    tcase_add_loop_test(tests, rows, 0, 8);
    tcase_add_test(tests, the_same_bits);
    tcase_add_test(tests, the_check_sees_mistakes);
    tcase_add_test(tests, bad_input);
    return test_main(suite);
}
