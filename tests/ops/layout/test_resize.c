// SPDX-License-Identifier: MIT
// ctest: tiers=default,long,dtypes timeout=120
// Resizing and its gradient: every mode, coordinate, rounding and variant against the reference, in all layouts and
// dtypes; finite differences; the same bits every time; bad input of both.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ref/layout/resize.h"
#include "support/support.h"

static const char *const variants[] = {NULL, "rows", "grid:64"};
enum { VARIANTS = sizeof(variants) / sizeof(variants[0]), MODES = HUSK_RESIZE_CUBIC + 1 };
static const char forward_name[] = "resize", backward_name[] = "resize_backward";

// ---- cases ----

typedef struct resize_case {
    int32_t rank;
    husk_resize_params params;
    int64_t x[5], y[5];
    test_layout x_layout, y_layout;
    char text[200];
} resize_case;

// largest: of the last dimension, about.
static resize_case draw(husk_ref_random *random, husk_resize_mode mode, int64_t largest)
{
    resize_case c = {.rank = (int32_t)TEST_PICK(random, 3, 4, 4, 5)};
    c.params = HUSK_RESIZE_PARAMS(.mode = mode);
    c.params.coordinates = (husk_resize_coordinates)husk_ref_random_below(random, 4);
    c.params.rounding = (husk_resize_rounding)husk_ref_random_below(random, 4);
    c.params.cubic_coefficient = test_one_in(random, 3) ? -0.5f : 0.0f;
    size_t used = (size_t)snprintf(c.text, sizeof(c.text), "mode %d, coordinates %d, rounding %d:", (int)mode,
                                   (int)c.params.coordinates, (int)c.params.rounding);
    for (int32_t d = 0; d < c.rank; d++) {
        const int64_t most = d < 2 ? 5 : d + 1 < c.rank ? (c.rank == 4 ? 14 : 6) : c.rank == 3 ? 6 * largest : largest;
        c.x[d] = test_pick_size(random, 16, most);
        c.y[d] = d < 2 || test_one_in(random, 6) ? c.x[d] : test_pick_size(random, 16, most);
        if (d >= 2 && test_one_in(random, 4)) // nearly what the extents give, or not at all
            c.params.scale[d - 2] = test_one_in(random, 2) ? (float)c.y[d] / ((float)c.x[d] + 0.25f)
                                                           : (float)TEST_PICK(random, 1, 2, 3, 7) / 2.0f;
        used +=
            (size_t)snprintf(c.text + used, sizeof(c.text) - used, " %lld>%lld", (long long)c.x[d], (long long)c.y[d]);
        if (d >= 2 && c.params.scale[d - 2] > 0.0f)
            used += (size_t)snprintf(c.text + used, sizeof(c.text) - used, "(%g)", (double)c.params.scale[d - 2]);
    }
    c.x_layout = test_pick_layout(random);
    c.y_layout = test_one_in(random, 2) ? c.x_layout : test_pick_layout(random);
    return c;
}

// ---- every variant ----

static void check(void *user, const husk_ref_array *y, husk_ref_report *report)
{
    const husk_ref_function function = husk_ref_resize_function(user);
    husk_ref_check(&function, 1, y, report);
}

static void run_forward(husk_resize_params params, const char *text, test_tensor *x, test_tensor *y)
{
    husk_ref_resize op = {.params = &params, .x = &x->array, .shape = y->array.shape};
    for (int v = 0; v < VARIANTS; v++) {
        params.variant = variants[v];
        test_restore(y);
        if (!test_ran(husk_resize(test_queue(), &params, &x->tensor, &y->tensor), forward_name, variants[v]))
            continue;
        test_fetch(y);
        husk_ref_report report = {0};
        check(&op, &y->array, &report);
        test_accept(forward_name, variants[v], text, &report);
    }
}

static void check_backward(void *user, const husk_ref_array *dx, husk_ref_report *report)
{
    const husk_ref_function function = husk_ref_resize_backward_function(user);
    husk_ref_check(&function, 1, dx, report);
}

static void run_backward(husk_resize_params params, const char *text, const test_tensor *dy, test_tensor *dx)
{
    husk_ref_resize_backward op = {.params = &params, .dy = &dy->array, .dx = &dx->array, .before = &dx->before};
    const husk_ref_function function = husk_ref_resize_backward_function(&op);
    husk_ref_expected expected;
    ck_assert(husk_ref_expect(&function, 1, &expected));
    for (int v = 0; v < VARIANTS; v++) {
        params.variant = variants[v];
        test_restore(dx);
        if (!test_ran(husk_resize_backward(test_queue(), &params, &dy->tensor, &dx->tensor), backward_name,
                      variants[v]))
            continue;
        test_fetch(dx);
        husk_ref_report report = {0};
        husk_ref_compare(&expected, &dx->array, &report);
        test_accept(backward_name, variants[v], text, &report);
    }
    husk_ref_expected_release(&expected);
}

// In the default tier some are narrow; nearest copies any dtype.
static husk_dtype dtype_of(int64_t round, husk_resize_mode mode, bool is_gradient)
{
    static const husk_dtype floats[] = {HUSK_F32, HUSK_F32, HUSK_F16, HUSK_F32, HUSK_F32, HUSK_BF16};
    static const husk_dtype any[] = {HUSK_F32, HUSK_I64, HUSK_F16, HUSK_U8, HUSK_I32, HUSK_BF16};
    if (test_tier_is("dtypes"))
        return test_dtype(round);
    return mode == HUSK_RESIZE_NEAREST && !is_gradient ? any[round % 6] : floats[round % 6];
}

START_TEST(modes_and_layouts)
{
    husk_ref_random random = {.seed = 400 + (uint64_t)_i};
    for (int64_t round = 0; round < (test_is_long() ? 160 : 40); round++) {
        const resize_case c = draw(&random, (husk_resize_mode)_i, 90);
        const husk_dtype dtype = dtype_of(round, c.params.mode, false);
        test_tensor x =
            test_input_of(dtype, c.rank, c.x, c.x_layout, (uint64_t)round, dtype >= HUSK_F64 ? 100.0f : 2.0f);
        test_tensor y = test_output(dtype, c.rank, c.y, c.y_layout);
        run_forward(c.params, c.text, &x, &y);
        test_release(&x);
        test_release(&y);
    }
}
END_TEST

START_TEST(gradients_and_layouts)
{
    husk_ref_random random = {.seed = 500 + (uint64_t)_i};
    for (int64_t round = 0; round < (test_is_long() ? 160 : 40); round++) {
        resize_case c = draw(&random, (husk_resize_mode)_i, 70);
        const husk_dtype dtype = dtype_of(round, c.params.mode, true);
        c.params.accumulate = round % 3 == 2 ? HUSK_ACCUMULATE_INPUTS : 0;
        test_tensor dy = test_input_of(dtype, c.rank, c.y, c.y_layout, (uint64_t)round, 2.0f);
        test_tensor dx = test_inout_of(dtype, c.rank, c.x, c.x_layout, (uint64_t)round + 5, 1.0f);
        run_backward(c.params, c.text, &dy, &dx);
        test_release(&dy);
        test_release(&dx);
    }
}
END_TEST

// Rows around vectors, blocks and lines of the kernels, enlarged and reduced.
START_TEST(rows)
{
    static const int64_t lengths[][2] = {{1, 700},   {16, 17},    {17, 16},     {255, 257}, {256, 512},
                                         {257, 511}, {513, 1025}, {1025, 1000}, {5000, 9},  {4097, 300}};
    const int64_t x_shape[] = {1, 2, lengths[_i][0]}, y_shape[] = {1, 2, lengths[_i][1]};
    for (int mode = 0; mode < MODES; mode++) {
        const husk_resize_params params = HUSK_RESIZE_PARAMS(.mode = (husk_resize_mode)mode);
        test_tensor x = test_input(3, x_shape, TEST_PACKED, 5, 2.0f),
                    y = test_output(HUSK_F32, 3, y_shape, TEST_PACKED);
        test_tensor dy = test_input(3, y_shape, TEST_PACKED, 6, 2.0f),
                    dx = test_inout(3, x_shape, TEST_PACKED, 7, 1.0f);
        run_forward(params, "rows", &x, &y);
        run_backward(params, "rows", &dy, &dx);
        test_tensor *const all[] = {&x, &y, &dy, &dx};
        for (int i = 0; i < 4; i++)
            test_release(all[i]);
    }
}
END_TEST

// What one element was enlarged to: along a row, down the rows, and both. Errors have one sign.
START_TEST(many_terms_of_one_sign)
{
    static const int64_t sizes[][4] = {{1, 2, 1, 100000}, {2, 1, 60000, 1}, {2, 2, 700, 700}};
    const int64_t *s = sizes[_i], x_shape[] = {1, 1, s[0], s[1]}, y_shape[] = {1, 1, s[2], s[3]};
    for (int mode = 0; mode < MODES - (_i == 2); mode++) {
        test_tensor dy = test_input_alike(4, y_shape, TEST_PACKED, 0.1f);
        test_tensor dx = test_output(HUSK_F32, 4, x_shape, TEST_PACKED);
        run_backward(HUSK_RESIZE_PARAMS(.mode = (husk_resize_mode)mode), "of one sign", &dy, &dx);
        test_release(&dy);
        test_release(&dx);
    }
}
END_TEST

// Nearest elements are exact where coordinates lie in the middle, and where f32 would cross a boundary.
START_TEST(boundaries)
{
    static const int64_t sizes[][2] = {{6, 3}, {3, 6}, {4, 8}, {41, 287}, {1000, 2999}, {4099, 1003}};
    for (int coordinates = 0; coordinates < 4; coordinates++)
        for (int rounding = 0; rounding < 4; rounding++) {
            const int64_t x_shape[] = {1, 1, sizes[_i][0]}, y_shape[] = {1, 1, sizes[_i][1]};
            const husk_resize_params params = HUSK_RESIZE_PARAMS(.coordinates = (husk_resize_coordinates)coordinates,
                                                                 .rounding = (husk_resize_rounding)rounding);
            test_tensor x = test_input(3, x_shape, TEST_PACKED, 5, 2.0f);
            test_tensor y = test_output(HUSK_F32, 3, y_shape, TEST_PACKED);
            run_forward(params, "boundaries", &x, &y);
            test_release(&x);
            test_release(&y);
        }
}
END_TEST

// An infinity is copied where no other element has a share, and NaN stays NaN.
START_TEST(special_values)
{
    const int64_t x_shape[] = {1, 1, 4}, y_shape[] = {1, 1, 8};
    for (int mode = 0; mode < 2; mode++)
        for (int v = 0; v < VARIANTS; v++) {
            test_tensor x = test_input(3, x_shape, TEST_PACKED, 5, 2.0f),
                        y = test_output(HUSK_F32, 3, y_shape, TEST_PACKED);
            husk_ref_store(&x.array, 0, INFINITY);
            husk_ref_store(&x.array, 3, NAN);
            test_input_update(&x);
            const husk_resize_params params =
                HUSK_RESIZE_PARAMS(.mode = (husk_resize_mode)mode, .variant = variants[v]);
            test_ok(husk_resize(test_queue(), &params, &x.tensor, &y.tensor));
            test_fetch(&y);
            ck_assert(husk_ref_load(&y.array, 1) == INFINITY);
            ck_assert(isfinite(husk_ref_load(&y.array, 4)));
            ck_assert(isnan(husk_ref_load(&y.array, 6)) && isnan(husk_ref_load(&y.array, 7)));
            test_release(&x);
            test_release(&y);
        }
}
END_TEST

START_TEST(nothing)
{
    const int64_t none[] = {0, 3, 4}, more[] = {0, 3, 7};
    test_tensor x = test_input(3, none, TEST_PACKED, 5, 2.0f), y = test_inout(3, more, TEST_PACKED, 5, 1.0f);
    test_ok(husk_resize(test_queue(), NULL, &x.tensor, &y.tensor));
    test_ok(husk_resize_backward(test_queue(), NULL, &x.tensor, &y.tensor));
    test_untouched(&y);
    test_release(&x);
    test_release(&y);
}
END_TEST

// ---- the gradient ----

static void forward(void *user)
{
    husk_ref_resize_run(((void **)user)[0], ((void **)user)[1]);
}

START_TEST(differences)
{
    husk_ref_random random = {.seed = 8};
    for (uint64_t seed = 1; seed <= 24; seed++) {
        const resize_case c = draw(&random, (husk_resize_mode)(seed % MODES), 7);
        husk_ref_array x = test_array(c.rank, c.x, seed, 2), y = test_array(c.rank, c.y, 0, 0);
        husk_ref_array dy = test_array(c.rank, c.y, seed + 80, 1), dx = test_array(c.rank, c.x, 0, 0);
        husk_ref_resize op = {.params = &c.params, .x = &x, .shape = c.y};
        husk_ref_resize_backward backward = {.params = &c.params, .dy = &dy, .dx = &dx};
        void *user[] = {&op, &y};
        forward(user);
        husk_ref_resize_backward_run(&backward, &dx);
        test_differences(backward_name, forward, user, &x, &y, &dy, &dx, seed);
        test_adjoint(backward_name, &y, &dy, &x, &dx);
        husk_ref_array *const all[] = {&x, &y, &dy, &dx};
        for (int i = 0; i < 4; i++)
            test_array_release(all[i]);
    }
}
END_TEST

START_TEST(the_same_bits)
{
    enum { COUNT = 3 * 40 * 50 };
    const int64_t x_shape[] = {1, 3, 40, 50}, y_shape[] = {1, 3, 70, 130};
    const husk_resize_params params = HUSK_RESIZE_PARAMS(.mode = (husk_resize_mode)_i);
    test_tensor dy = test_input(4, y_shape, TEST_PACKED, 3, 1), dx = test_inout(4, x_shape, TEST_PACKED, 4, 1);
    static float first[COUNT];
    for (int run = 0; run < 10; run++) {
        test_restore(&dx);
        test_ok(husk_resize_backward(test_queue(), &params, &dy.tensor, &dx.tensor));
        test_fetch(&dx);
        if (run == 0)
            memcpy(first, dx.array.data, sizeof(first));
        ck_assert_mem_eq(first, dx.array.data, sizeof(first));
    }
    test_release(&dy);
    test_release(&dx);
}
END_TEST

START_TEST(the_check_sees_mistakes)
{
    const int64_t x_shape[] = {2, 3, 6, 20}, y_shape[] = {2, 3, 8, 35};
    const husk_resize_params params = HUSK_RESIZE_PARAMS(.mode = (husk_resize_mode)_i);
    test_tensor x = test_input(4, x_shape, TEST_PACKED, 15, 2.0f), y = test_output(HUSK_F32, 4, y_shape, TEST_PADDED);
    test_ok(husk_resize(test_queue(), &params, &x.tensor, &y.tensor));
    test_fetch(&y);
    husk_ref_resize op = {.params = &params, .x = &x.array, .shape = y_shape};
    husk_ref_function function = husk_ref_resize_function(&op);
    test_planted(&function, &y.array, check, &op);
    test_planted_guards(&y);
    test_tensor dy = test_input(4, y_shape, TEST_PACKED, 3, 1), dx = test_inout(4, x_shape, TEST_PADDED, 5, 1);
    test_ok(husk_resize_backward(test_queue(), &params, &dy.tensor, &dx.tensor));
    test_fetch(&dx);
    husk_ref_resize_backward backward = {.params = &params, .dy = &dy.array, .dx = &dx.array};
    function = husk_ref_resize_backward_function(&backward);
    test_planted(&function, &dx.array, check_backward, &backward);
    test_planted_guards(&dx);
    test_tensor *const all[] = {&x, &y, &dy, &dx};
    for (int i = 0; i < 4; i++)
        test_release(all[i]);
}
END_TEST

// ---- bad input ----

static void refuse(husk_status wanted, const char *argument, husk_resize_params params, const husk_tensor *x,
                   const husk_tensor *y)
{
    test_refused(husk_resize(test_silent_queue(), &params, x, y), wanted, argument);
}

// By both calls, whose second and first tensor is y.
static void refuse_both(husk_status wanted, const char *argument, husk_resize_params params, const husk_tensor *x,
                        const husk_tensor *y)
{
    refuse(wanted, argument, params, x, y);
    test_refused(husk_resize_backward(test_silent_queue(), &params, y, x), wanted, argument);
}

START_TEST(bad_options)
{
    const int64_t x_shape[] = {1, 2, 6}, y_shape[] = {1, 2, 9};
    test_tensor tx = test_inout(3, x_shape, TEST_PACKED, 1, 1), ty = test_inout(3, y_shape, TEST_PACKED, 2, 1);
    const husk_tensor *x = &tx.tensor, *y = &ty.tensor;
    refuse_both(HUSK_INVALID_ARGUMENT, "mode", HUSK_RESIZE_PARAMS(.mode = (husk_resize_mode)3), x, y);
    refuse_both(HUSK_INVALID_ARGUMENT, "coordinates", HUSK_RESIZE_PARAMS(.coordinates = (husk_resize_coordinates)4), x,
                y);
    refuse_both(HUSK_INVALID_ARGUMENT, "rounding", HUSK_RESIZE_PARAMS(.rounding = (husk_resize_rounding)4), x, y);
    refuse_both(HUSK_INVALID_ARGUMENT, "cubic_coefficient", HUSK_RESIZE_PARAMS(.cubic_coefficient = 0.5f), x, y);
    refuse_both(HUSK_INVALID_ARGUMENT, "cubic_coefficient", HUSK_RESIZE_PARAMS(.cubic_coefficient = NAN), x, y);
    refuse_both(HUSK_INVALID_ARGUMENT, "scale[1]", HUSK_RESIZE_PARAMS(.scale = {0, -1}), x, y);
    refuse_both(HUSK_INVALID_ARGUMENT, "scale[0]", HUSK_RESIZE_PARAMS(.scale = {INFINITY}), x, y);
    refuse_both(HUSK_UNSUPPORTED, "scale[0]", HUSK_RESIZE_PARAMS(.scale = {1e-30f}), x, y);
    refuse_both(HUSK_UNSUPPORTED, "scale[0]", HUSK_RESIZE_PARAMS(.scale = {1e30f}), x, y);
    refuse_both(HUSK_INVALID_ARGUMENT, "accumulate", HUSK_RESIZE_PARAMS(.accumulate = 4), x, y);
    refuse_both(HUSK_INVALID_ARGUMENT, "gird", HUSK_RESIZE_PARAMS(.variant = "gird"), x, y);
    test_untouched(&tx);
    test_untouched(&ty);
    test_release(&tx);
    test_release(&ty);
}
END_TEST

START_TEST(bad_tensors)
{
    const int64_t x_shape[] = {1, 2, 6}, y_shape[] = {1, 2, 9}, other[] = {1, 3, 9}, none[] = {1, 2, 0};
    const int64_t flat[] = {2, 6}, deep[] = {1, 2, 1, 1, 1, 6};
    test_tensor tx = test_inout(3, x_shape, TEST_PACKED, 1, 1), ty = test_inout(3, y_shape, TEST_PACKED, 2, 1);
    test_tensor channels = test_inout(3, other, TEST_PACKED, 1, 1), empty = test_input(3, none, TEST_PACKED, 1, 1);
    test_tensor half = test_output(HUSK_F16, 3, y_shape, TEST_PACKED);
    test_tensor whole = test_output(HUSK_I32, 3, x_shape, TEST_PACKED);
    test_tensor low = test_inout(2, flat, TEST_PACKED, 1, 1), high = test_inout(6, deep, TEST_PACKED, 1, 1);
    const husk_tensor *x = &tx.tensor, *y = &ty.tensor;
    const husk_resize_params right = HUSK_RESIZE_PARAMS(0), linear = HUSK_RESIZE_PARAMS(.mode = HUSK_RESIZE_LINEAR);
    refuse_both(HUSK_INVALID_ARGUMENT, "x", right, NULL, y);
    refuse_both(HUSK_INVALID_ARGUMENT, "y", right, x, NULL);
    refuse_both(HUSK_INVALID_ARGUMENT, "y", right, x, &channels.tensor);
    refuse_both(HUSK_INVALID_ARGUMENT, "y", right, x, &low.tensor);
    refuse_both(HUSK_INVALID_ARGUMENT, "both are 0 or neither", right, x, &empty.tensor);
    refuse_both(HUSK_INVALID_ARGUMENT, "has rank 2", right, &low.tensor, &low.tensor);
    refuse_both(HUSK_INVALID_ARGUMENT, "has rank 6", right, &high.tensor, &high.tensor);
    refuse_both(HUSK_UNSUPPORTED, "", right, x, &half.tensor);
    refuse(HUSK_UNSUPPORTED, "x", linear, &whole.tensor, &whole.tensor);
    test_refused(husk_resize_backward(test_silent_queue(), &right, &whole.tensor, &whole.tensor), HUSK_UNSUPPORTED,
                 "dy");
    husk_tensor bad = *x;
    bad.offset += 1 << 20;
    refuse_both(HUSK_INVALID_ARGUMENT, "x", right, &bad, y);
    refuse_both(HUSK_INVALID_ARGUMENT, "overlap", right, x, x);
    bad = *y;
    bad.strides[0] = 18;
    bad.strides[1] = 3;
    bad.strides[2] = 1;
    refuse(HUSK_INVALID_ARGUMENT, "y", right, x, &bad);
    ck_assert_int_eq(husk_resize(NULL, &right, x, y), HUSK_INVALID_ARGUMENT);
    ck_assert_int_eq(husk_resize_backward(NULL, &right, y, x), HUSK_INVALID_ARGUMENT);
    test_untouched(&tx);
    test_untouched(&ty);
    test_tensor *const all[] = {&tx, &ty, &channels, &empty, &half, &whole, &low, &high};
    for (int i = 0; i < 8; i++)
        test_release(all[i]);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create(forward_name);
    TCase *tests = tcase_create(forward_name);
    tcase_add_loop_test(tests, modes_and_layouts, 0, MODES);
    tcase_add_loop_test(tests, gradients_and_layouts, 0, MODES);
    suite_add_tcase(suite, tests);
    if (test_tier_is("dtypes"))
        return test_main(suite);
    tcase_add_test(tests, differences);
    tcase_add_loop_test(tests, rows, 0, 10);
    tcase_add_loop_test(tests, many_terms_of_one_sign, 0, 3);
    tcase_add_loop_test(tests, boundaries, 0, 6);
    tcase_add_test(tests, special_values);
    tcase_add_test(tests, nothing);
    tcase_add_loop_test(tests, the_same_bits, 0, MODES);
    tcase_add_loop_test(tests, the_check_sees_mistakes, 0, MODES);
    tcase_add_test(tests, bad_options);
    tcase_add_test(tests, bad_tensors);
    return test_main(suite);
}
