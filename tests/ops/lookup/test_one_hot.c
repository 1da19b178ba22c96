// SPDX-License-Identifier: MIT
// ctest: tiers=default,long,dtypes timeout=60
// One-hot vectors: every variant and layout against the reference; labels that are no class; bad input.
#include <math.h>
#include <stdio.h>

#include "ref/lookup/one_hot.h"
#include "support/support.h"

static const char *const variants[] = {NULL, "vector", "grid:64"};
enum { VARIANTS = sizeof(variants) / sizeof(variants[0]) };
static const char name[] = "one_hot";

static void check(void *user, const husk_ref_array *y, husk_ref_report *report)
{
    husk_ref_function function = husk_ref_one_hot_function(user);
    husk_ref_check(&function, 1, y, report);
}

// Of this dtype, in [first, first + limit).
static test_tensor make_labels(husk_dtype dtype, int32_t rank, const int64_t *shape, test_layout layout, int64_t first,
                               int64_t limit, uint64_t seed)
{
    test_tensor made = test_input_of(dtype, rank, shape, layout, seed, 1.0f);
    husk_ref_random random = {.seed = seed};
    int64_t index[HUSK_MAX_RANK] = {0};
    if (husk_ref_array_count(&made.array) == 0)
        return made;
    do
        husk_ref_store(&made.array, husk_ref_offset(&made.array, index),
                       (double)(first + husk_ref_random_below(&random, limit)));
    while (husk_ref_index_next(rank, shape, index));
    test_input_update(&made);
    return made;
}

static void run_all(const husk_one_hot_params *wanted, test_tensor *labels, test_tensor *y)
{
    husk_one_hot_params params = *wanted;
    const int64_t classes = y->array.shape[labels->array.rank];
    husk_ref_one_hot op = {.params = &params, .labels = &labels->array, .classes = classes};
    char text[160];
    snprintf(text, sizeof(text), "classes=%lld rank=%d %s on=%g off=%g", (long long)classes, (int)labels->array.rank,
             husk_dtype_name(labels->array.dtype), (double)params.on, (double)params.off);
    for (int v = 0; v < VARIANTS; v++) {
        params.variant = variants[v];
        test_restore(y);
        if (!test_ran(husk_one_hot(test_queue(), &params, &labels->tensor, &y->tensor), name, variants[v]))
            continue;
        test_fetch(y);
        husk_ref_report report = {0};
        check(&op, &y->array, &report);
        test_accept(name, variants[v], text, &report);
    }
}

// A fifth of all has labels that are no class. In the tier "dtypes" the others in turns.
START_TEST(shapes_and_layouts)
{
    husk_ref_random random = {.seed = 81 + (uint64_t)_i};
    const int64_t rounds = test_is_long() ? 80 : 20;
    const bool is_narrow = test_tier_is("dtypes");
    for (int64_t round = 0; round < rounds; round++) {
        int64_t shape[HUSK_MAX_RANK];
        const int32_t rank = (int32_t)TEST_PICK(&random, 0, 1, 1, 2, 3, 4, 7);
        for (int32_t d = 0; d < rank; d++)
            shape[d] = test_pick_size(&random, 4, rank > 3 ? 3 : rank > 1 ? 9 : 100);
        const int64_t classes = shape[rank] = test_pick_size(&random, 16, 200);
        const husk_dtype dtype = is_narrow ? test_dtype(round) : HUSK_F32;
        const bool is_wild = test_one_in(&random, 5);
        test_tensor labels =
            make_labels(test_one_in(&random, 2) ? HUSK_I64 : HUSK_I32, rank, shape, test_pick_layout(&random),
                        is_wild ? -2 : 0, classes + (is_wild ? 4 : 0), (uint64_t)round + 1);
        test_tensor y = test_output(dtype, rank + 1, shape, test_pick_layout(&random));
        husk_one_hot_params params = HUSK_MAKE(husk_one_hot_params, .on = 7.0f, .off = 8.0f); // which do not count
        if (test_one_in(&random, 2))
            params = HUSK_MAKE(husk_one_hot_params, .on = test_one_in(&random, 3) ? 0.0f : 0.9f,
                               .off = test_one_in(&random, 3) ? -1.0f : 0.01f);
        run_all(&params, &labels, &y);
        test_release(&labels);
        test_release(&y);
    }
}
END_TEST

// Larger than the caches of most machines, and rows longer than a work-group takes.
START_TEST(large)
{
    static const int64_t sizes[][2] = {{20011, 517}, {3, 200003}, {300007, 10}}; // labels, classes
    const husk_one_hot_params params = HUSK_MAKE(husk_one_hot_params, .on = 0.9f, .off = 0.1f);
    test_tensor labels = make_labels(HUSK_I32, 1, sizes[_i], TEST_PACKED, 0, sizes[_i][1], 2);
    test_tensor y = test_output(HUSK_F32, 2, sizes[_i], TEST_PACKED);
    run_all(&params, &labels, &y);
    test_release(&labels);
    test_release(&y);
}
END_TEST

START_TEST(labels_that_are_no_class)
{
    static const int64_t wild[] = {0,         4,         -1,           5, INT32_MAX, INT32_MIN, INT64_MAX,
                                   INT64_MIN, 1LL << 32, -(1LL << 32), 3, 6};
    const int64_t shape[] = {12, 5};
    const husk_one_hot_params params = HUSK_MAKE(husk_one_hot_params, .on = INFINITY, .off = NAN);
    test_tensor y = test_output(HUSK_F32, 2, shape, TEST_PADDED);
    for (int is_long = 0; is_long < 2; is_long++) {
        test_tensor labels = make_labels(is_long ? HUSK_I64 : HUSK_I32, 1, shape, TEST_PACKED, 0, 5, 2);
        for (int i = 0; i < 12; i++)
            if (is_long)
                ((int64_t *)labels.array.data)[i] = wild[i];
            else if (wild[i] >= INT32_MIN && wild[i] <= INT32_MAX)
                ((int32_t *)labels.array.data)[i] = (int32_t)wild[i];
        test_input_update(&labels);
        run_all(&params, &labels, &y);
        test_release(&labels);
    }
    test_release(&y);
}
END_TEST

START_TEST(nothing)
{
    static const int64_t sizes[][2] = {{0, 7}, {4, 0}}; // labels, classes
    husk_one_hot_params params = husk_one_hot_defaults();
    test_tensor labels = make_labels(HUSK_I64, 1, sizes[_i], TEST_PACKED, 0, 3, 2);
    test_tensor y = test_output(HUSK_F32, 2, sizes[_i], TEST_PACKED);
    for (int v = 0; v < VARIANTS; v++) {
        params.variant = variants[v];
        test_ran(husk_one_hot(test_queue(), &params, &labels.tensor, &y.tensor), name, variants[v]);
        test_untouched(&y);
    }
    test_release(&labels);
    test_release(&y);
}
END_TEST

START_TEST(the_check_sees_mistakes)
{
    const int64_t shape[] = {6, 20};
    const husk_one_hot_params params = HUSK_MAKE(husk_one_hot_params, .on = 0.9f, .off = 0.1f);
    test_tensor labels = make_labels(HUSK_I32, 1, shape, TEST_PACKED, 0, 20, 2);
    test_tensor y = test_output(HUSK_F32, 2, shape, TEST_PADDED);
    test_ok(husk_one_hot(test_queue(), &params, &labels.tensor, &y.tensor));
    test_fetch(&y);
    husk_ref_one_hot op = {.params = &params, .labels = &labels.array, .classes = 20};
    husk_ref_function function = husk_ref_one_hot_function(&op);
    test_planted(&function, &y.array, check, &op);
    test_planted_guards(&y);
    test_release(&labels);
    test_release(&y);
}
END_TEST

// ---- bad input ----

static void refuse(husk_status wanted, const char *argument, const husk_one_hot_params *params,
                   const husk_tensor *labels, const husk_tensor *y)
{
    test_refused(husk_one_hot(test_silent_queue(), params, labels, y), wanted, argument);
}

START_TEST(bad_input)
{
    const int64_t shape[] = {4, 6}, other[] = {6, 4}, high[] = {1, 1, 1, 1, 1, 1, 1, 6};
    husk_one_hot_params params = husk_one_hot_defaults();
    test_tensor l = make_labels(HUSK_I32, 1, shape, TEST_PACKED, 0, 6, 2);
    test_tensor l8 = make_labels(HUSK_I32, 8, high, TEST_PACKED, 0, 6, 2);
    test_tensor y = test_output(HUSK_F32, 2, shape, TEST_PACKED);
    test_tensor turned = test_output(HUSK_F32, 2, other, TEST_PACKED);
    const husk_tensor *labels = &l.tensor;
    refuse(HUSK_INVALID_ARGUMENT, "labels", &params, NULL, &y.tensor);
    refuse(HUSK_INVALID_ARGUMENT, "y", &params, labels, NULL);
    refuse(HUSK_UNSUPPORTED, "labels", &params, &turned.tensor, &y.tensor);
    refuse(HUSK_UNSUPPORTED, "y", &params, labels, labels);
    refuse(HUSK_INVALID_ARGUMENT, "y", &params, labels, &turned.tensor);
    refuse(HUSK_INVALID_ARGUMENT, "labels", &params, &l8.tensor, &y.tensor);
    husk_tensor bad = y.tensor;
    bad.rank = 1;
    refuse(HUSK_INVALID_ARGUMENT, "y", &params, labels, &bad);
    bad = *labels;
    bad.offset += 1; // its end is past the buffer's
    refuse(HUSK_INVALID_ARGUMENT, "labels", &params, &bad, &y.tensor);
    bad = y.tensor;
    bad.buffer = NULL;
    refuse(HUSK_INVALID_ARGUMENT, "y", &params, labels, &bad);
    bad = y.tensor;
    bad.strides[0] = 3; // rows of 6 elements 3 apart
    bad.strides[1] = 1;
    refuse(HUSK_INVALID_ARGUMENT, "y", &params, labels, &bad);
    bad = *labels;
    bad.buffer = y.tensor.buffer; // y lies over the labels
    bad.offset = y.tensor.offset;
    refuse(HUSK_INVALID_ARGUMENT, "y", &params, &bad, &y.tensor);
    params = HUSK_MAKE(husk_one_hot_params, .variant = "vectorr", .on = 1);
    refuse(HUSK_INVALID_ARGUMENT, "vectorr", &params, labels, &y.tensor);
    params = husk_one_hot_defaults();
    params.size = sizeof(params) + 8;
    refuse(HUSK_INVALID_ARGUMENT, "params", &params, labels, &y.tensor);
    ck_assert_int_eq(husk_one_hot(NULL, NULL, labels, &y.tensor), HUSK_INVALID_ARGUMENT);
    test_untouched(&y);
    test_release_all();
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("one_hot");
    TCase *tests = tcase_create("one_hot");
    tcase_add_loop_test(tests, shapes_and_layouts, 0, 3);
    suite_add_tcase(suite, tests);
    if (test_tier_is("dtypes"))
        return test_main(suite);
    tcase_add_loop_test(tests, large, 0, 3);
    tcase_add_test(tests, labels_that_are_no_class);
    tcase_add_loop_test(tests, nothing, 0, 2);
    tcase_add_test(tests, the_check_sees_mistakes);
    tcase_add_test(tests, bad_input);
    return test_main(suite);
}
