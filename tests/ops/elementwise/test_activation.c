// SPDX-License-Identifier: MIT
// ctest: tiers=default,long,dtypes,valgrind timeout=60
// Activations alone: every kind, variant and layout against the reference; special values; bad input.
#include "ref/elementwise/activation.h"
#include "support/support.h"

#include <math.h>
#include <stdio.h>

static const char *const variants[] = {NULL, "vector", "grid:64", "grid:256"};
enum { VARIANTS = sizeof(variants) / sizeof(variants[0]), KINDS = HUSK_ACT_TANH + 1 };

static void check(void *user, const husk_ref_array *y, husk_ref_report *report)
{
    husk_ref_function function = husk_ref_activation_function(user);
    husk_ref_check(&function, 1, y, report);
}

// One run of x into y with every variant; both stay the caller's.
static void run_all(const husk_activation_params *wanted, test_tensor *x, test_tensor *y)
{
    husk_activation_params params = *wanted;
    husk_ref_activation op = {.params = &params, .x = &x->array};
    char text[160];
    snprintf(text, sizeof(text), "%s rank=%d first=%lld last=%lld", husk_act_name(params.activation),
             (int)x->array.rank, x->array.rank ? (long long)x->array.shape[0] : 1LL,
             x->array.rank ? (long long)x->array.shape[x->array.rank - 1] : 1LL);
    for (int v = 0; v < VARIANTS; v++) {
        params.variant = variants[v];
        test_restore(y);
        if (!test_ran(husk_activation(test_queue(), &params, &x->tensor, &y->tensor), "activation", variants[v]))
            continue;
        test_fetch(y);
        husk_ref_report report = {0};
        check(&op, &y->array, &report);
        test_accept("activation", variants[v], text, &report);
    }
}

START_TEST(kinds_and_layouts)
{
    husk_ref_random random = {.seed = 11 + (uint64_t)_i};
    const int64_t rounds = test_is_long() ? 40 : 6;
    for (int64_t round = 0; round < rounds; round++) {
        int64_t shape[HUSK_MAX_RANK];
        const int32_t rank = (int32_t)TEST_PICK(&random, 1, 1, 2, 3, 4, 5, 8);
        for (int32_t d = 0; d < rank; d++)
            shape[d] = d + 1 < rank ? test_pick_size(&random, 4, rank > 4 ? 3 : 9)
                                    : test_pick_size(&random, 64, rank == 1 ? 5000 : 150);
        husk_activation_params params = HUSK_ACTIVATION_PARAMS(.activation = (husk_act)_i);
        if (test_one_in(&random, 2))
            params.slope = 0.25f;
        const bool is_amid_nan = test_one_in(&random, 2);
        test_tensor x = (is_amid_nan ? test_input_amid_nan : test_input)(rank, shape, test_pick_layout(&random),
                                                                         (uint64_t)round, 8.0f);
        test_tensor y = test_output(HUSK_F32, rank, shape, test_pick_layout(&random));
        run_all(&params, &x, &y);
        test_release(&x);
        test_release(&y);
    }
}
END_TEST

// Shares of work-groups and tails of vectors end somewhere: sizes around them.
START_TEST(sizes_around_the_shares)
{
    static const int64_t sizes[] = {1, 15, 16, 17, 63, 64, 65, 255, 257, 16383, 16384, 16385, 131071, 300007};
    const int64_t shape[] = {sizes[_i]};
    husk_activation_params params = HUSK_ACTIVATION_PARAMS(.activation = HUSK_ACT_SILU);
    test_tensor x = test_input(1, shape, TEST_PACKED, 3, 4.0f);
    test_tensor y = test_output(HUSK_F32, 1, shape, TEST_PACKED);
    run_all(&params, &x, &y);
    test_release(&x);
    test_release(&y);
}
END_TEST

START_TEST(in_place)
{
    static const test_layout layouts[] = {TEST_PACKED, TEST_PADDED, TEST_SPREAD, TEST_REVERSED};
    const int64_t shape[] = {5, 37, 11};
    for (int v = 0; v < VARIANTS; v++) {
        for (int l = 0; l < 4; l++) {
            test_tensor y = test_inout(3, shape, layouts[l], 5, 6.0f);
            husk_activation_params params = HUSK_ACTIVATION_PARAMS(.activation = (husk_act)_i, .variant = variants[v]);
            husk_ref_activation op = {.params = &params, .x = &y.before};
            if (test_ran(husk_activation(test_queue(), &params, &y.tensor, &y.tensor), "activation", variants[v])) {
                test_fetch(&y);
                husk_ref_report report = {0};
                check(&op, &y.array, &report);
                test_accept("activation", variants[v], "in place", &report);
            }
            test_release(&y);
        }
    }
}
END_TEST

START_TEST(special_values)
{
    static const double values[] = {NAN,
                                    INFINITY,
                                    -INFINITY,
                                    0.0,
                                    -0.0,
                                    1e30,
                                    -1e30,
                                    3.4028234663852886e38,
                                    -3.4028234663852886e38,
                                    87.0,
                                    -87.0,
                                    88.0,
                                    -88.0,
                                    88.5,
                                    -88.5,
                                    89.0,
                                    -89.0,
                                    104.0,
                                    -104.0,
                                    1e-30,
                                    -1e-30,
                                    9.0,
                                    -9.0,
                                    3.92,
                                    -3.92,
                                    6.0,
                                    5.5};
    enum { COUNT = sizeof(values) / sizeof(values[0]) };
    const int64_t shape[] = {3, COUNT};
    husk_activation_params params = HUSK_ACTIVATION_PARAMS(.activation = (husk_act)_i);
    test_tensor x = test_input(2, shape, TEST_PADDED, 7, 2.0f);
    test_tensor y = test_output(HUSK_F32, 2, shape, TEST_PACKED);
    for (int64_t i = 0; i < COUNT; i++) {
        const int64_t index[] = {i % 3, i};
        husk_ref_store(&x.array, husk_ref_offset(&x.array, index), values[i]);
    }
    test_input_update(&x);
    run_all(&params, &x, &y);
    test_release(&x);
    test_release(&y);
}
END_TEST

START_TEST(scalar_and_nothing)
{
    husk_activation_params params = HUSK_ACTIVATION_PARAMS(.activation = HUSK_ACT_TANH);
    const int64_t no_shape[] = {0};
    test_tensor x = test_input(0, no_shape, TEST_PACKED, 9, 2.0f);
    test_tensor y = test_output(HUSK_F32, 0, no_shape, TEST_PACKED);
    run_all(&params, &x, &y);
    test_release(&x);
    test_release(&y);

    static const int64_t empty[][2] = {{0, 7}, {7, 0}, {0, 0}};
    for (int i = 0; i < 3; i++) {
        for (int v = 0; v < VARIANTS; v++) {
            params.variant = variants[v];
            x = test_input(2, empty[i], TEST_PACKED, 9, 2.0f);
            y = test_output(HUSK_F32, 2, empty[i], TEST_PACKED);
            test_ran(husk_activation(test_queue(), &params, &x.tensor, &y.tensor), "activation", variants[v]);
            test_untouched(&y);
            test_release(&x);
            test_release(&y);
        }
    }
}
END_TEST

// NULL params are the defaults.
START_TEST(default_params)
{
    const int64_t shape[] = {100};
    test_tensor x = test_input(1, shape, TEST_PACKED, 13, 2.0f);
    test_tensor y = test_output(HUSK_F32, 1, shape, TEST_PACKED);
    test_ok(husk_activation(test_queue(), NULL, &x.tensor, &y.tensor));
    test_fetch(&y);
    husk_activation_params params = HUSK_ACTIVATION_PARAMS();
    husk_ref_activation op = {.params = &params, .x = &x.array};
    husk_ref_report report = {0};
    check(&op, &y.array, &report);
    test_accept("activation", NULL, "defaults", &report);
    test_release(&x);
    test_release(&y);
}
END_TEST

START_TEST(the_check_sees_mistakes)
{
    const int64_t shape[] = {6, 50};
    husk_activation_params params = HUSK_ACTIVATION_PARAMS(.activation = HUSK_ACT_GELU);
    test_tensor x = test_input(2, shape, TEST_PACKED, 15, 2.0f);
    test_tensor y = test_output(HUSK_F32, 2, shape, TEST_PADDED);
    test_ok(husk_activation(test_queue(), &params, &x.tensor, &y.tensor));
    test_fetch(&y);
    husk_ref_activation op = {.params = &params, .x = &x.array};
    husk_ref_function function = husk_ref_activation_function(&op);
    test_planted(&function, &y.array, check, &op);
    test_planted_guards(&y);
    test_release(&x);
    test_release(&y);
}
END_TEST

static void refuse(husk_status wanted, const char *argument, const husk_activation_params *params, const husk_tensor *x,
                   const husk_tensor *y)
{
    test_refused(husk_activation(test_silent_queue(), params, x, y), wanted, argument);
}

START_TEST(bad_params)
{
    const int64_t shape[] = {4, 6};
    test_tensor x = test_input(2, shape, TEST_PACKED, 17, 1.0f);
    test_tensor y = test_output(HUSK_F32, 2, shape, TEST_PACKED);
    husk_activation_params params = HUSK_ACTIVATION_PARAMS(.activation = (husk_act)9);
    refuse(HUSK_INVALID_ARGUMENT, "activation", &params, &x.tensor, &y.tensor);
    params.activation = (husk_act)-1;
    refuse(HUSK_INVALID_ARGUMENT, "activation", &params, &x.tensor, &y.tensor);
    params = HUSK_ACTIVATION_PARAMS(.activation = HUSK_ACT_LEAKY_RELU, .slope = INFINITY);
    refuse(HUSK_INVALID_ARGUMENT, "slope", &params, &x.tensor, &y.tensor);
    params = HUSK_ACTIVATION_PARAMS(.variant = "vectorr");
    refuse(HUSK_INVALID_ARGUMENT, "vectorr", &params, &x.tensor, &y.tensor);
    params = HUSK_ACTIVATION_PARAMS(.variant = "grid:65");
    refuse(HUSK_INVALID_ARGUMENT, "grid:65", &params, &x.tensor, &y.tensor);
    params = HUSK_ACTIVATION_PARAMS(.activation = HUSK_ACT_RELU);
    params.size = sizeof(params) + 8;
    refuse(HUSK_INVALID_ARGUMENT, "params", &params, &x.tensor, &y.tensor);
    ck_assert_int_eq(husk_activation(NULL, NULL, &x.tensor, &y.tensor), HUSK_INVALID_ARGUMENT);
    test_untouched(&y);
    test_release(&x);
    test_release(&y);
}
END_TEST

START_TEST(bad_tensors)
{
    const int64_t shape[] = {4, 6}, other[] = {6, 4};
    const husk_activation_params params = HUSK_ACTIVATION_PARAMS(.activation = HUSK_ACT_RELU);
    test_tensor x = test_input(2, shape, TEST_PACKED, 19, 1.0f);
    test_tensor y = test_output(HUSK_F32, 2, shape, TEST_PACKED);
    test_tensor turned = test_output(HUSK_F32, 2, other, TEST_PACKED);
    test_tensor whole = test_output(HUSK_I32, 2, shape, TEST_PACKED);
    refuse(HUSK_INVALID_ARGUMENT, "x", &params, NULL, &y.tensor);
    refuse(HUSK_INVALID_ARGUMENT, "y", &params, &x.tensor, NULL);
    refuse(HUSK_INVALID_ARGUMENT, "y", &params, &x.tensor, &turned.tensor);
    refuse(HUSK_UNSUPPORTED, "y", &params, &x.tensor, &whole.tensor);
    refuse(HUSK_UNSUPPORTED, "x", &params, &whole.tensor, &y.tensor);

    husk_tensor bad = x.tensor;
    bad.rank = 9;
    refuse(HUSK_INVALID_ARGUMENT, "x", &params, &bad, &y.tensor);
    bad = x.tensor;
    bad.shape[1] = -6;
    refuse(HUSK_INVALID_ARGUMENT, "x", &params, &bad, &y.tensor);
    bad = x.tensor;
    bad.shape[0] = bad.shape[1] = INT64_C(1) << 40;
    refuse(HUSK_INVALID_ARGUMENT, "x", &params, &bad, &y.tensor);
    bad = x.tensor;
    bad.offset += 1; // its end is past the buffer's
    refuse(HUSK_INVALID_ARGUMENT, "x", &params, &bad, &y.tensor);
    bad = x.tensor;
    bad.buffer = NULL;
    refuse(HUSK_INVALID_ARGUMENT, "x", &params, &bad, &y.tensor);
    bad = x.tensor;
    bad.dtype = (husk_dtype)77;
    refuse(HUSK_INVALID_ARGUMENT, "x", &params, &bad, &y.tensor);

    bad = y.tensor;
    bad.strides[0] = 3; // rows of 6 elements 3 apart
    bad.strides[1] = 1;
    refuse(HUSK_INVALID_ARGUMENT, "y", &params, &x.tensor, &bad);
    bad = y.tensor;
    bad.offset += 2; // in place, but not quite
    refuse(HUSK_INVALID_ARGUMENT, "y", &params, &y.tensor, &bad);
    test_untouched(&y);
    test_release(&x);
    test_release(&y);
    test_release(&turned);
    test_release(&whole);
}
END_TEST

static const husk_dtype narrow_dtypes[] = {HUSK_F16, HUSK_BF16};

// Every number of 16 bits, read and stored again.
START_TEST(every_number_of_two_bytes)
{
    const int64_t shape[] = {65536};
    husk_activation_params params = HUSK_ACTIVATION_PARAMS(.activation = HUSK_ACT_NONE);
    test_tensor x = test_input_of(narrow_dtypes[_i], 1, shape, TEST_PACKED, 1, 1.0f);
    test_tensor y = test_output(narrow_dtypes[_i], 1, shape, TEST_PACKED);
    for (int i = 0; i < 65536; i++)
        ((uint16_t *)x.array.data)[i] = (uint16_t)i;
    test_input_update(&x);
    test_ok(husk_activation(test_queue(), &params, &x.tensor, &y.tensor));
    test_fetch(&y);
    for (int i = 0; i < 65536; i++) {
        const double wanted = husk_ref_load(&x.array, i), got = husk_ref_load(&y.array, i);
        const bool is_flushed = got == 0.0 && fabs(wanted) < HUSK_REF_TINY; // bf16 alone has such numbers
        ck_assert_msg(got == wanted || (isnan(got) && isnan(wanted)) || is_flushed, "%s 0x%04x: %g became %g",
                      husk_dtype_name(narrow_dtypes[_i]), (unsigned)i, wanted, got);
    }
    test_release(&x);
    test_release(&y);
}
END_TEST

// The tier "dtypes": kinds, layouts and variants in the other dtypes.
START_TEST(narrow_kinds_and_layouts)
{
    husk_ref_random random = {.seed = 511 + (uint64_t)_i};
    for (int round = 0; round < 24; round++) {
        int64_t shape[3];
        for (int32_t d = 0; d < 3; d++)
            shape[d] = d < 2 ? test_pick_size(&random, 4, 9) : test_pick_size(&random, 64, 500);
        husk_activation_params params = HUSK_ACTIVATION_PARAMS(.activation = (husk_act)_i, .slope = 0.25f);
        const husk_dtype dtype = test_dtype(round);
        const float scale = round % 6 == 0 ? 60000.0f : 8.0f;
        test_tensor x = test_input_of(dtype, 3, shape, test_pick_layout(&random), (uint64_t)round, scale);
        test_tensor y = test_output(dtype, 3, shape, test_pick_layout(&random));
        run_all(&params, &x, &y);
        test_release(&x);
        test_release(&y);
    }
}
END_TEST

START_TEST(one_dtype_at_a_time)
{
    const int64_t shape[] = {4, 6};
    husk_activation_params params = HUSK_ACTIVATION_PARAMS(.activation = HUSK_ACT_RELU);
    test_tensor x = test_input_of(HUSK_F16, 2, shape, TEST_PACKED, 1, 1.0f);
    test_tensor y = test_output(HUSK_F32, 2, shape, TEST_PACKED);
    test_tensor z = test_output(HUSK_BF16, 2, shape, TEST_PACKED);
    refuse(HUSK_UNSUPPORTED, "y", &params, &x.tensor, &y.tensor);
    refuse(HUSK_UNSUPPORTED, "y", &params, &x.tensor, &z.tensor);
    test_release(&x);
    test_release(&y);
    test_release(&z);
}
END_TEST

START_TEST(names)
{
    ck_assert_str_eq(husk_act_name(HUSK_ACT_NONE), "none");
    ck_assert_str_eq(husk_act_name(HUSK_ACT_GELU_TANH), "gelu_tanh");
    ck_assert_str_eq(husk_act_name((husk_act)9), "unknown");
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("activation");
    TCase *tests = tcase_create("activation");
    if (test_tier_is("dtypes")) {
        tcase_add_loop_test(tests, narrow_kinds_and_layouts, 0, KINDS);
        suite_add_tcase(suite, tests);
        return test_main(suite);
    }
    tcase_add_loop_test(tests, kinds_and_layouts, 0, KINDS);
    tcase_add_loop_test(tests, every_number_of_two_bytes, 0, 2);
    tcase_add_test(tests, one_dtype_at_a_time);
    tcase_add_loop_test(tests, sizes_around_the_shares, 0, 14);
    tcase_add_loop_test(tests, in_place, 0, KINDS);
    tcase_add_loop_test(tests, special_values, 0, KINDS);
    tcase_add_test(tests, scalar_and_nothing);
    tcase_add_test(tests, default_params);
    tcase_add_test(tests, the_check_sees_mistakes);
    tcase_add_test(tests, bad_params);
    tcase_add_test(tests, bad_tensors);
    tcase_add_test(tests, names);
    suite_add_tcase(suite, tests);
    return test_main(suite);
}
