// SPDX-License-Identifier: MIT
// ctest: tiers=default,long,dtypes timeout=60
// The gradient of dropout: finite differences; every variant and layout against the reference; forward's own mask; the
// same bits every time; bad input.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ref/elementwise/dropout.h"
#include "support/support.h"

static const char *const variants[] = {NULL, "vector", "grid:64"};
enum { VARIANTS = sizeof(variants) / sizeof(variants[0]) };
static const char name[] = "dropout_backward";
static const float shares[] = {0.0f, 0.1f, 0.5f, 0.9f, 1.0f};

// ---- the reference is the gradient ----

static void forward(void *op)
{
    husk_ref_dropout_run(((husk_ref_dropout **)op)[0], ((husk_ref_array **)op)[1]);
}

START_TEST(differences)
{
    const int64_t shape[] = {5, 7};
    for (uint64_t seed = 1; seed <= 6; seed++) {
        const husk_dropout_params params = HUSK_DROPOUT_PARAMS(.p = shares[_i], .seed = seed, .offset = 2);
        husk_ref_array x = test_array(2, shape, seed, 4.0), dy = test_array(2, shape, seed + 9, 1.0);
        husk_ref_array y = test_array(2, shape, 0, 0.0), dx = test_array(2, shape, 0, 0.0);
        husk_ref_dropout op = {.params = &params, .x = &x};
        void *user[] = {&op, &y};
        forward(user);
        husk_ref_dropout_backward backward = {.params = &params, .dy = &dy};
        husk_ref_dropout_backward_run(&backward, &dx);
        test_differences("dropout_backward", forward, user, &x, &y, &dy, &dx, seed);
        test_adjoint("dropout_backward", &y, &dy, &x, &dx);
        test_array_release(&x);
        test_array_release(&y);
        test_array_release(&dy);
        test_array_release(&dx);
    }
}
END_TEST

// ---- every variant ----

static void check(void *user, const husk_ref_array *dx, husk_ref_report *report)
{
    husk_ref_function function = husk_ref_dropout_backward_function(user);
    husk_ref_check(&function, 1, dx, report);
}

static void run_all(const husk_dropout_params *wanted, test_tensor *dy, test_tensor *dx)
{
    husk_dropout_params params = *wanted;
    husk_ref_dropout_backward op = {.params = &params, .dy = &dy->array, .before = &dx->before};
    char text[160];
    snprintf(text, sizeof(text), "p=%g%s rank=%d", (double)params.p, params.accumulate ? " accumulate" : "",
             (int)dy->array.rank);
    for (int v = 0; v < VARIANTS; v++) {
        params.variant = variants[v];
        test_restore(dx);
        if (!test_ran(husk_dropout_backward(test_queue(), &params, &dy->tensor, &dx->tensor), name, variants[v]))
            continue;
        test_fetch(dx);
        husk_ref_report report = {0};
        check(&op, &dx->array, &report);
        test_accept(name, variants[v], text, &report);
    }
}

// In the tier "dtypes" the others in turns.
START_TEST(shares_and_layouts)
{
    husk_ref_random random = {.seed = 51 + (uint64_t)_i};
    const int64_t rounds = test_is_long() ? 60 : 14;
    const bool is_narrow = test_tier_is("dtypes");
    for (int64_t round = 0; round < rounds; round++) {
        int64_t shape[HUSK_MAX_RANK];
        const int32_t rank = (int32_t)TEST_PICK(&random, 1, 1, 2, 3, 4, 5, 8);
        for (int32_t d = 0; d < rank; d++)
            shape[d] = d + 1 < rank ? test_pick_size(&random, 4, rank > 4 ? 3 : 9)
                                    : test_pick_size(&random, 64, rank == 1 ? 5000 : 150);
        const husk_dropout_params params =
            HUSK_DROPOUT_PARAMS(.p = shares[_i], .seed = (uint64_t)husk_ref_random_below(&random, INT64_MAX),
                                .offset = (uint64_t)husk_ref_random_below(&random, INT64_MAX),
                                .accumulate = test_one_in(&random, 2) ? HUSK_ACCUMULATE_INPUTS : 0);
        const test_layout layout = test_pick_layout(&random);
        const husk_dtype dtype = is_narrow ? test_dtype(round) : HUSK_F32;
        test_tensor dy = test_input_of(dtype, rank, shape, layout, (uint64_t)round, 8.0f);
        test_tensor dx = test_inout_of(dtype, rank, shape, test_one_in(&random, 2) ? layout : test_pick_layout(&random),
                                       (uint64_t)round + 1, 8.0f);
        run_all(&params, &dy, &dx);
        test_release(&dy);
        test_release(&dx);
    }
}
END_TEST

START_TEST(sizes_around_the_shares)
{
    static const int64_t sizes[] = {1, 3, 5, 16, 17, 63, 64, 65, 257, 16383, 16385, 131071, 300007};
    const int64_t shape[] = {sizes[_i]};
    const husk_dropout_params params =
        HUSK_DROPOUT_PARAMS(.p = 0.25f, .seed = 9, .accumulate = _i % 2 ? HUSK_ACCUMULATE_ALL : 0);
    test_tensor dy = test_input(1, shape, TEST_PACKED, 3, 4.0f);
    test_tensor dx = test_inout(1, shape, TEST_PACKED, 4, 4.0f);
    run_all(&params, &dy, &dx);
    test_release(&dy);
    test_release(&dx);
}
END_TEST

// What the gradient makes of ones is what forward makes of them.
START_TEST(the_mask_is_forwards)
{
    const int64_t shape[] = {9, 501};
    husk_dropout_params params = HUSK_DROPOUT_PARAMS(.p = 0.4f, .seed = 31, .offset = 8);
    test_tensor x = test_input(2, shape, TEST_PADDED, 3, 4.0f);
    test_tensor y = test_output(HUSK_F32, 2, shape, TEST_PACKED), dx = test_output(HUSK_F32, 2, shape, TEST_PACKED);
    for (int v = 0; v < VARIANTS; v++) {
        params.variant = NULL;
        test_ok(husk_dropout(test_queue(), &params, &x.tensor, &y.tensor));
        params.variant = variants[v];
        test_restore(&dx);
        if (!test_ran(husk_dropout_backward(test_queue(), &params, &x.tensor, &dx.tensor), name, variants[v]))
            continue;
        test_fetch(&y);
        test_fetch(&dx);
        ck_assert_mem_eq(y.array.data, dx.array.data, 9 * 501 * sizeof(float));
    }
    test_release(&x);
    test_release(&y);
    test_release(&dx);
}
END_TEST

START_TEST(in_place)
{
    static const test_layout layouts[] = {TEST_PACKED, TEST_PADDED, TEST_SPREAD, TEST_REVERSED};
    const int64_t shape[] = {5, 37, 11};
    for (int v = 0; v < VARIANTS; v++) {
        for (int l = 0; l < 4; l++) {
            test_tensor dx = test_inout(3, shape, layouts[l], 5, 6.0f);
            const husk_dropout_params params =
                HUSK_DROPOUT_PARAMS(.p = 0.3f, .seed = 2, .accumulate = l % 2, .variant = variants[v]);
            husk_ref_dropout_backward op = {.params = &params, .dy = &dx.before, .before = &dx.before};
            if (test_ran(husk_dropout_backward(test_queue(), &params, &dx.tensor, &dx.tensor), name, variants[v])) {
                test_fetch(&dx);
                husk_ref_report report = {0};
                check(&op, &dx.array, &report);
                test_accept(name, variants[v], "in place", &report);
            }
            test_release(&dx);
        }
    }
}
END_TEST

START_TEST(special_values)
{
    static const double values[] = {NAN, INFINITY, -INFINITY, 0.0, -0.0, 1e30, -1e30, 3e38, 1e-30};
    enum { COUNT = sizeof(values) / sizeof(values[0]) };
    const int64_t shape[] = {7, COUNT};
    test_tensor dy = test_input(2, shape, TEST_PADDED, 7, 2.0f);
    test_tensor dx = test_inout(2, shape, TEST_PACKED, 8, 2.0f);
    for (int64_t i = 0; i < 7 * COUNT; i++)
        husk_ref_store(&dy.array, husk_ref_offset(&dy.array, (int64_t[]){i / COUNT, i % COUNT}), values[i % COUNT]);
    test_input_update(&dy);
    const husk_dropout_params params = HUSK_DROPOUT_PARAMS(.p = shares[_i], .seed = 5, .accumulate = _i % 2);
    run_all(&params, &dy, &dx);
    test_release(&dy);
    test_release(&dx);
}
END_TEST

START_TEST(scalar_and_nothing)
{
    static const int64_t empty[][2] = {{0, 7}, {7, 0}, {0, 0}};
    husk_dropout_params params = HUSK_DROPOUT_PARAMS(.p = 0.5f, .seed = 1);
    test_tensor dy = test_input(0, empty[0], TEST_PACKED, 9, 2.0f);
    test_tensor dx = test_output(HUSK_F32, 0, empty[0], TEST_PACKED);
    run_all(&params, &dy, &dx);
    test_release(&dy);
    test_release(&dx);
    for (int i = 0; i < 3; i++) {
        for (int v = 0; v < VARIANTS; v++) {
            params.variant = variants[v];
            dy = test_input(2, empty[i], TEST_PACKED, 9, 2.0f);
            dx = test_output(HUSK_F32, 2, empty[i], TEST_PACKED);
            test_ran(husk_dropout_backward(test_queue(), &params, &dy.tensor, &dx.tensor), name, variants[v]);
            test_untouched(&dx);
            test_release(&dy);
            test_release(&dx);
        }
    }
}
END_TEST

START_TEST(the_same_bits)
{
    const int64_t shape[] = {40, 1003};
    const husk_dropout_params params = HUSK_DROPOUT_PARAMS(.p = 0.3f, .seed = 6, .accumulate = HUSK_ACCUMULATE_INPUTS);
    test_tensor dy = test_input(2, shape, TEST_PACKED, 21, 2.0f);
    test_tensor dx = test_inout(2, shape, TEST_PADDED, 22, 2.0f);
    const size_t bytes = (size_t)dx.words * sizeof(uint32_t);
    uint32_t *first = malloc(bytes);
    ck_assert_ptr_nonnull(first);
    for (int run = 0; run < 10; run++) {
        test_restore(&dx);
        test_ok(husk_dropout_backward(test_queue(), &params, &dy.tensor, &dx.tensor));
        test_fetch(&dx);
        if (run == 0)
            memcpy(first, dx.current, bytes);
        ck_assert_msg(memcmp(first, dx.current, bytes) == 0, "run %d has other bits", run);
    }
    free(first);
    test_release(&dy);
    test_release(&dx);
}
END_TEST

START_TEST(the_check_sees_mistakes)
{
    const int64_t shape[] = {6, 50};
    const husk_dropout_params params = HUSK_DROPOUT_PARAMS(.p = 0.1f, .seed = 1);
    test_tensor dy = test_input(2, shape, TEST_PACKED, 15, 2.0f);
    test_tensor dx = test_output(HUSK_F32, 2, shape, TEST_PADDED);
    test_ok(husk_dropout_backward(test_queue(), &params, &dy.tensor, &dx.tensor));
    test_fetch(&dx);
    husk_ref_dropout_backward op = {.params = &params, .dy = &dy.array};
    husk_ref_function function = husk_ref_dropout_backward_function(&op);
    test_planted(&function, &dx.array, check, &op);
    test_planted_guards(&dx);
    test_release(&dy);
    test_release(&dx);
}
END_TEST

// ---- bad input ----

static void refuse(husk_status wanted, const char *argument, const husk_dropout_params *params, const husk_tensor *dy,
                   const husk_tensor *dx)
{
    test_refused(husk_dropout_backward(test_silent_queue(), params, dy, dx), wanted, argument);
}

START_TEST(bad_input)
{
    const int64_t shape[] = {4, 6}, other[] = {6, 4};
    husk_dropout_params params = HUSK_DROPOUT_PARAMS(.p = 0.5f);
    test_tensor dy = test_input(2, shape, TEST_PACKED, 19, 1.0f);
    test_tensor dx = test_output(HUSK_F32, 2, shape, TEST_PACKED);
    test_tensor turned = test_output(HUSK_F32, 2, other, TEST_PACKED);
    test_tensor whole = test_output(HUSK_I32, 2, shape, TEST_PACKED);
    test_tensor half = test_output(HUSK_F16, 2, shape, TEST_PACKED);
    refuse(HUSK_INVALID_ARGUMENT, "dy", &params, NULL, &dx.tensor);
    refuse(HUSK_INVALID_ARGUMENT, "dx", &params, &dy.tensor, NULL);
    refuse(HUSK_INVALID_ARGUMENT, "dx", &params, &dy.tensor, &turned.tensor);
    refuse(HUSK_UNSUPPORTED, "dx", &params, &dy.tensor, &whole.tensor);
    refuse(HUSK_UNSUPPORTED, "dx", &params, &dy.tensor, &half.tensor);
    refuse(HUSK_UNSUPPORTED, "dy", &params, &whole.tensor, &dx.tensor);
    husk_tensor bad = dy.tensor;
    bad.offset += 4; // its end is past the buffer's
    refuse(HUSK_INVALID_ARGUMENT, "dy", &params, &bad, &dx.tensor);
    bad = dx.tensor;
    bad.buffer = NULL;
    refuse(HUSK_INVALID_ARGUMENT, "dx", &params, &dy.tensor, &bad);
    bad = dx.tensor;
    bad.strides[0] = 3; // rows of 6 elements 3 apart
    bad.strides[1] = 1;
    refuse(HUSK_INVALID_ARGUMENT, "dx", &params, &dy.tensor, &bad);
    bad = dx.tensor;
    bad.offset += 2; // in place, but not quite
    refuse(HUSK_INVALID_ARGUMENT, "dx", &params, &dx.tensor, &bad);
    params = HUSK_DROPOUT_PARAMS(.p = NAN);
    refuse(HUSK_INVALID_ARGUMENT, "p is", &params, &dy.tensor, &dx.tensor);
    params = HUSK_DROPOUT_PARAMS(.accumulate = 4);
    refuse(HUSK_INVALID_ARGUMENT, "accumulate", &params, &dy.tensor, &dx.tensor);
    params = HUSK_DROPOUT_PARAMS(.variant = "gridd");
    refuse(HUSK_INVALID_ARGUMENT, "gridd", &params, &dy.tensor, &dx.tensor);
    params = HUSK_DROPOUT_PARAMS(.p = 0.5f);
    params.size = sizeof(params) + 8;
    refuse(HUSK_INVALID_ARGUMENT, "params", &params, &dy.tensor, &dx.tensor);
    ck_assert_int_eq(husk_dropout_backward(NULL, NULL, &dy.tensor, &dx.tensor), HUSK_INVALID_ARGUMENT);
    test_untouched(&dx);
    test_release(&dy);
    test_release(&dx);
    test_release(&turned);
    test_release(&whole);
    test_release(&half);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("dropout_backward");
    TCase *tests = tcase_create("dropout_backward");
    tcase_add_loop_test(tests, shares_and_layouts, 0, 5);
    suite_add_tcase(suite, tests);
    if (test_tier_is("dtypes"))
        return test_main(suite);
    tcase_add_loop_test(tests, differences, 0, 4); // all dropped: nothing to see
    tcase_add_loop_test(tests, sizes_around_the_shares, 0, 13);
    tcase_add_test(tests, the_mask_is_forwards);
    tcase_add_test(tests, in_place);
    tcase_add_loop_test(tests, special_values, 0, 5);
    tcase_add_test(tests, scalar_and_nothing);
    tcase_add_test(tests, the_same_bits);
    tcase_add_test(tests, the_check_sees_mistakes);
    tcase_add_test(tests, bad_input);
    return test_main(suite);
}
