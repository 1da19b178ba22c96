// SPDX-License-Identifier: MIT
// ctest: tiers=default,long,dtypes timeout=60
// Dropout: every variant and layout against the reference; the same mask everywhere; statistics; bad input.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ref/elementwise/dropout.h"
#include "support/support.h"

static const char *const variants[] = {NULL, "vector", "grid:64"};
enum { VARIANTS = sizeof(variants) / sizeof(variants[0]) };
static const char name[] = "dropout";

static void check(void *user, const husk_ref_array *y, husk_ref_report *report)
{
    husk_ref_function function = husk_ref_dropout_function(user);
    husk_ref_check(&function, 1, y, report);
}

static void run_all(const husk_dropout_params *wanted, test_tensor *x, test_tensor *y)
{
    husk_dropout_params params = *wanted;
    husk_ref_dropout op = {.params = &params, .x = &x->array};
    char text[160];
    snprintf(text, sizeof(text), "p=%g seed=%llu offset=%llu rank=%d first=%lld", (double)params.p,
             (unsigned long long)params.seed, (unsigned long long)params.offset, (int)x->array.rank,
             x->array.rank ? (long long)x->array.shape[0] : 1LL);
    for (int v = 0; v < VARIANTS; v++) {
        params.variant = variants[v];
        test_restore(y);
        if (!test_ran(husk_dropout(test_queue(), &params, &x->tensor, &y->tensor), name, variants[v]))
            continue;
        test_fetch(y);
        husk_ref_report report = {0};
        check(&op, &y->array, &report);
        test_accept(name, variants[v], text, &report);
    }
}

// In the tier "dtypes" the others in turns.
START_TEST(shares_and_layouts)
{
    static const float shares[] = {0.0f, 0.1f, 0.5f, 0.9f, 0.999999f, 1.0f};
    husk_ref_random random = {.seed = 41 + (uint64_t)_i};
    const int64_t rounds = test_is_long() ? 60 : 12;
    const bool is_narrow = test_tier_is("dtypes");
    for (int64_t round = 0; round < rounds; round++) {
        int64_t shape[HUSK_MAX_RANK];
        const int32_t rank = (int32_t)TEST_PICK(&random, 1, 1, 2, 3, 4, 5, 8);
        for (int32_t d = 0; d < rank; d++)
            shape[d] = d + 1 < rank ? test_pick_size(&random, 4, rank > 4 ? 3 : 9)
                                    : test_pick_size(&random, 64, rank == 1 ? 5000 : 150);
        const husk_dropout_params params =
            HUSK_DROPOUT_PARAMS(.p = shares[_i], .seed = (uint64_t)husk_ref_random_below(&random, INT64_MAX),
                                .offset = test_one_in(&random, 2)
                                              ? (uint64_t)round
                                              : (uint64_t)husk_ref_random_below(&random, INT64_MAX));
        const test_layout layout = test_pick_layout(&random);
        const husk_dtype dtype = is_narrow ? test_dtype(round) : HUSK_F32;
        test_tensor x = test_input_of(dtype, rank, shape, layout, (uint64_t)round, 8.0f);
        test_tensor y = test_output(dtype, rank, shape, test_one_in(&random, 2) ? layout : test_pick_layout(&random));
        run_all(&params, &x, &y);
        test_release(&x);
        test_release(&y);
    }
}
END_TEST

// Blocks, groups of blocks, shares of work-groups and tails of vectors end somewhere: sizes around them.
START_TEST(sizes_around_the_shares)
{
    static const int64_t sizes[] = {1,  2,  3,   4,   5,     15,    16,    17,     63,
                                    64, 65, 255, 257, 16383, 16384, 16385, 131071, 300007};
    const int64_t shape[] = {sizes[_i]};
    const husk_dropout_params params = HUSK_DROPOUT_PARAMS(.p = 0.25f, .seed = 9, .offset = UINT64_C(1) << 40);
    test_tensor x = test_input(1, shape, TEST_PACKED, 3, 4.0f);
    test_tensor y = test_output(HUSK_F32, 1, shape, TEST_PACKED);
    run_all(&params, &x, &y);
    test_release(&x);
    test_release(&y);
}
END_TEST

// Larger than the caches of most machines: stored past them.
START_TEST(large)
{
    const int64_t shape[] = {1, 5000017};
    const husk_dropout_params params = HUSK_DROPOUT_PARAMS(.p = 0.1f, .seed = 17);
    test_tensor x = test_input(2, shape, TEST_PACKED, 4, 4.0f);
    test_tensor y = test_output(HUSK_F32, 2, shape, TEST_PACKED);
    husk_ref_dropout op = {.params = &params, .x = &x.array};
    run_all(&params, &x, &y);
    // From a buffer's start on, where whole vectors are aligned.
    husk_buffer *buffer = NULL;
    husk_error error;
    float *values = malloc(5000017 * sizeof(float));
    ck_assert_ptr_nonnull(values);
    test_ok_error(husk_buffer_create(test_context(), 5000017 * sizeof(float), &buffer, &error), &error);
    const husk_tensor to = husk_tensor_make(buffer, HUSK_F32, 2, shape);
    test_ok(husk_dropout(test_queue(), &params, &x.tensor, &to));
    test_ok(husk_buffer_read(test_queue(), buffer, 0, 5000017 * sizeof(float), values));
    const husk_ref_array array = husk_ref_array_make(values, HUSK_F32, 2, shape);
    husk_ref_report report = {0};
    check(&op, &array, &report);
    test_accept(name, NULL, "large, aligned", &report);
    free(values);
    husk_buffer_release(buffer);
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
            const husk_dropout_params params = HUSK_DROPOUT_PARAMS(.p = 0.3f, .seed = 2, .variant = variants[v]);
            husk_ref_dropout op = {.params = &params, .x = &y.before};
            if (test_ran(husk_dropout(test_queue(), &params, &y.tensor, &y.tensor), name, variants[v])) {
                test_fetch(&y);
                husk_ref_report report = {0};
                check(&op, &y.array, &report);
                test_accept(name, variants[v], "in place", &report);
            }
            test_release(&y);
        }
    }
}
END_TEST

START_TEST(special_values)
{
    static const double values[] = {NAN, INFINITY, -INFINITY, 0.0, -0.0, 1e30, -1e30, 3e38, 1e-30};
    enum { COUNT = sizeof(values) / sizeof(values[0]) };
    static const float shares[] = {0.0f, 0.5f, 1.0f};
    const int64_t shape[] = {7, COUNT};
    test_tensor x = test_input(2, shape, TEST_PADDED, 7, 2.0f);
    test_tensor y = test_output(HUSK_F32, 2, shape, TEST_PACKED);
    for (int64_t i = 0; i < 7 * COUNT; i++)
        husk_ref_store(&x.array, husk_ref_offset(&x.array, (int64_t[]){i / COUNT, i % COUNT}), values[i % COUNT]);
    test_input_update(&x);
    const husk_dropout_params params = HUSK_DROPOUT_PARAMS(.p = shares[_i], .seed = 5);
    run_all(&params, &x, &y);
    test_release(&x);
    test_release(&y);
}
END_TEST

START_TEST(scalar_and_nothing)
{
    static const int64_t empty[][2] = {{0, 7}, {7, 0}, {0, 0}};
    husk_dropout_params params = HUSK_DROPOUT_PARAMS(.p = 0.5f);
    for (uint64_t seed = 0; seed < 4; seed++) {
        test_tensor x = test_input(0, empty[0], TEST_PACKED, 9, 2.0f);
        test_tensor y = test_output(HUSK_F32, 0, empty[0], TEST_PACKED);
        params.seed = seed;
        run_all(&params, &x, &y);
        test_release(&x);
        test_release(&y);
    }
    for (int i = 0; i < 3; i++) {
        for (int v = 0; v < VARIANTS; v++) {
            params.variant = variants[v];
            test_tensor x = test_input(2, empty[i], TEST_PACKED, 9, 2.0f);
            test_tensor y = test_output(HUSK_F32, 2, empty[i], TEST_PACKED);
            test_ran(husk_dropout(test_queue(), &params, &x.tensor, &y.tensor), name, variants[v]);
            test_untouched(&y);
            test_release(&x);
            test_release(&y);
        }
    }
}
END_TEST

// ---- the mask ----

enum { ROWS = 24, COLUMNS = 1013 };

// Into kept: 1 where a call of ones in this variant and layout leaves something; scale: what.
static bool fetch_mask(const husk_dropout_params *params, test_layout layout, double values[ROWS * COLUMNS])
{
    const int64_t shape[] = {ROWS, COLUMNS};
    test_tensor x = test_input(2, shape, TEST_PACKED, 1, 1.0f);
    test_tensor y = test_output(HUSK_F32, 2, shape, layout);
    for (int64_t i = 0; i < ROWS * COLUMNS; i++)
        husk_ref_store(&x.array, i, 3.0);
    test_input_update(&x);
    const bool ran = test_ran(husk_dropout(test_queue(), params, &x.tensor, &y.tensor), name, params->variant);
    if (ran)
        test_fetch(&y);
    for (int64_t i = 0; ran && i < ROWS * COLUMNS; i++)
        values[i] = husk_ref_load(&y.array, husk_ref_offset(&y.array, (int64_t[]){i / COLUMNS, i % COLUMNS}));
    test_release(&x);
    test_release(&y);
    return ran;
}

// Variants for CPUs and for GPUs and all layouts: the same bits.
START_TEST(the_same_mask)
{
    static double first[ROWS * COLUMNS], other[ROWS * COLUMNS];
    husk_dropout_params params = HUSK_DROPOUT_PARAMS(.p = 0.3f, .seed = UINT64_C(0x9876543210fedcba), .offset = 3);
    ck_assert(fetch_mask(&params, TEST_PACKED, first));
    for (int v = 0; v < VARIANTS; v++)
        for (int layout = 0; layout < TEST_LAYOUTS; layout++) {
            params.variant = variants[v];
            if (fetch_mask(&params, (test_layout)layout, other))
                ck_assert_msg(memcmp(first, other, sizeof(first)) == 0, "%s has another mask in layout %d",
                              variants[v] ? variants[v] : "the default", layout);
        }
    for (int run = 0; run < 10; run++) {
        params.variant = NULL;
        ck_assert(fetch_mask(&params, TEST_PACKED, other));
        ck_assert_mem_eq(first, other, sizeof(first));
    }
}
END_TEST

// Kept elements of N are binomial: mean N (1 - p), deviation sqrt(N p (1 - p)); of two masks that are independent
// (1 - p)^2 of the elements are kept by both. Six deviations: one in 5e8 right masks fails, and these are fixed.
START_TEST(statistics)
{
    static double one[ROWS * COLUMNS], two[ROWS * COLUMNS];
    static const float shares[] = {0.1f, 0.5f, 0.8f};
    const double count = ROWS * COLUMNS, p = shares[_i], both = (1 - p) * (1 - p);
    husk_dropout_params params = HUSK_DROPOUT_PARAMS(.p = shares[_i], .seed = 77, .offset = 1);
    const husk_dropout_params others[] = {HUSK_DROPOUT_PARAMS(.p = shares[_i], .seed = 77, .offset = 2),
                                          HUSK_DROPOUT_PARAMS(.p = shares[_i], .seed = 78, .offset = 1)};
    ck_assert(fetch_mask(&params, TEST_PACKED, one));
    for (int o = 0; o < 2; o++) {
        ck_assert(fetch_mask(&others[o], TEST_PACKED, two));
        double kept = 0, kept_twice = 0, kept_next = 0, sum = 0;
        for (int i = 0; i < ROWS * COLUMNS; i++) {
            kept += one[i] != 0;
            sum += one[i];
            kept_twice += one[i] != 0 && two[i] != 0;
            kept_next += one[i] != 0 && one[(i + 1) % (ROWS * COLUMNS)] != 0; // neighbours are independent, too
        }
        const double mean = sum / count, deviation = sqrt(count * p * (1 - p));
        ck_assert_msg(fabs(kept - count * (1 - p)) < 6 * deviation, "p=%g: %g of %g kept", p, kept, count);
        ck_assert_msg(fabs(mean - 3) < 6 * 3 * deviation / (count * (1 - p)), "p=%g: threes have the mean %g", p, mean);
        ck_assert_msg(fabs(kept_twice - count * both) < 6 * sqrt(count * both * (1 - both)),
                      "p=%g: %g of %g kept by both masks", p, kept_twice, count);
        // Sums of neighbours' products are correlated: at most three times the variance.
        ck_assert_msg(fabs(kept_next - count * both) < 6 * sqrt(3 * count * both * (1 - both)),
                      "p=%g: %g of %g pairs kept", p, kept_next, count);
    }
}
END_TEST

START_TEST(the_check_sees_mistakes)
{
    const int64_t shape[] = {6, 50};
    const husk_dropout_params params = HUSK_DROPOUT_PARAMS(.p = 0.1f, .seed = 1);
    test_tensor x = test_input(2, shape, TEST_PACKED, 15, 2.0f);
    test_tensor y = test_output(HUSK_F32, 2, shape, TEST_PADDED);
    test_ok(husk_dropout(test_queue(), &params, &x.tensor, &y.tensor));
    test_fetch(&y);
    husk_ref_dropout op = {.params = &params, .x = &x.array};
    husk_ref_function function = husk_ref_dropout_function(&op);
    test_planted(&function, &y.array, check, &op);
    test_planted_guards(&y);
    // Another seed's mask is seen.
    husk_dropout_params other = params;
    other.seed = 2;
    op.params = &other;
    husk_ref_report report = {0};
    check(&op, &y.array, &report);
    ck_assert(!husk_ref_report_pass(&report));
    test_release(&x);
    test_release(&y);
}
END_TEST

// ---- bad input ----

static void refuse(husk_status wanted, const char *argument, const husk_dropout_params *params, const husk_tensor *x,
                   const husk_tensor *y)
{
    test_refused(husk_dropout(test_silent_queue(), params, x, y), wanted, argument);
}

START_TEST(bad_params)
{
    static const float bad[] = {-0.1f, 1.1f, NAN, INFINITY};
    const int64_t shape[] = {4, 6};
    test_tensor x = test_input(2, shape, TEST_PACKED, 17, 1.0f);
    test_tensor y = test_output(HUSK_F32, 2, shape, TEST_PACKED);
    husk_dropout_params params;
    for (int i = 0; i < 4; i++) {
        params = HUSK_DROPOUT_PARAMS(.p = bad[i]);
        refuse(HUSK_INVALID_ARGUMENT, "p is", &params, &x.tensor, &y.tensor);
    }
    params = HUSK_DROPOUT_PARAMS(.accumulate = 4);
    refuse(HUSK_INVALID_ARGUMENT, "accumulate", &params, &x.tensor, &y.tensor);
    params = HUSK_DROPOUT_PARAMS(.variant = "vectorr");
    refuse(HUSK_INVALID_ARGUMENT, "vectorr", &params, &x.tensor, &y.tensor);
    params = HUSK_DROPOUT_PARAMS(.p = 0.5f);
    params.size = sizeof(params) + 8;
    refuse(HUSK_INVALID_ARGUMENT, "params", &params, &x.tensor, &y.tensor);
    ck_assert_int_eq(husk_dropout(NULL, NULL, &x.tensor, &y.tensor), HUSK_INVALID_ARGUMENT);
    test_untouched(&y);
    test_release(&x);
    test_release(&y);
}
END_TEST

START_TEST(bad_tensors)
{
    const int64_t shape[] = {4, 6}, other[] = {6, 4};
    const husk_dropout_params params = HUSK_DROPOUT_PARAMS(.p = 0.5f);
    test_tensor x = test_input(2, shape, TEST_PACKED, 19, 1.0f);
    test_tensor y = test_output(HUSK_F32, 2, shape, TEST_PACKED);
    test_tensor turned = test_output(HUSK_F32, 2, other, TEST_PACKED);
    test_tensor whole = test_output(HUSK_I32, 2, shape, TEST_PACKED);
    test_tensor half = test_output(HUSK_F16, 2, shape, TEST_PACKED);
    refuse(HUSK_INVALID_ARGUMENT, "x", &params, NULL, &y.tensor);
    refuse(HUSK_INVALID_ARGUMENT, "y", &params, &x.tensor, NULL);
    refuse(HUSK_INVALID_ARGUMENT, "y", &params, &x.tensor, &turned.tensor);
    refuse(HUSK_UNSUPPORTED, "y", &params, &x.tensor, &whole.tensor);
    refuse(HUSK_UNSUPPORTED, "y", &params, &x.tensor, &half.tensor);
    refuse(HUSK_UNSUPPORTED, "x", &params, &whole.tensor, &y.tensor);
    husk_tensor bad = x.tensor;
    bad.rank = 9;
    refuse(HUSK_INVALID_ARGUMENT, "x", &params, &bad, &y.tensor);
    bad = x.tensor;
    bad.offset += 4; // its end is past the buffer's
    refuse(HUSK_INVALID_ARGUMENT, "x", &params, &bad, &y.tensor);
    bad = y.tensor;
    bad.buffer = NULL;
    refuse(HUSK_INVALID_ARGUMENT, "y", &params, &x.tensor, &bad);
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
    test_release(&half);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("dropout");
    TCase *tests = tcase_create("dropout");
    tcase_add_loop_test(tests, shares_and_layouts, 0, 6);
    suite_add_tcase(suite, tests);
    if (test_tier_is("dtypes"))
        return test_main(suite);
    tcase_add_loop_test(tests, sizes_around_the_shares, 0, 18);
    tcase_add_test(tests, large);
    tcase_add_test(tests, in_place);
    tcase_add_loop_test(tests, special_values, 0, 3);
    tcase_add_test(tests, scalar_and_nothing);
    tcase_add_test(tests, the_same_mask);
    tcase_add_loop_test(tests, statistics, 0, 3);
    tcase_add_test(tests, the_check_sees_mistakes);
    tcase_add_test(tests, bad_params);
    tcase_add_test(tests, bad_tensors);
    return test_main(suite);
}
