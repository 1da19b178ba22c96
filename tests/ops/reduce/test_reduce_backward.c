// SPDX-License-Identifier: MIT
// ctest: tiers=default,long,dtypes timeout=90
// Gradients of reductions: finite differences; every kind, set of axes, variant and layout against the reference;
// adding, in place, special values; bad input.
#include "ref/reduce/reduce.h"
#include "support/gradient.h"
#include "support/support.h"

#include <math.h>
#include <stdio.h>

#define NAME "reduce_backward"

static const char *const variants[] = {NULL, "vector", "grid:64"};
enum { VARIANTS = sizeof(variants) / sizeof(variants[0]) };

static const husk_reduce_kind kinds[] = {HUSK_REDUCE_SUM,  HUSK_REDUCE_MEAN,       HUSK_REDUCE_PRODUCT,
                                         HUSK_REDUCE_MAX,  HUSK_REDUCE_MIN,        HUSK_REDUCE_SUM_ABS,
                                         HUSK_REDUCE_NORM, HUSK_REDUCE_LOG_SUM_EXP};
enum { KINDS = sizeof(kinds) / sizeof(kinds[0]) };

// ---- the reference is the gradient ----

typedef struct forward {
    husk_ref_reduce op;
    husk_ref_array *y;
} forward;

static void run_forward(void *user)
{
    forward *f = user;
    husk_ref_reduce_run(&f->op, f->y);
}

// No two elements alike and none zero: extremes and absolute values are smooth there.
static void make_distinct(const husk_ref_array *x)
{
    const int64_t count = husk_ref_array_count(x);
    for (int64_t i = 0; i < count; i++)
        ((double *)x->data)[i] = ((double)(i * 7919 % count) + 0.37) / (double)count * 4.0 - 2.0;
}

START_TEST(finite_differences)
{
    husk_ref_random random = {.seed = 700 + (uint64_t)_i};
    int64_t shape[HUSK_MAX_RANK];
    const int32_t rank = (int32_t)TEST_PICK(&random, 1, 2, 3, 3, 4);
    for (int32_t d = 0; d < rank; d++)
        shape[d] = 2 + husk_ref_random_below(&random, 3);
    husk_reduce_params params = HUSK_REDUCE_PARAMS(.kind = kinds[_i % KINDS]);
    test_reduce_axes(&params, (uint32_t)husk_ref_random_below(&random, (int64_t)1 << rank), rank);
    husk_ref_array x = test_array(rank, shape, 0, 0), dx = test_array(rank, shape, 0, 0);
    make_distinct(&x);
    forward f = {{.params = &params, .x = &x, .keep = _i % 2 != 0}, NULL};
    const husk_ref_function function = husk_ref_reduce_function(&f.op);
    husk_ref_array y = test_array(function.rank, function.shape, 0, 0);
    husk_ref_array dy = test_array(function.rank, function.shape, (uint64_t)_i + 50, 1.0);
    f.y = &y;
    run_forward(&f);
    const husk_ref_reduce_backward op = {.params = &params, .x = &x, .y = &y, .dy = &dy, .keep = f.op.keep};
    husk_ref_reduce_backward_run(&op, &dx);
    test_differences(NAME, run_forward, &f, &x, &y, &dy, &dx, 7);
    test_array_release(&x);
    test_array_release(&y);
    test_array_release(&dy);
    test_array_release(&dx);
}
END_TEST
enum { DIFFERENCES = 40 };

// ---- every variant against the reference ----

static void check(void *user, const husk_ref_array *dx, husk_ref_report *report)
{
    husk_ref_function function = husk_ref_reduce_backward_function(user);
    husk_ref_check(&function, 1, dx, report);
}

static void describe(const husk_reduce_params *params, const husk_tensor *x, char *text, size_t capacity)
{
    char axes[TEST_AXES_TEXT];
    size_t used = (size_t)snprintf(text, capacity, "%s%s %s axes=%s shape", husk_reduce_kind_name(params->kind),
                                   params->accumulate ? " accumulate" : "", husk_dtype_name(x->dtype),
                                   test_axes_text(params, axes));
    for (int32_t d = 0; d < x->rank && used < capacity; d++)
        used += (size_t)snprintf(text + used, capacity - used, " %lld", (long long)x->shape[d]);
    for (int32_t d = 0; d < x->rank && used < capacity; d++)
        used += (size_t)snprintf(text + used, capacity - used, " /%lld", (long long)x->strides[d]);
}

// Every variant; y is what forward gives, stored as y's dtype does.
static void run_all(const husk_reduce_params *wanted, test_tensor *x, test_tensor *dx, bool keep, test_layout layout)
{
    husk_reduce_params params = *wanted;
    const husk_ref_reduce forward_op = {.params = &params, .x = &x->array, .keep = keep};
    const husk_ref_function function = husk_ref_reduce_function(&forward_op);
    const husk_dtype dtype = x->tensor.dtype;
    test_tensor y = test_input_of(dtype, function.rank, function.shape, layout, 3, 1.0f);
    test_tensor dy = test_input_of(dtype, function.rank, function.shape, TEST_PADDED, 5, 1.0f);
    husk_ref_reduce_run(&forward_op, &y.array);
    test_input_update(&y);
    husk_ref_reduce_backward op = {.params = &params, .x = &x->array, .y = &y.array, .dy = &dy.array, .keep = keep};
    if (params.accumulate)
        op.dx = &dx->before;
    char text[400];
    describe(&params, &x->tensor, text, sizeof(text));
    ck_assert(husk_ref_reduce_backward_prepare(&op));
    const husk_ref_function gradient = husk_ref_reduce_backward_function(&op);
    husk_ref_expected expected;
    ck_assert(husk_ref_expect(&gradient, 1, &expected));
    const bool reads_y = params.kind == HUSK_REDUCE_NORM || params.kind == HUSK_REDUCE_LOG_SUM_EXP;
    const bool reads_x = params.kind != HUSK_REDUCE_SUM && params.kind != HUSK_REDUCE_MEAN;
    for (int v = 0; v < VARIANTS; v++) {
        params.variant = variants[v];
        test_restore(dx);
        if (!test_ran(husk_reduce_backward(test_queue(), &params, reads_x || v == 1 ? &x->tensor : NULL,
                                           reads_y || v == 1 ? &y.tensor : NULL, &dy.tensor, &dx->tensor),
                      NAME, params.variant))
            continue;
        test_fetch(dx);
        husk_ref_report report = {0};
        husk_ref_compare(&expected, &dx->array, &report);
        test_accept(NAME, params.variant, text, &report);
    }
    husk_ref_expected_release(&expected);
    husk_ref_reduce_backward_release(&op);
    test_release(&y);
    test_release(&dy);
}

// Products of many elements need factors near one; a few zeros are what is special about them. Extremes have equals.
static void shape_values(test_tensor *x, husk_reduce_kind kind, int zeros)
{
    int64_t index[HUSK_MAX_RANK] = {0}, i = 0;
    do {
        const int64_t offset = husk_ref_offset(&x->array, index);
        double v = husk_ref_load(&x->array, offset);
        if (kind == HUSK_REDUCE_PRODUCT)
            v = zeros > 0 && i++ % zeros == 0 ? 0.0 : (v < 0 ? -1.0 : 1.0) * (1.0 + 0.01 * v);
        else if (kind == HUSK_REDUCE_MAX || kind == HUSK_REDUCE_MIN)
            v = floor(v * 4) / 4;
        husk_ref_store(&x->array, offset, v);
    } while (husk_ref_index_next(x->array.rank, x->array.shape, index));
    test_input_update(x);
}

static void run_shape(husk_dtype dtype, const husk_reduce_params *params, int32_t rank, const int64_t *shape,
                      const test_layout layouts[3], uint64_t seed)
{
    test_tensor x = test_input_of(dtype, rank, shape, layouts[0], seed, 2.0f);
    shape_values(&x, params->kind, (int)(seed % 3) * 7);
    test_tensor dx = params->accumulate ? test_inout_of(dtype, rank, shape, layouts[1], seed + 2, 1.0f)
                                        : test_output(dtype, rank, shape, layouts[1]);
    run_all(params, &x, &dx, seed % 2 != 0, layouts[2]);
    test_release(&x);
    test_release(&dx);
}

static void run_any(husk_dtype dtype, husk_ref_random *random, int i, uint64_t seed)
{
    int64_t shape[HUSK_MAX_RANK];
    test_layout layouts[3];
    const int32_t rank = (int32_t)TEST_PICK(random, 1, 2, 2, 3, 3, 4, 5, 8);
    for (int32_t d = 0; d < rank; d++)
        shape[d] = test_pick_size(random, 16, rank == 1 ? 2000 : rank == 2 ? 60 : rank == 3 ? 20 : rank < 6 ? 6 : 3);
    for (int k = 0; k < 3; k++)
        layouts[k] = k > 0 && test_one_in(random, 2) ? layouts[0] : test_pick_layout(random);
    husk_reduce_params params = HUSK_REDUCE_PARAMS(.kind = kinds[i % KINDS]);
    test_reduce_axes(&params, (uint32_t)husk_ref_random_below(random, (int64_t)1 << rank), rank);
    params.accumulate = test_one_in(random, 3) ? HUSK_ACCUMULATE_INPUTS : 0;
    run_shape(dtype, &params, rank, shape, layouts, seed);
}

START_TEST(axes_and_layouts)
{
    husk_ref_random random = {.seed = 100 + (uint64_t)_i};
    const int64_t rounds = test_is_long() ? 12 : 3;
    for (int64_t round = 0; round < rounds; round++)
        run_any(HUSK_F32, &random, _i, (uint64_t)round);
}
END_TEST

// The tier "dtypes".
START_TEST(narrow_dtypes_too)
{
    husk_ref_random random = {.seed = 900 + (uint64_t)_i};
    for (int64_t round = 0; round < 6; round++)
        run_any(test_dtype(round), &random, _i, (uint64_t)round);
}
END_TEST

// Rows and columns that end around vectors, and ones that are shared among work-groups.
START_TEST(extents)
{
    static const int64_t ends[][4] = {{3, 63, 1, 2},     {3, 65, 1, 2},    {2, 7, 33, 2},    {5, 40, 17, 5},
                                      {1, 200000, 1, 2}, {300, 700, 1, 2}, {1, 700, 300, 2}, {4, 3, 17001, 5}};
    const test_layout layouts[3] = {TEST_PACKED, TEST_PACKED, TEST_PACKED};
    for (int kind = 0; kind < KINDS; kind++) {
        husk_reduce_params params = HUSK_REDUCE_PARAMS(.kind = kinds[kind]);
        test_reduce_axes(&params, (uint32_t)ends[_i][3], 3);
        run_shape(HUSK_F32, &params, 3, ends[_i], layouts, 0);
    }
}
END_TEST

START_TEST(in_place)
{
    const int64_t shape[] = {5, 70, 9};
    for (int kind = 2; kind < KINDS; kind++) {
        for (uint32_t accumulate = 0; accumulate < 2; accumulate++) {
            test_tensor dx = test_inout(3, shape, kind % 2 ? TEST_PADDED : TEST_PACKED, 5, 1.0f);
            const int64_t kept[] = {5, 9};
            husk_reduce_params params =
                HUSK_REDUCE_PARAMS(.kind = kinds[kind], .axis_count = 1, .axes = {-2}, .accumulate = accumulate);
            if (kinds[kind] == HUSK_REDUCE_PRODUCT)
                continue; // of 70 random factors hardly anything is left
            const husk_ref_reduce forward_op = {.params = &params, .x = &dx.before};
            test_tensor y = test_input(2, kept, TEST_PACKED, 3, 1.0f), dy = test_input(2, kept, TEST_PACKED, 4, 1.0f);
            husk_ref_reduce_run(&forward_op, &y.array);
            test_input_update(&y);
            husk_ref_reduce_backward op = {.params = &params, .x = &dx.before, .y = &y.array, .dy = &dy.array};
            op.dx = accumulate ? &dx.before : NULL;
            test_ok(husk_reduce_backward(test_queue(), &params, &dx.tensor, &y.tensor, &dy.tensor, &dx.tensor));
            test_fetch(&dx);
            husk_ref_report report = {0};
            check(&op, &dx.array, &report);
            test_accept(NAME, NULL, "in place", &report);
            test_release(&dx);
            test_release(&y);
            test_release(&dy);
        }
    }
}
END_TEST

static void set(test_tensor *x, int64_t row, int64_t column, double value)
{
    const int64_t index[] = {row, column};
    husk_ref_store(&x->array, husk_ref_offset(&x->array, index), value);
}

// Row by row: NaN; +infinity; -infinity; nothing else; equal values; zeros alone; zeros but one.
START_TEST(special_values)
{
    const int64_t length = _i % 2 ? 3000 : 19, shape[] = {8, length};
    test_tensor x = test_input(2, shape, _i / 2 ? TEST_REVERSED : TEST_PADDED, 11, 3.0f);
    test_tensor dx = test_output(HUSK_F32, 2, shape, TEST_PACKED);
    set(&x, 0, length / 2, NAN);
    set(&x, 1, length - 1, INFINITY);
    set(&x, 2, 0, -INFINITY);
    for (int64_t i = 0; i < length; i++) {
        set(&x, 3, i, -INFINITY);
        set(&x, 4, i, 0.5);
        set(&x, 5, i, 0.0);
        set(&x, 6, i, i == 3 ? -2.0 : 0.0);
    }
    test_input_update(&x);
    for (int kind = 0; kind < KINDS; kind++) {
        const husk_reduce_params params = HUSK_REDUCE_PARAMS(.kind = kinds[kind], .axis_count = 1, .axes = {-1});
        if (kinds[kind] != HUSK_REDUCE_PRODUCT)
            run_all(&params, &x, &dx, false, TEST_PACKED);
    }
    test_release(&x);
    test_release(&dx);
}
END_TEST

START_TEST(same_bits)
{
    const int64_t shape[] = {1, 200000}, kept[] = {1};
    for (int kind = 2; kind < KINDS; kind++) {
        husk_reduce_params params = HUSK_REDUCE_PARAMS(.kind = kinds[kind], .axis_count = 1, .axes = {-1});
        test_tensor x = test_input(2, shape, TEST_PACKED, 12, 1.0f), y = test_input(1, kept, TEST_PACKED, 3, 1.0f);
        test_tensor first = test_output(HUSK_F32, 2, shape, TEST_PACKED);
        test_tensor again = test_output(HUSK_F32, 2, shape, TEST_PACKED);
        for (int run = 0; run < 10; run++) {
            test_tensor *dx = run ? &again : &first;
            test_ok(husk_reduce_backward(test_queue(), &params, &x.tensor, &y.tensor, &y.tensor, &dx->tensor));
            test_fetch(dx);
            if (run)
                ck_assert_mem_eq(first.array.data, again.array.data, (size_t)shape[1] * sizeof(float));
        }
        test_release(&x);
        test_release(&y);
        test_release(&first);
        test_release(&again);
    }
}
END_TEST

START_TEST(nothing)
{
    static const int64_t shapes[][2] = {{3, 0}, {0, 3}, {0, 0}};
    for (int kind = 0; kind < KINDS; kind++) {
        for (int v = 0; v < VARIANTS; v++) {
            husk_reduce_params params =
                HUSK_REDUCE_PARAMS(.kind = kinds[kind], .axis_count = 1, .axes = {-1}, .variant = variants[v]);
            const int64_t *shape = shapes[kind % 3];
            test_tensor x = test_input(2, shape, TEST_PACKED, 9, 2.0f), y = test_input(1, shape, TEST_PACKED, 9, 2.0f);
            test_tensor dx = test_output(HUSK_F32, 2, shape, TEST_PACKED);
            test_ok(husk_reduce_backward(test_queue(), &params, &x.tensor, &y.tensor, &y.tensor, &dx.tensor));
            test_untouched(&dx);
            test_release(&x);
            test_release(&y);
            test_release(&dx);
        }
    }
}
END_TEST

START_TEST(the_check_sees_mistakes)
{
    const int64_t shape[] = {6, 20, 8}, kept[] = {6, 8};
    husk_reduce_params params = HUSK_REDUCE_PARAMS(.kind = HUSK_REDUCE_LOG_SUM_EXP, .axis_count = 1, .axes = {-2});
    test_tensor x = test_input(3, shape, TEST_PACKED, 15, 1.0f), y = test_input(2, kept, TEST_PACKED, 16, 1.0f);
    test_tensor dx = test_output(HUSK_F32, 3, shape, TEST_PADDED);
    test_ok(husk_reduce_backward(test_queue(), &params, &x.tensor, &y.tensor, &y.tensor, &dx.tensor));
    test_fetch(&dx);
    husk_ref_reduce_backward op = {.params = &params, .x = &x.array, .y = &y.array, .dy = &y.array};
    husk_ref_function function = husk_ref_reduce_backward_function(&op);
    test_planted(&function, &dx.array, check, &op);
    test_planted_guards(&dx);
    test_release(&x);
    test_release(&y);
    test_release(&dx);
}
END_TEST

static void refuse(husk_status wanted, const char *argument, const husk_reduce_params *params, const husk_tensor *x,
                   const husk_tensor *y, const husk_tensor *dy, const husk_tensor *dx)
{
    test_refused(husk_reduce_backward(test_silent_queue(), params, x, y, dy, dx), wanted, argument);
}

START_TEST(bad_input)
{
    const int64_t shape[] = {4, 6}, rows[] = {4}, columns[] = {6};
    husk_reduce_params params = HUSK_REDUCE_PARAMS(.kind = HUSK_REDUCE_NORM, .axis_count = 1, .axes = {-1});
    test_tensor x = test_input(2, shape, TEST_PACKED, 19, 1.0f), dx = test_output(HUSK_F32, 2, shape, TEST_PACKED);
    test_tensor y = test_input(1, rows, TEST_PACKED, 20, 1.0f), turned = test_input(1, columns, TEST_PACKED, 2, 1.0f);
    test_tensor whole = test_output(HUSK_I32, 1, rows, TEST_PACKED);
    const husk_tensor *xt = &x.tensor, *yt = &y.tensor, *dxt = &dx.tensor;
    refuse(HUSK_INVALID_ARGUMENT, "x", &params, NULL, yt, yt, dxt);
    refuse(HUSK_INVALID_ARGUMENT, "y", &params, xt, NULL, yt, dxt);
    refuse(HUSK_INVALID_ARGUMENT, "dy", &params, xt, yt, NULL, dxt);
    refuse(HUSK_INVALID_ARGUMENT, "dx", &params, xt, yt, yt, NULL);
    refuse(HUSK_INVALID_ARGUMENT, "x", &params, yt, yt, yt, dxt);
    refuse(HUSK_INVALID_ARGUMENT, "y", &params, xt, &turned.tensor, yt, dxt);
    refuse(HUSK_INVALID_ARGUMENT, "dy", &params, xt, yt, &turned.tensor, dxt);
    refuse(HUSK_UNSUPPORTED, "dy", &params, xt, yt, &whole.tensor, dxt);
    refuse(HUSK_UNSUPPORTED, "dx", &params, xt, yt, yt, &whole.tensor);
    params.kind = HUSK_REDUCE_ARGMAX;
    refuse(HUSK_INVALID_ARGUMENT, "argmax", &params, xt, yt, yt, dxt);
    params.kind = (husk_reduce_kind)77;
    refuse(HUSK_INVALID_ARGUMENT, "kind", &params, xt, yt, yt, dxt);
    params = HUSK_REDUCE_PARAMS(.axis_count = 1, .axes = {-3});
    refuse(HUSK_INVALID_ARGUMENT, "axes", &params, xt, yt, yt, dxt);
    params = HUSK_REDUCE_PARAMS(.axis_count = 1, .axes = {-1}, .accumulate = 4);
    refuse(HUSK_INVALID_ARGUMENT, "accumulate", &params, xt, yt, yt, dxt);
    params = HUSK_REDUCE_PARAMS(.axis_count = 1, .axes = {-1}, .variant = "row");
    refuse(HUSK_INVALID_ARGUMENT, "row", &params, xt, yt, yt, dxt);
    params = HUSK_REDUCE_PARAMS(.axis_count = 1, .axes = {-1});
    params.size = 4096;
    refuse(HUSK_INVALID_ARGUMENT, "params", &params, xt, yt, yt, dxt);
    params = HUSK_REDUCE_PARAMS(.axis_count = 1, .axes = {-1});
    ck_assert_int_eq(husk_reduce_backward(NULL, &params, xt, yt, yt, dxt), HUSK_INVALID_ARGUMENT);
    husk_tensor bad = dx.tensor;
    bad.strides[0] = 3;
    bad.strides[1] = 1;
    refuse(HUSK_INVALID_ARGUMENT, "dx", &params, xt, yt, yt, &bad);
    bad = dx.tensor;
    bad.rank = 1;
    bad.shape[0] = 4;
    refuse(HUSK_INVALID_ARGUMENT, "dy", &params, xt, yt, &bad, dxt); // a part of dx
    bad = y.tensor;
    bad.buffer = NULL;
    refuse(HUSK_INVALID_ARGUMENT, "dy", &params, xt, yt, &bad, dxt);
    test_untouched(&dx);
    test_release(&x);
    test_release(&y);
    test_release(&dx);
    test_release(&turned);
    test_release(&whole);
}
END_TEST

START_TEST(enough_configurations)
{
    ck_assert_msg(test_executed(NAME) >= 200, "only %ld configurations were executed", test_executed(NAME));
}
END_TEST

int main(void)
{
    Suite *suite = suite_create(NAME);
    TCase *tests = tcase_create(NAME);
    if (test_tier_is("dtypes")) {
        tcase_add_loop_test(tests, narrow_dtypes_too, 0, 24);
        suite_add_tcase(suite, tests);
        return test_main(suite);
    }
    tcase_add_loop_test(tests, finite_differences, 0, DIFFERENCES);
    tcase_add_loop_test(tests, axes_and_layouts, 0, 24);
    tcase_add_loop_test(tests, extents, 0, 8);
    tcase_add_test(tests, in_place);
    tcase_add_loop_test(tests, special_values, 0, 4);
    tcase_add_test(tests, same_bits);
    tcase_add_test(tests, nothing);
    tcase_add_test(tests, the_check_sees_mistakes);
    tcase_add_test(tests, bad_input);
    tcase_add_test(tests, enough_configurations);
    suite_add_tcase(suite, tests);
    return test_main(suite);
}
