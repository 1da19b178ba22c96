// SPDX-License-Identifier: MIT
// ctest: tiers=default,long,dtypes timeout=120 with=pad_case
// Padding: every mode and variant against the reference, with wide, narrow and negative widths, in all layouts and
// dtypes; values; bad input.
#include <math.h>
#include <string.h>

#include "ref/layout/pad.h"

#include "pad_case.h"

static const char *const variants[] = {NULL, "rows", "grid:64"};
enum { VARIANTS = sizeof(variants) / sizeof(variants[0]), MODES = HUSK_PAD_CIRCULAR + 1 };

static void check(void *user, const husk_ref_array *y, husk_ref_report *report)
{
    husk_ref_function function = husk_ref_pad_function(user);
    husk_ref_check(&function, 1, y, report);
}

static void run_all(husk_pad_params params, const char *text, test_tensor *x, test_tensor *y)
{
    husk_ref_pad op = {.params = &params, .x = &x->array};
    for (int v = 0; v < VARIANTS; v++) {
        params.variant = variants[v];
        test_restore(y);
        if (!test_ran(husk_pad(test_queue(), &params, &x->tensor, &y->tensor), "pad", variants[v]))
            continue;
        test_fetch(y);
        husk_ref_report report = {0};
        check(&op, &y->array, &report);
        test_accept("pad", variants[v], text, &report);
    }
}

static void run_case(const pad_case *c, husk_dtype dtype, uint64_t seed)
{
    husk_pad_params params = c->params;
    if (dtype >= HUSK_F64)
        params.value = 7.0;
    test_tensor x = test_input_of(dtype, c->rank, c->x, c->x_layout, seed, dtype >= HUSK_F64 ? 100.0f : 2.0f);
    test_tensor y = test_output(dtype, c->rank, c->y, c->y_layout);
    run_all(params, c->text, &x, &y);
    test_release(&x);
    test_release(&y);
}

START_TEST(modes_and_layouts)
{
    static const husk_dtype dtypes[] = {HUSK_F32, HUSK_F32, HUSK_F16, HUSK_F32, HUSK_I64, HUSK_BF16, HUSK_I32};
    husk_ref_random random = {.seed = 20 + (uint64_t)_i};
    for (int64_t round = 0; round < (test_is_long() ? 120 : 28); round++) {
        const pad_case c = pad_case_draw(&random, (husk_pad_mode)_i, 90);
        run_case(&c, test_tier_is("dtypes") ? test_dtype(round) : dtypes[round % 7], (uint64_t)round);
    }
}
END_TEST

// Rows of lengths around vectors and shares; the widest that may be.
START_TEST(rows)
{
    static const int64_t lengths[] = {1, 15, 16, 17, 63, 65, 1000, 32768, 40001};
    const int64_t n = lengths[_i], shape[] = {3, n};
    test_tensor x = test_input(2, shape, TEST_PACKED, 5, 2.0f);
    for (int mode = 0; mode < MODES; mode++) {
        const int64_t wide = mode == HUSK_PAD_REFLECT ? n - 1 : n, y_shape[] = {3, n + 1 * wide + (n > 1)};
        test_tensor y = test_output(HUSK_F32, 2, y_shape, TEST_PACKED);
        run_all(HUSK_PAD_PARAMS(.mode = (husk_pad_mode)mode, .before = {0, n > 1}, .after = {0, wide}), "rows", &x, &y);
        test_release(&y);
    }
    test_release(&x);
}
END_TEST

// Values rounded to the dtype as a device rounds; of integers whole ones.
START_TEST(values)
{
    static const double all[] = {0.1, -2.5, 1e-7, 65519.0, 65520.0, -1e6, 3e-8, 6.1e-5, 1.00049, NAN, 3.4e38, -0.0,
                                 2049.0, 2051.0, INFINITY, 257.5,
                                 // just above and below the middle of two f16 or bf16, nearer to it than an f32 tells
                                 1 + 0x1p-11 + 0x1p-40, -1 - 3 * 0x1p-11 + 0x1p-40, 1 + 0x1p-8 + 0x1p-40,
                                 1 + 3 * 0x1p-8 - 0x1p-40, 0x1p-25 + 0x1p-60};
    const int64_t shape[] = {3}, y_shape[] = {6};
    for (int dtype = HUSK_F32; dtype <= HUSK_BF16; dtype++)
        for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
            test_tensor x = test_input_of((husk_dtype)dtype, 1, shape, TEST_PACKED, 5, 2.0f);
            test_tensor y = test_output((husk_dtype)dtype, 1, y_shape, TEST_PACKED);
            run_all(HUSK_PAD_PARAMS(.value = all[i], .before = {1}, .after = {2}), "values", &x, &y);
            test_release(&x);
            test_release(&y);
        }
    static const struct {
        husk_dtype dtype;
        double value;
    } whole[] = {{HUSK_I64, -9007199254740992.0}, {HUSK_I32, -2147483648.0}, {HUSK_I32, 2147483647.0}, {HUSK_U8, 255}};
    for (int i = 0; i < 4; i++) {
        test_tensor x = test_input_of(whole[i].dtype, 1, shape, TEST_PACKED, 5, 0.9f);
        test_tensor y = test_output(whole[i].dtype, 1, y_shape, TEST_PACKED);
        run_all(HUSK_PAD_PARAMS(.value = whole[i].value, .before = {1}, .after = {2}), "whole values", &x, &y);
        test_release(&x);
        test_release(&y);
    }
}
END_TEST

// A scalar, nothing at all, all of it cut off, and nothing padded to something.
START_TEST(scalar_and_nothing)
{
    const int64_t none[] = {0, 3}, some[] = {2, 3};
    test_tensor x = test_input(0, NULL, TEST_PACKED, 5, 2.0f), y = test_output(HUSK_F32, 0, NULL, TEST_PACKED);
    run_all(HUSK_PAD_PARAMS(0), "a scalar", &x, &y);
    test_release(&x);
    test_release(&y);
    x = test_input(2, some, TEST_PACKED, 5, 2.0f);
    y = test_output(HUSK_F32, 2, none, TEST_PACKED);
    for (int v = 0; v < VARIANTS; v++) {
        const husk_pad_params params = HUSK_PAD_PARAMS(.before = {-1}, .after = {-1}, .variant = variants[v]);
        test_ok(husk_pad(test_queue(), &params, &x.tensor, &y.tensor));
        test_untouched(&y);
    }
    test_release(&x);
    test_release(&y);
    x = test_input(2, none, TEST_PACKED, 5, 2.0f);
    y = test_output(HUSK_F32, 2, some, TEST_PACKED);
    run_all(HUSK_PAD_PARAMS(.before = {1}, .after = {1}, .value = 4), "nothing made something", &x, &y);
    test_release(&x);
    test_release(&y);
}
END_TEST

// As many elements as before, and none of them the same.
START_TEST(moved_out)
{
    const int64_t shape[] = {2, 1, 3}, one[] = {1};
    for (int64_t by = -1; by <= 1; by += 2) {
        test_tensor x = test_input(1, one, TEST_PACKED, 5, 2.0f), y = test_output(HUSK_F32, 1, one, TEST_PACKED);
        run_all(HUSK_PAD_PARAMS(.before = {by}, .after = {-by}, .value = 4), "one moved", &x, &y);
        test_release(&x);
        test_release(&y);
        x = test_input(3, shape, TEST_PADDED, 5, 2.0f);
        y = test_output(HUSK_F32, 3, shape, TEST_SPREAD);
        run_all(HUSK_PAD_PARAMS(.before = {0, by}, .after = {0, -by}, .value = 4), "rows moved", &x, &y);
        test_release(&x);
        test_release(&y);
    }
}
END_TEST

START_TEST(the_check_sees_mistakes)
{
    const int64_t shape[] = {6, 50}, y_shape[] = {8, 53};
    test_tensor x = test_input(2, shape, TEST_PACKED, 15, 2.0f), y = test_output(HUSK_F32, 2, y_shape, TEST_PADDED);
    const husk_pad_params params = HUSK_PAD_PARAMS(.mode = HUSK_PAD_REFLECT, .before = {1, 2}, .after = {1, 1});
    test_ok(husk_pad(test_queue(), &params, &x.tensor, &y.tensor));
    test_fetch(&y);
    husk_ref_pad op = {.params = &params, .x = &x.array};
    husk_ref_function function = husk_ref_pad_function(&op);
    test_planted(&function, &y.array, check, &op);
    test_planted_guards(&y);
    test_release(&x);
    test_release(&y);
}
END_TEST

// ---- bad input ----

static void refuse(husk_status wanted, const char *argument, husk_pad_params params, const husk_tensor *x,
                   const husk_tensor *y)
{
    test_refused(husk_pad(test_silent_queue(), &params, x, y), wanted, argument);
}

START_TEST(bad_input)
{
    const int64_t shape[] = {4, 6}, y_shape[] = {4, 8}, none[] = {4, 0};
    test_tensor tx = test_input(2, shape, TEST_PACKED, 1, 1), ty = test_output(HUSK_F32, 2, y_shape, TEST_PACKED);
    test_tensor half = test_output(HUSK_F16, 2, y_shape, TEST_PACKED), empty = test_input(2, none, TEST_PACKED, 1, 1);
    test_tensor whole = test_output(HUSK_I32, 2, shape, TEST_PACKED);
    const husk_tensor *x = &tx.tensor, *y = &ty.tensor;
    const husk_pad_params right = HUSK_PAD_PARAMS(.before = {0, 1}, .after = {0, 1});
    husk_pad_params params = right;
    params.mode = (husk_pad_mode)4;
    refuse(HUSK_INVALID_ARGUMENT, "mode", params, x, y);
    params = right;
    params.accumulate = 4;
    refuse(HUSK_INVALID_ARGUMENT, "accumulate", params, x, y);
    params = right;
    params.variant = "gird";
    refuse(HUSK_INVALID_ARGUMENT, "gird", params, x, y);
    refuse(HUSK_INVALID_ARGUMENT, "value", HUSK_PAD_PARAMS(.value = 0.5), &whole.tensor, &whole.tensor);
    refuse(HUSK_INVALID_ARGUMENT, "value", HUSK_PAD_PARAMS(.value = 3e9), &whole.tensor, &whole.tensor);
    refuse(HUSK_INVALID_ARGUMENT, "before", HUSK_PAD_PARAMS(.before = {-5}), x, y);
    refuse(HUSK_INVALID_ARGUMENT, "after", HUSK_PAD_PARAMS(.before = {-3}, .after = {-2}), x, y);
    refuse(HUSK_INVALID_ARGUMENT, "before", HUSK_PAD_PARAMS(.before = {INT64_MAX}), x, y);
    refuse(HUSK_INVALID_ARGUMENT, "before", HUSK_PAD_PARAMS(.mode = HUSK_PAD_REFLECT, .before = {4}), x, y);
    refuse(HUSK_INVALID_ARGUMENT, "after", HUSK_PAD_PARAMS(.mode = HUSK_PAD_CIRCULAR, .after = {5}), x, y);
    refuse(HUSK_INVALID_ARGUMENT, "x", HUSK_PAD_PARAMS(.mode = HUSK_PAD_REPLICATE, .after = {0, 8}), &empty.tensor, y);
    refuse(HUSK_INVALID_ARGUMENT, "x", right, NULL, y);
    refuse(HUSK_INVALID_ARGUMENT, "y", right, x, NULL);
    refuse(HUSK_INVALID_ARGUMENT, "y", HUSK_PAD_PARAMS(0), x, y);
    refuse(HUSK_UNSUPPORTED, "y", right, x, &half.tensor);
    husk_tensor bad = *x;
    bad.offset += 1;
    refuse(HUSK_INVALID_ARGUMENT, "x", right, &bad, y);
    bad = *y;
    bad.shape[1] = 6; // y's own columns
    bad.strides[0] = 8;
    bad.strides[1] = 1;
    refuse(HUSK_INVALID_ARGUMENT, "y", right, &bad, y);
    bad = *y;
    bad.strides[0] = 3;
    bad.strides[1] = 1;
    refuse(HUSK_INVALID_ARGUMENT, "y", right, x, &bad);
    ck_assert_int_eq(husk_pad(NULL, &right, x, y), HUSK_INVALID_ARGUMENT);
    test_untouched(&ty);
    test_tensor *const all[] = {&tx, &ty, &half, &empty, &whole};
    for (int i = 0; i < 5; i++)
        test_release(all[i]);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("pad");
    TCase *tests = tcase_create("pad");
    tcase_add_loop_test(tests, modes_and_layouts, 0, MODES);
    suite_add_tcase(suite, tests);
    if (test_tier_is("dtypes"))
        return test_main(suite);
    tcase_add_loop_test(tests, rows, 0, 9);
    tcase_add_test(tests, values);
    tcase_add_test(tests, scalar_and_nothing);
    tcase_add_test(tests, moved_out);
    tcase_add_test(tests, the_check_sees_mistakes);
    tcase_add_test(tests, bad_input);
    return test_main(suite);
}
