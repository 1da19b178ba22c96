// SPDX-License-Identifier: MIT
// ctest: tiers=default,long,dtypes timeout=120 with=pad_case
// Gradients of padding: finite differences; every mode and variant against the reference; the same bits every time; bad
// input.
#include <stdlib.h>
#include <string.h>

#include "ref/layout/pad.h"

#include "pad_case.h"

static const char *const variants[] = {NULL, "rows", "grid:64"};
enum { VARIANTS = sizeof(variants) / sizeof(variants[0]), MODES = HUSK_PAD_CIRCULAR + 1 };
static const char name[] = "pad_backward";

// ---- the reference is the gradient ----

static void forward(void *user)
{
    husk_ref_pad_run(((void **)user)[0], ((void **)user)[1]);
}

START_TEST(differences)
{
    husk_ref_random random = {.seed = 8};
    for (uint64_t seed = 1; seed <= 24; seed++) {
        pad_case c = pad_case_draw(&random, (husk_pad_mode)(seed % MODES), 7);
        husk_ref_array x = test_array(c.rank, c.x, seed, 2), y = test_array(c.rank, c.y, 0, 0);
        husk_ref_array dy = test_array(c.rank, c.y, seed + 80, 1), dx = test_array(c.rank, c.x, 0, 0);
        husk_ref_pad op = {.params = &c.params, .x = &x};
        husk_ref_pad_backward backward = {.params = &c.params, .dy = &dy, .dx = &dx};
        void *user[] = {&op, &y};
        forward(user);
        husk_ref_pad_backward_run(&backward, &dx);
        test_differences(name, forward, user, &x, &y, &dy, &dx, seed);
        husk_ref_array *const all[] = {&x, &y, &dy, &dx};
        for (int i = 0; i < 4; i++)
            test_array_release(all[i]);
    }
}
END_TEST

// ---- every variant ----

static void check(void *user, const husk_ref_array *dx, husk_ref_report *report)
{
    husk_ref_function function = husk_ref_pad_backward_function(user);
    husk_ref_check(&function, 1, dx, report);
}

static void run_all(husk_pad_params params, const char *text, const test_tensor *dy, test_tensor *dx)
{
    husk_ref_pad_backward op = {.params = &params, .dy = &dy->array, .dx = &dx->array, .before = &dx->before};
    const husk_ref_function function = husk_ref_pad_backward_function(&op);
    husk_ref_expected expected;
    ck_assert(husk_ref_expect(&function, 1, &expected));
    for (int v = 0; v < VARIANTS; v++) {
        params.variant = variants[v];
        test_restore(dx);
        if (!test_ran(husk_pad_backward(test_queue(), &params, &dy->tensor, &dx->tensor), name, variants[v]))
            continue;
        test_fetch(dx);
        husk_ref_report report = {0};
        husk_ref_compare(&expected, &dx->array, &report);
        test_accept(name, variants[v], text, &report);
    }
    husk_ref_expected_release(&expected);
}

START_TEST(modes_and_layouts)
{
    husk_ref_random random = {.seed = 120 + (uint64_t)_i};
    for (int64_t round = 0; round < (test_is_long() ? 120 : 26); round++) {
        pad_case c = pad_case_draw(&random, (husk_pad_mode)_i, 90);
        const bool is_narrow = test_tier_is("dtypes") || round % 6 == 5;
        const husk_dtype narrow = test_tier_is("dtypes") ? test_dtype(round) : round % 4 < 2 ? HUSK_F16 : HUSK_BF16;
        const husk_dtype dtype = is_narrow ? narrow : HUSK_F32;
        c.params.accumulate = round % 3 == 2 ? HUSK_ACCUMULATE_INPUTS : 0;
        test_tensor dy = test_input_of(dtype, c.rank, c.y, c.y_layout, (uint64_t)round, 2.0f);
        test_tensor dx = test_inout_of(dtype, c.rank, c.x, c.x_layout, (uint64_t)round + 5, 1.0f);
        run_all(c.params, c.text, &dy, &dx);
        test_release(&dy);
        test_release(&dx);
    }
}
END_TEST

// Rows of lengths around vectors, blocks and shares; the widest that may be, on both sides: every sum has three terms.
START_TEST(rows)
{
    static const int64_t lengths[] = {1, 15, 16, 17, 65, 255, 256, 257, 1000, 4001};
    const int64_t n = lengths[_i], shape[] = {9, n};
    test_tensor dx = test_inout(2, shape, TEST_PACKED, 5, 2.0f);
    for (int mode = 0; mode < MODES; mode++) {
        const int64_t wide = mode == HUSK_PAD_REFLECT ? n - 1 : n, y_shape[] = {9, n + 2 * wide};
        test_tensor dy = test_input(2, y_shape, TEST_PACKED, 6, 2.0f);
        run_all(HUSK_PAD_PARAMS(.mode = (husk_pad_mode)mode, .before = {0, wide}, .after = {0, wide}), "rows", &dy,
                &dx);
        test_release(&dy);
    }
    test_release(&dx);
}
END_TEST

// What an edge was repeated as: along a row, before and behind it, down the rows, and both. Errors have one sign.
START_TEST(many_terms_of_one_sign)
{
    static const int64_t sizes[][3] = {{2, 1, 500000}, {2, 300, 200000}, {1, 7, 200000}, {3, 3, 700}};
    const int64_t before = sizes[_i][2], x[] = {sizes[_i][0], sizes[_i][1]};
    const bool is_down = _i == 2, is_both = _i == 3;
    husk_pad_params params = HUSK_PAD_PARAMS(.mode = HUSK_PAD_REPLICATE);
    params.before[is_down ? 0 : 1] = before;
    params.after[is_both ? 0 : 1] = is_down ? 2 : before;
    const int64_t y[] = {x[0] + params.before[0] + params.after[0], x[1] + params.before[1] + params.after[1]};
    test_tensor dy = test_input_alike(2, y, TEST_PACKED, 0.1f);
    test_tensor dx = test_output(HUSK_F32, 2, x, TEST_PACKED);
    run_all(params, "of one sign", &dy, &dx);
    test_release(&dy);
    test_release(&dx);
}
END_TEST

START_TEST(scalar_and_nothing)
{
    const int64_t none[] = {0, 3}, some[] = {2, 3};
    test_tensor dy = test_input(0, NULL, TEST_PACKED, 5, 2.0f), dx = test_inout(0, NULL, TEST_PACKED, 4, 1.0f);
    run_all(HUSK_PAD_PARAMS(0), "a scalar", &dy, &dx);
    test_release(&dy);
    test_release(&dx);
    dy = test_input(2, none, TEST_PACKED, 5, 2.0f); // all of it was cut off
    dx = test_inout(2, some, TEST_PACKED, 5, 1.0f);
    for (int v = 0; v < VARIANTS; v++) {
        const husk_pad_params params = HUSK_PAD_PARAMS(.before = {-1}, .after = {-1}, .variant = variants[v]);
        test_restore(&dx);
        test_ok(husk_pad_backward(test_queue(), &params, &dy.tensor, &dx.tensor));
        test_fetch(&dx);
        for (int i = 0; i < 6; i++)
            ck_assert(husk_ref_load(&dx.array, i) == 0.0);
    }
    test_release(&dy);
    test_release(&dx);
    dy = test_input(2, some, TEST_PACKED, 5, 2.0f);
    dx = test_inout(2, none, TEST_PACKED, 5, 1.0f);
    const husk_pad_params params = HUSK_PAD_PARAMS(.before = {1}, .after = {1});
    test_ok(husk_pad_backward(test_queue(), &params, &dy.tensor, &dx.tensor));
    test_untouched(&dx);
    test_release(&dy);
    test_release(&dx);
}
END_TEST

START_TEST(the_same_bits)
{
    const int64_t shape[] = {30, 40, 50}, y_shape[] = {30, 60, 90};
    const husk_pad_params params =
        HUSK_PAD_PARAMS(.mode = HUSK_PAD_REFLECT, .before = {0, 10, 20}, .after = {0, 10, 20});
    test_tensor dy = test_input(3, y_shape, TEST_PACKED, 3, 1), dx = test_inout(3, shape, TEST_PACKED, 4, 1);
    float *first = malloc(sizeof(float) * 60000);
    ck_assert_ptr_nonnull(first);
    for (int run = 0; run < 10; run++) {
        test_restore(&dx);
        test_ok(husk_pad_backward(test_queue(), &params, &dy.tensor, &dx.tensor));
        test_fetch(&dx);
        if (run == 0)
            memcpy(first, dx.array.data, sizeof(float) * 60000);
        ck_assert_mem_eq(first, dx.array.data, sizeof(float) * 60000);
    }
    free(first);
    test_release(&dy);
    test_release(&dx);
}
END_TEST

START_TEST(the_check_sees_mistakes)
{
    const int64_t shape[] = {6, 50}, y_shape[] = {8, 53};
    const husk_pad_params params = HUSK_PAD_PARAMS(.mode = HUSK_PAD_REPLICATE, .before = {1, 2}, .after = {1, 1});
    test_tensor dy = test_input(2, y_shape, TEST_PACKED, 3, 1), dx = test_inout(2, shape, TEST_PADDED, 5, 1);
    test_ok(husk_pad_backward(test_queue(), &params, &dy.tensor, &dx.tensor));
    test_fetch(&dx);
    husk_ref_pad_backward op = {.params = &params, .dy = &dy.array, .dx = &dx.array};
    husk_ref_function function = husk_ref_pad_backward_function(&op);
    test_planted(&function, &dx.array, check, &op);
    test_planted_guards(&dx);
    test_release(&dy);
    test_release(&dx);
}
END_TEST

static void refuse(husk_status wanted, const char *argument, husk_pad_params params, const husk_tensor *dy,
                   const husk_tensor *dx)
{
    test_refused(husk_pad_backward(test_silent_queue(), &params, dy, dx), wanted, argument);
}

START_TEST(bad_input)
{
    const int64_t shape[] = {4, 6}, y_shape[] = {4, 8};
    test_tensor tx = test_inout(2, shape, TEST_PACKED, 1, 1), ty = test_inout(2, y_shape, TEST_PACKED, 2, 1);
    test_tensor half = test_output(HUSK_F16, 2, shape, TEST_PACKED);
    test_tensor i32 = test_output(HUSK_I32, 2, y_shape, TEST_PACKED);
    const husk_tensor *dx = &tx.tensor, *dy = &ty.tensor;
    const husk_pad_params right = HUSK_PAD_PARAMS(.before = {0, 1}, .after = {0, 1});
    husk_pad_params params = right;
    params.mode = (husk_pad_mode)4;
    refuse(HUSK_INVALID_ARGUMENT, "mode", params, dy, dx);
    params = right;
    params.accumulate = 4;
    refuse(HUSK_INVALID_ARGUMENT, "accumulate", params, dy, dx);
    params = right;
    params.variant = "gird";
    refuse(HUSK_INVALID_ARGUMENT, "gird", params, dy, dx);
    refuse(HUSK_INVALID_ARGUMENT, "before", HUSK_PAD_PARAMS(.before = {-5}), dy, dx);
    refuse(HUSK_INVALID_ARGUMENT, "dy", right, NULL, dx);
    refuse(HUSK_INVALID_ARGUMENT, "dx", right, dy, NULL);
    refuse(HUSK_INVALID_ARGUMENT, "dy", HUSK_PAD_PARAMS(0), dy, dx);
    refuse(HUSK_UNSUPPORTED, "dx", right, dy, &half.tensor);
    refuse(HUSK_UNSUPPORTED, "dy", right, &i32.tensor, dx);
    husk_tensor bad = *dx;
    bad.strides[0] = 3;
    bad.strides[1] = 1;
    refuse(HUSK_INVALID_ARGUMENT, "dx", right, dy, &bad);
    bad = *dy;
    bad.shape[1] = 6; // dy's own columns
    bad.strides[0] = 8;
    bad.strides[1] = 1;
    refuse(HUSK_INVALID_ARGUMENT, "dx", right, dy, &bad);
    test_untouched(&tx);
    test_untouched(&ty);
    test_tensor *const all[] = {&tx, &ty, &half, &i32};
    for (int i = 0; i < 4; i++)
        test_release(all[i]);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create(name);
    TCase *tests = tcase_create(name);
    tcase_add_loop_test(tests, modes_and_layouts, 0, MODES);
    suite_add_tcase(suite, tests);
    if (test_tier_is("dtypes"))
        return test_main(suite);
    tcase_add_test(tests, differences);
    tcase_add_loop_test(tests, rows, 0, 10);
    tcase_add_loop_test(tests, many_terms_of_one_sign, 0, 4);
    tcase_add_test(tests, scalar_and_nothing);
    tcase_add_test(tests, the_same_bits);
    tcase_add_test(tests, the_check_sees_mistakes);
    tcase_add_test(tests, bad_input);
    return test_main(suite);
}
