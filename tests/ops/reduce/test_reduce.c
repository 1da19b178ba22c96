// SPDX-License-Identifier: MIT
// ctest: tiers=default,long,dtypes,valgrind timeout=90
// Reductions: every kind, set of axes, variant and layout against the reference; special values; bad input.
#include "ref/reduce/reduce.h"
#include "support/support.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static const char *const all_variants[] = {
    NULL, "rows", "columns", "workgroup:1x64", "workgroup:16x4", "workgroup:1x256", "workgroup:32x8"};
enum { MENU = 7, QUICK = 5, KINDS = HUSK_REDUCE_LOG_SUM_EXP + 1 };

// The large work-groups are two programs more: the long tier's.
static int variant_count(void)
{
    return test_is_long() ? MENU : QUICK;
}

static bool is_position(husk_reduce_kind kind)
{
    return kind == HUSK_REDUCE_ARGMAX || kind == HUSK_REDUCE_ARGMIN;
}

static void check(void *user, const husk_ref_array *y, husk_ref_report *report)
{
    husk_ref_function function = husk_ref_reduce_function(user);
    husk_ref_check(&function, 1, y, report);
}

static void describe(const husk_ref_reduce *op, char *text, size_t capacity)
{
    char axes[TEST_AXES_TEXT];
    size_t used = (size_t)snprintf(text, capacity, "%s axes=%s%s shape", husk_reduce_kind_name(op->params->kind),
                                   test_axes_text(op->params, axes), op->keep ? " keep" : "");
    for (int32_t d = 0; d < op->x->rank && used < capacity; d++)
        used += (size_t)snprintf(text + used, capacity - used, " %lld", (long long)op->x->shape[d]);
    for (int32_t d = 0; d < op->x->rank && used < capacity; d++)
        used += (size_t)snprintf(text + used, capacity - used, " /%lld", (long long)op->x->strides[d]);
}

// x reduced by every variant, into an output of this layout.
static void run_all(const husk_reduce_params *wanted, test_tensor *x, bool keep, test_layout layout)
{
    husk_reduce_params params = *wanted;
    husk_ref_reduce op = {.params = &params, .x = &x->array, .keep = keep};
    husk_ref_function function = husk_ref_reduce_function(&op);
    husk_dtype dtype = !is_position(params.kind) ? x->tensor.dtype : keep ? HUSK_I64 : HUSK_I32;
    test_tensor y = test_output(dtype, function.rank, function.shape, layout);
    husk_ref_expected expected;
    char text[400];
    describe(&op, text, sizeof(text));
    ck_assert(husk_ref_expect(&function, 1, &expected));
    for (int v = 0; v < variant_count(); v++) {
        params.variant = all_variants[v];
        test_restore(&y);
        if (!test_ran(husk_reduce(test_queue(), &params, &x->tensor, &y.tensor), "reduce", params.variant))
            continue;
        test_fetch(&y);
        husk_ref_report report = {0};
        husk_ref_compare(&expected, &y.array, &report);
        test_accept("reduce", params.variant, text, &report);
    }
    husk_ref_expected_release(&expected);
    test_release(&y);
}

// Products of many elements need factors near one.
static void near_one(test_tensor *x)
{
    int64_t index[HUSK_MAX_RANK] = {0};
    if (husk_ref_array_count(&x->array) == 0)
        return;
    do {
        int64_t offset = husk_ref_offset(&x->array, index);
        double v = husk_ref_load(&x->array, offset);
        husk_ref_store(&x->array, offset, (v < 0 ? -1.0 : 1.0) * (1.0 + 0.01 * v));
    } while (husk_ref_index_next(x->array.rank, x->array.shape, index));
    test_input_update(x);
}

static husk_dtype storage = HUSK_F32;

static test_tensor make_input(husk_reduce_kind kind, int32_t rank, const int64_t *shape, test_layout layout,
                              uint64_t seed, bool is_amid_nan)
{
    test_tensor x = is_amid_nan && storage == HUSK_F32 ? test_input_amid_nan(rank, shape, layout, seed, 2.0f)
                                                       : test_input_of(storage, rank, shape, layout, seed, 2.0f);
    if (kind == HUSK_REDUCE_PRODUCT)
        near_one(&x);
    return x;
}

static void axes_and_layouts_of(int i)
{
    husk_ref_random random = {.seed = 300 + (uint64_t)i};
    const int64_t rounds = test_is_long() ? 12 : 2;
    const husk_reduce_kind kind = (husk_reduce_kind)(i % KINDS);
    for (int64_t round = 0; round < rounds; round++) {
        int64_t shape[HUSK_MAX_RANK];
        const int32_t rank = (int32_t)TEST_PICK(&random, 1, 2, 2, 3, 3, 4, 4, 5, 8);
        for (int32_t d = 0; d < rank; d++)
            shape[d] = test_pick_size(&random, 16,
                                      rank == 1   ? 5000
                                      : rank == 2 ? 300
                                      : rank == 3 ? 40
                                      : rank < 6  ? 9
                                                  : 3);
        husk_reduce_params params = HUSK_REDUCE_PARAMS(.kind = kind);
        test_reduce_axes(&params, (uint32_t)husk_ref_random_below(&random, (int64_t)1 << rank), rank);
        test_tensor x =
            make_input(kind, rank, shape, test_pick_layout(&random), (uint64_t)round, test_one_in(&random, 2));
        run_all(&params, &x, test_one_in(&random, 2), test_pick_layout(&random));
        test_release(&x);
    }
}

START_TEST(axes_and_layouts)
{
    axes_and_layouts_of(_i);
}
END_TEST

START_TEST(narrow_axes_and_layouts)
{
    storage = test_dtype(_i / KINDS);
    axes_and_layouts_of(_i);
    storage = HUSK_F32;
}
END_TEST

// Vectors, gathered blocks, strips and segments end somewhere; an axis between others, and channels of images.
static const int64_t ends[][4] = {
    // outer, axis, inner, axes
    {3, 1, 1, 1},      {3, 15, 1, 2},    {2, 17, 1, 2},    {3, 1023, 1, 2},  {2, 1025, 1, 2},   {1, 4099, 1, 2},
    {200, 3, 1, 2},    {3, 255, 33, 2},  {2, 64, 511, 2},  {2, 65, 513, 2},  {1, 63, 1030, 2},  {7, 5, 31, 5},
    {3, 40, 257, 1},   {4, 6, 49, 5},    {2, 3, 300, 5},   {70, 70, 2, 6},   {1, 200000, 1, 2}, {1, 131072, 1, 2},
    {3, 131073, 1, 2}, {1, 70001, 3, 2}, {1, 6000, 40, 2}, {2, 9000, 20, 6}, {9, 3, 17001, 5},  {65, 2100, 1, 2},
};
enum { ENDS = sizeof(ends) / sizeof(ends[0]) };

START_TEST(extents)
{
    const int64_t *e = ends[_i];
    const bool is_large = e[0] * e[1] * e[2] > 30000;
    for (int kind = 0; kind < KINDS; kind++) {
        if (is_large && !test_is_long() && kind % 3 != _i % 3)
            continue;
        husk_reduce_params params = HUSK_REDUCE_PARAMS(.kind = (husk_reduce_kind)kind);
        test_reduce_axes(&params, (uint32_t)e[3], 3);
        test_tensor x = make_input(params.kind, 3, e, kind % 2 ? TEST_PACKED : TEST_PADDED, 3, false);
        run_all(&params, &x, kind % 2 != 0, TEST_PACKED);
        test_release(&x);
    }
}
END_TEST

static void set(test_tensor *x, int64_t row, int64_t column, double value)
{
    const int64_t index[] = {row, column};
    husk_ref_store(&x->array, husk_ref_offset(&x->array, index), value);
}

// Row by row: NaN, first and amid; +infinity; both; -infinity; nothing else; both infinities; equal values; zeros.
START_TEST(special_values)
{
    static const int64_t lengths[] = {5, 40, 1500, 140000};
    const int64_t length = lengths[_i], shape[] = {12, length};
    test_tensor x = test_input(2, shape, _i % 2 ? TEST_REVERSED : TEST_PADDED, 11, 3.0f);
    set(&x, 0, length / 2, NAN);
    set(&x, 1, 0, NAN);
    set(&x, 1, length - 1, NAN);
    set(&x, 2, length - 1, INFINITY);
    set(&x, 3, 0, INFINITY);
    set(&x, 3, 3, NAN);
    set(&x, 4, length / 3, -INFINITY);
    set(&x, 5, 1, INFINITY);
    set(&x, 5, 2, -INFINITY);
    set(&x, 10, length / 2 + 1, 0.0);
    for (int64_t i = 0; i < length; i++) {
        set(&x, 6, i, -INFINITY);
        set(&x, 7, i, INFINITY);
        set(&x, 8, i, i % 7 == 3 || i % 7 == 5 ? 1.5 : i % 7 == 4 ? -1.5 : 0.5);
        set(&x, 9, i, -100.0);
        set(&x, 11, i, i == length - 2 ? 1.5 : -INFINITY);
    }
    test_input_update(&x);
    for (int kind = 0; kind < KINDS; kind++) {
        // Long products leave f32's range, and may meet an infinity on the way or not.
        if ((kind == HUSK_REDUCE_PRODUCT && length > 5) || (length > 100000 && !test_is_long() && kind % 2 == 0))
            continue;
        husk_reduce_params params = HUSK_REDUCE_PARAMS(.kind = (husk_reduce_kind)kind, .axis_count = 1, .axes = {-1});
        run_all(&params, &x, false, TEST_PACKED);
    }
    test_release(&x);
}
END_TEST

// Equal values wherever the memory's order is not the index': the first by index counts.
START_TEST(first_of_equals)
{
    static const test_layout layouts[] = {TEST_PACKED, TEST_CHANNELS_LAST, TEST_REVERSED, TEST_SPREAD};
    const int64_t shape[] = {3, 20, 9, 17};
    test_tensor x = test_input(4, shape, layouts[_i], 5, 1.0f);
    husk_ref_random random = {.seed = 7};
    int64_t index[HUSK_MAX_RANK] = {0};
    do {
        husk_ref_store(&x.array, husk_ref_offset(&x.array, index), (double)husk_ref_random_below(&random, 3));
    } while (husk_ref_index_next(4, shape, index));
    test_input_update(&x);
    for (uint32_t axes = 0; axes < 16; axes++) {
        husk_reduce_params params = HUSK_REDUCE_PARAMS(.kind = axes % 2 ? HUSK_REDUCE_ARGMAX : HUSK_REDUCE_ARGMIN);
        test_reduce_axes(&params, axes, 4);
        run_all(&params, &x, false, TEST_PACKED);
    }
    test_release(&x);
}
END_TEST

// A sum's error does not grow with the number of its terms: all of one sign, and ten runs of the same bits.
START_TEST(long_sums)
{
    static const int64_t shapes[][2] = {{1, 4000001}, {1000003, 3}};
    const int64_t *shape = shapes[_i], results = _i ? 3 : 1;
    test_tensor x = test_input(2, shape, TEST_PACKED, 12, 1.0f);
    double sums[3] = {0};
    for (int64_t i = 0; i < shape[0] * shape[1]; i++) {
        const double v = 0.1 + fabs(husk_ref_load(&x.array, i)) / 1024;
        husk_ref_store(&x.array, i, v);
        sums[i % results] += husk_ref_load(&x.array, i);
    }
    test_input_update(&x);
    for (int v = 0; v < variant_count(); v++) {
        husk_reduce_params params = HUSK_REDUCE_PARAMS(.axis_count = _i, .axes = {0}, .variant = all_variants[v]);
        const int64_t kept[] = {results};
        test_tensor y = test_output(HUSK_F32, _i ? 1 : 0, kept, TEST_PACKED);
        float first[3];
        for (int run = 0; run < 10; run++) {
            test_ok(husk_reduce(test_queue(), &params, &x.tensor, &y.tensor));
            test_fetch(&y);
            for (int64_t i = 0; i < results; i++)
                ck_assert_msg(fabs(husk_ref_load(&y.array, i) - sums[i]) <= 80 * HUSK_REF_UNIT * sums[i],
                              "%s: %.9g instead of %.9g", params.variant ? params.variant : "chosen",
                              husk_ref_load(&y.array, i), sums[i]);
            if (run == 0)
                memcpy(first, y.array.data, (size_t)results * sizeof(float));
            ck_assert_mem_eq(first, y.array.data, (size_t)results * sizeof(float));
        }
        test_release(&y);
    }
    test_release(&x);
}
END_TEST

// Exponentials that are alike but for one, whose errors have one sign; along rows and across them, many and few.
START_TEST(many_exponentials_of_one_sign)
{
    static const int64_t shapes[][2] = {{4000, 40}, {20000, 400}, {40, 130000}, {1, 1000000}};
    const int is_down = _i < 2;
    const int64_t *shape = shapes[_i];
    const husk_reduce_params params =
        HUSK_REDUCE_PARAMS(.kind = HUSK_REDUCE_LOG_SUM_EXP, .axis_count = 1, .axes = {!is_down});
    test_tensor x = test_input_alike(2, shape, TEST_PACKED, -0.53f);
    for (int64_t i = 0; i < shape[is_down]; i++)
        husk_ref_store(&x.array, is_down ? i : i * shape[1], 0.0);
    test_input_update(&x);
    run_all(&params, &x, false, TEST_PACKED);
    test_release(&x);
}
END_TEST

// Reductions of nothing: what has a neutral element gives it, the rest is refused; no results are no work.
START_TEST(nothing)
{
    static const int64_t shapes[][2] = {{3, 0}, {0, 3}, {0, 0}};
    static const double wanted[KINDS] = {0, NAN, 1, 0, 0, 0, 0, 0, 0, -INFINITY};
    for (int kind = 0; kind < KINDS; kind++) {
        for (int v = 0; v < variant_count(); v++) {
            husk_reduce_params params = HUSK_REDUCE_PARAMS(.kind = (husk_reduce_kind)kind, .axis_count = 1,
                                                           .axes = {-1}, .variant = all_variants[v]);
            const husk_dtype dtype = is_position(params.kind) ? HUSK_I64 : HUSK_F32;
            const bool is_refused = params.kind >= HUSK_REDUCE_MAX && params.kind <= HUSK_REDUCE_ARGMIN;
            for (int s = 0; s < 3; s++) {
                test_tensor x = test_input(2, shapes[s], TEST_PACKED, 9, 2.0f);
                test_tensor y = test_output(dtype, 1, shapes[s], TEST_PACKED);
                husk_status status = husk_reduce(test_queue(), &params, &x.tensor, &y.tensor);
                if (shapes[s][0] > 0 && is_refused) {
                    test_refused(husk_reduce(test_silent_queue(), &params, &x.tensor, &y.tensor), HUSK_INVALID_ARGUMENT,
                                 "x");
                    test_untouched(&y);
                } else if (shapes[s][0] > 0 && test_ran(status, "reduce", params.variant)) {
                    test_fetch(&y);
                    for (int64_t i = 0; i < 3; i++) {
                        const double is = husk_ref_load(&y.array, i);
                        ck_assert_msg(is == wanted[kind] || (isnan(is) && isnan(wanted[kind])), "%s of nothing is %g",
                                      husk_reduce_kind_name(params.kind), is);
                    }
                } else if (shapes[s][0] == 0) {
                    test_ok(status);
                }
                test_release(&x);
                test_release(&y);
            }
        }
    }
}
END_TEST

START_TEST(scalars_and_defaults)
{
    const int64_t shape[] = {6, 30}, none[] = {0};
    test_tensor x = test_input(2, shape, TEST_PACKED, 15, 2.0f), y = test_output(HUSK_F32, 0, none, TEST_PACKED);
    test_ok(husk_reduce(test_queue(), NULL, &x.tensor, &y.tensor));
    test_fetch(&y);
    husk_ref_reduce op = {.x = &x.array};
    husk_ref_report report = {0};
    check(&op, &y.array, &report);
    test_accept("reduce", NULL, "defaults", &report);
    test_release(&x);
    x = test_input(0, none, TEST_PACKED, 15, 2.0f);
    for (int kind = 0; kind < KINDS; kind++) {
        husk_reduce_params params = HUSK_REDUCE_PARAMS(.kind = (husk_reduce_kind)kind);
        run_all(&params, &x, false, TEST_PACKED);
    }
    test_release(&x);
    test_release(&y);
}
END_TEST

START_TEST(the_check_sees_mistakes)
{
    const int64_t shape[] = {6, 50, 8}, kept[] = {6, 8};
    for (int kind = 0; kind < KINDS; kind++) {
        husk_reduce_params params = HUSK_REDUCE_PARAMS(.kind = (husk_reduce_kind)kind, .axis_count = 1, .axes = {-2});
        if (is_position(params.kind))
            continue; // integers cannot be NaN
        test_tensor x = make_input(params.kind, 3, shape, TEST_PACKED, 15, false);
        test_tensor y = test_output(HUSK_F32, 2, kept, TEST_PADDED);
        test_ok(husk_reduce(test_queue(), &params, &x.tensor, &y.tensor));
        test_fetch(&y);
        husk_ref_reduce op = {.params = &params, .x = &x.array};
        husk_ref_function function = husk_ref_reduce_function(&op);
        test_planted(&function, &y.array, check, &op);
        test_planted_guards(&y);
        test_release(&x);
        test_release(&y);
    }
}
END_TEST

static void refuse(husk_status wanted, const char *argument, const husk_reduce_params *params, const husk_tensor *x,
                   const husk_tensor *y)
{
    test_refused(husk_reduce(test_silent_queue(), params, x, y), wanted, argument);
}

START_TEST(bad_input)
{
    const int64_t shape[] = {4, 6}, rows[] = {4}, columns[] = {6}, kept[] = {4, 1};
    husk_reduce_params params = HUSK_REDUCE_PARAMS(.axis_count = 1, .axes = {-1});
    test_tensor x = test_input(2, shape, TEST_PACKED, 19, 1.0f), y = test_output(HUSK_F32, 1, rows, TEST_PACKED);
    test_tensor turned = test_output(HUSK_F32, 1, columns, TEST_PACKED);
    test_tensor whole = test_output(HUSK_I32, 1, rows, TEST_PACKED);
    test_tensor with_one = test_output(HUSK_F32, 2, kept, TEST_PACKED);
    refuse(HUSK_INVALID_ARGUMENT, "x", &params, NULL, &y.tensor);
    refuse(HUSK_INVALID_ARGUMENT, "y", &params, &x.tensor, NULL);
    refuse(HUSK_INVALID_ARGUMENT, "y", &params, &x.tensor, &turned.tensor);
    refuse(HUSK_UNSUPPORTED, "y", &params, &x.tensor, &whole.tensor);
    refuse(HUSK_UNSUPPORTED, "x", &params, &whole.tensor, &y.tensor);
    params.kind = HUSK_REDUCE_ARGMAX;
    refuse(HUSK_UNSUPPORTED, "y", &params, &x.tensor, &y.tensor);
    refuse(HUSK_INVALID_ARGUMENT, "y", &params, &x.tensor, NULL);
    params.kind = (husk_reduce_kind)10;
    refuse(HUSK_INVALID_ARGUMENT, "kind", &params, &x.tensor, &y.tensor);
    params = HUSK_REDUCE_PARAMS(.axis_count = 1, .axes = {-3});
    refuse(HUSK_INVALID_ARGUMENT, "axes", &params, &x.tensor, &y.tensor);
    params = HUSK_REDUCE_PARAMS(.axis_count = 1, .axes = {-1}, .variant = "row");
    refuse(HUSK_INVALID_ARGUMENT, "row", &params, &x.tensor, &y.tensor);
    params = HUSK_REDUCE_PARAMS(.axis_count = 1, .axes = {-1});
    params.size = 4096;
    refuse(HUSK_INVALID_ARGUMENT, "params", &params, &x.tensor, &y.tensor);
    params = HUSK_REDUCE_PARAMS(.axis_count = 1, .axes = {-1});
    ck_assert_int_eq(husk_reduce(NULL, &params, &x.tensor, &y.tensor), HUSK_INVALID_ARGUMENT);

    husk_tensor bad = x.tensor;
    bad.shape[0] = -4;
    refuse(HUSK_INVALID_ARGUMENT, "x", &params, &bad, &y.tensor);
    bad = x.tensor;
    bad.offset += 1; // its end is past the buffer's
    refuse(HUSK_INVALID_ARGUMENT, "x", &params, &bad, &y.tensor);
    bad = with_one.tensor;
    bad.strides[0] = 0;
    bad.strides[1] = 1; // every row's result in one place
    refuse(HUSK_INVALID_ARGUMENT, "y", &params, &x.tensor, &bad);
    bad = x.tensor;
    bad.rank = 1;
    bad.strides[0] = 6; // the first column of x itself
    refuse(HUSK_INVALID_ARGUMENT, "y", &params, &x.tensor, &bad);
    bad = y.tensor;
    bad.buffer = NULL;
    refuse(HUSK_INVALID_ARGUMENT, "y", &params, &x.tensor, &bad);
    test_untouched(&y);
    ck_assert_str_eq(husk_reduce_kind_name(HUSK_REDUCE_NORM), "norm");
    ck_assert_str_eq(husk_reduce_kind_name((husk_reduce_kind)99), "unknown");
    test_release(&x);
    test_release(&y);
    test_release(&turned);
    test_release(&whole);
    test_release(&with_one);
}
END_TEST

START_TEST(enough_configurations)
{
    ck_assert_msg(test_executed("reduce") >= 500, "only %ld configurations were executed", test_executed("reduce"));
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("reduce");
    TCase *tests = tcase_create("reduce");
    if (test_tier_is("dtypes")) {
        tcase_add_loop_test(tests, narrow_axes_and_layouts, 0, 60);
        suite_add_tcase(suite, tests);
        return test_main(suite);
    }
    tcase_add_loop_test(tests, axes_and_layouts, 0, 30);
    tcase_add_loop_test(tests, extents, 0, ENDS);
    tcase_add_loop_test(tests, special_values, 0, 4);
    tcase_add_loop_test(tests, first_of_equals, 0, 4);
    tcase_add_loop_test(tests, long_sums, 0, 2);
    tcase_add_loop_test(tests, many_exponentials_of_one_sign, 0, 4);
    tcase_add_test(tests, nothing);
    tcase_add_test(tests, scalars_and_defaults);
    tcase_add_test(tests, the_check_sees_mistakes);
    tcase_add_test(tests, bad_input);
    tcase_add_test(tests, enough_configurations);
    suite_add_tcase(suite, tests);
    return test_main(suite);
}
