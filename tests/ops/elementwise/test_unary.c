// SPDX-License-Identifier: MIT
// ctest: tiers=default,long,dtypes timeout=60
// Functions of one number: every kind, variant and layout against the reference; special values; bad input.
#include <math.h>
#include <stdio.h>

#include "ref/elementwise/unary.h"
#include "support/support.h"

static const char *const variants[] = {NULL, "vector", "grid:64"};
enum { VARIANTS = sizeof(variants) / sizeof(variants[0]), KINDS = HUSK_UNARY_POWER + 1 };

static husk_unary_params params_of(int op)
{
    return HUSK_UNARY_PARAMS(.op = (husk_unary_op)op, .low = -1.5f, .high = 2.5f, .exponent = 2.5f);
}

// Half of the numbers that a function is not defined for become such that it is.
static void move_into_domain(husk_unary_op op, const husk_ref_array *x)
{
    int64_t index[HUSK_MAX_RANK] = {0};
    const bool is_positive = op == HUSK_UNARY_SQRT || op == HUSK_UNARY_RSQRT || op == HUSK_UNARY_LOG ||
                             op == HUSK_UNARY_LOG1P || op == HUSK_UNARY_POWER;
    if (!is_positive || husk_ref_array_count(x) == 0)
        return;
    do {
        const int64_t offset = husk_ref_offset(x, index);
        if (index[x->rank > 0 ? x->rank - 1 : 0] % 4 != 3)
            husk_ref_store(x, offset, fabs(husk_ref_load(x, offset)));
    } while (husk_ref_index_next(x->rank, x->shape, index));
}

static void check(void *user, const husk_ref_array *y, husk_ref_report *report)
{
    husk_ref_function function = husk_ref_unary_function(user);
    husk_ref_check(&function, 1, y, report);
}

// One run of x into y with every variant; both stay the caller's.
static void run_all(const husk_unary_params *wanted, test_tensor *x, test_tensor *y)
{
    husk_unary_params params = *wanted;
    husk_ref_unary op = {.params = &params, .x = &x->array};
    char text[160];
    snprintf(text, sizeof(text), "%s rank=%d first=%lld last=%lld", husk_unary_name(params.op), (int)x->array.rank,
             x->array.rank ? (long long)x->array.shape[0] : 1LL,
             x->array.rank ? (long long)x->array.shape[x->array.rank - 1] : 1LL);
    for (int v = 0; v < VARIANTS; v++) {
        params.variant = variants[v];
        test_restore(y);
        if (!test_ran(husk_unary(test_queue(), &params, &x->tensor, &y->tensor), "unary", variants[v]))
            continue;
        test_fetch(y);
        husk_ref_report report = {0};
        check(&op, &y->array, &report);
        test_accept("unary", variants[v], text, &report);
    }
}

START_TEST(kinds_and_layouts)
{
    husk_ref_random random = {.seed = 11 + (uint64_t)_i};
    const int64_t rounds = test_is_long() ? 40 : 7;
    const bool is_narrow = test_tier_is("dtypes");
    for (int64_t round = 0; round < rounds; round++) {
        int64_t shape[HUSK_MAX_RANK];
        const int32_t rank = (int32_t)TEST_PICK(&random, 1, 1, 2, 3, 4, 5, 8);
        for (int32_t d = 0; d < rank; d++)
            shape[d] = d + 1 < rank ? test_pick_size(&random, 4, rank > 4 ? 3 : 9)
                                    : test_pick_size(&random, 64, rank == 1 ? 5000 : 150);
        husk_unary_params params = params_of(_i);
        params.exponent = (float)TEST_PICK(&random, -2, -1, 0, 1, 2, 3) / 2.0f;
        const husk_dtype dtype = is_narrow ? test_dtype(round) : HUSK_F32;
        test_tensor x = test_input_of(dtype, rank, shape, test_pick_layout(&random), (uint64_t)round, 8.0f);
        test_tensor y = test_output(dtype, rank, shape, test_pick_layout(&random));
        move_into_domain(params.op, &x.array);
        test_input_update(&x);
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
    husk_unary_params params = HUSK_UNARY_PARAMS(.op = HUSK_UNARY_EXPM1);
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
            husk_unary_params params = params_of(_i);
            params.exponent = 2.0f;
            params.variant = variants[v];
            husk_ref_unary op = {.params = &params, .x = &y.before};
            if (test_ran(husk_unary(test_queue(), &params, &y.tensor, &y.tensor), "unary", variants[v])) {
                test_fetch(&y);
                husk_ref_report report = {0};
                check(&op, &y.array, &report);
                test_accept("unary", variants[v], "in place", &report);
            }
            test_release(&y);
        }
    }
}
END_TEST

START_TEST(special_values)
{
    // e^88.72 is just within f32's range
    static const double values[] = {NAN,  INFINITY, -INFINITY, 0.0,        -0.0,  1.0,   -1.0,  0.5,  -0.5,
                                    1.5,  -1.5,     2.5,       -2.5,       1e-30, 1e30,  -1e30, 88.0, -88.0,
                                    89.0, -89.0,    104.0,     -104.0,     80.5,  -80.5, -0.99, 1e-6, -1e-6,
                                    1e5,  -1e5,     1e-3,      0.49999997, 88.3,  88.4,  88.6,  88.72};
    enum { COUNT = sizeof(values) / sizeof(values[0]) };
    const int64_t shape[] = {3, COUNT};
    husk_unary_params params = params_of(_i);
    test_tensor x = test_input(2, shape, TEST_PADDED, 7, 2.0f);
    test_tensor y = test_output(HUSK_F32, 2, shape, TEST_PACKED);
    for (int64_t i = 0; i < COUNT; i++) {
        const int64_t index[] = {i % 3, i};
        husk_ref_store(&x.array, husk_ref_offset(&x.array, index), values[i]);
    }
    test_input_update(&x);
    run_all(&params, &x, &y);
    params.low = 3.0f; // above high
    params.exponent = -3.0f;
    if (_i == HUSK_UNARY_CLAMP || _i == HUSK_UNARY_POWER)
        run_all(&params, &x, &y);
    test_release(&x);
    test_release(&y);
}
END_TEST

START_TEST(scalar_and_nothing)
{
    husk_unary_params params = HUSK_UNARY_PARAMS(.op = HUSK_UNARY_EXP);
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
            test_ran(husk_unary(test_queue(), &params, &x.tensor, &y.tensor), "unary", variants[v]);
            test_untouched(&y);
            test_release(&x);
            test_release(&y);
        }
    }
}
END_TEST

START_TEST(the_check_sees_mistakes)
{
    const int64_t shape[] = {6, 50};
    husk_unary_params params = HUSK_UNARY_PARAMS(.op = HUSK_UNARY_SIN);
    test_tensor x = test_input(2, shape, TEST_PACKED, 15, 2.0f);
    test_tensor y = test_output(HUSK_F32, 2, shape, TEST_PADDED);
    test_ok(husk_unary(test_queue(), &params, &x.tensor, &y.tensor));
    test_fetch(&y);
    husk_ref_unary op = {.params = &params, .x = &x.array};
    husk_ref_function function = husk_ref_unary_function(&op);
    test_planted(&function, &y.array, check, &op);
    test_planted_guards(&y);
    test_release(&x);
    test_release(&y);
}
END_TEST

static void refuse(husk_status wanted, const char *argument, const husk_unary_params *params, const husk_tensor *x,
                   const husk_tensor *y)
{
    test_refused(husk_unary(test_silent_queue(), params, x, y), wanted, argument);
}

START_TEST(bad_params)
{
    const int64_t shape[] = {4, 6};
    test_tensor x = test_input(2, shape, TEST_PACKED, 17, 1.0f);
    test_tensor y = test_output(HUSK_F32, 2, shape, TEST_PACKED);
    husk_unary_params params = HUSK_UNARY_PARAMS(.op = (husk_unary_op)18);
    refuse(HUSK_INVALID_ARGUMENT, "op", &params, &x.tensor, &y.tensor);
    params = HUSK_UNARY_PARAMS(.op = HUSK_UNARY_CLAMP, .high = NAN);
    refuse(HUSK_INVALID_ARGUMENT, "high", &params, &x.tensor, &y.tensor);
    params = HUSK_UNARY_PARAMS(.op = HUSK_UNARY_POWER, .exponent = NAN);
    refuse(HUSK_INVALID_ARGUMENT, "exponent", &params, &x.tensor, &y.tensor);
    params = HUSK_UNARY_PARAMS(.variant = "vectorr");
    refuse(HUSK_INVALID_ARGUMENT, "vectorr", &params, &x.tensor, &y.tensor);
    params = HUSK_UNARY_PARAMS(.variant = "grid:65");
    refuse(HUSK_INVALID_ARGUMENT, "grid:65", &params, &x.tensor, &y.tensor);
    params = HUSK_UNARY_PARAMS(.op = HUSK_UNARY_NEGATE);
    params.size = sizeof(params) + 8;
    refuse(HUSK_INVALID_ARGUMENT, "params", &params, &x.tensor, &y.tensor);
    ck_assert_int_eq(husk_unary(NULL, NULL, &x.tensor, &y.tensor), HUSK_INVALID_ARGUMENT);
    test_untouched(&y);
    test_release(&x);
    test_release(&y);
}
END_TEST

START_TEST(bad_tensors)
{
    const int64_t shape[] = {4, 6}, other[] = {6, 4};
    const husk_unary_params params = HUSK_UNARY_PARAMS(.op = HUSK_UNARY_NEGATE);
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

START_TEST(names)
{
    ck_assert_str_eq(husk_unary_name(HUSK_UNARY_NEGATE), "negate");
    ck_assert_str_eq(husk_unary_name(HUSK_UNARY_POWER), "power");
    ck_assert_str_eq(husk_unary_name((husk_unary_op)18), "unknown");
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("unary");
    TCase *tests = tcase_create("unary");
    tcase_add_loop_test(tests, kinds_and_layouts, 0, KINDS);
    suite_add_tcase(suite, tests);
    if (test_tier_is("dtypes"))
        return test_main(suite);
    tcase_add_loop_test(tests, sizes_around_the_shares, 0, 14);
    tcase_add_loop_test(tests, in_place, 0, KINDS);
    tcase_add_loop_test(tests, special_values, 0, KINDS);
    tcase_add_test(tests, scalar_and_nothing);
    tcase_add_test(tests, the_check_sees_mistakes);
    tcase_add_test(tests, bad_params);
    tcase_add_test(tests, bad_tensors);
    tcase_add_test(tests, names);
    return test_main(suite);
}
