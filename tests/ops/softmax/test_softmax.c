// SPDX-License-Identifier: MIT
// ctest: tiers=default,long,dtypes timeout=150
// Softmax and log-softmax: every axis, variant and layout against the reference; special values; bad input.
#include "ref/softmax/softmax.h"
#include "support/support.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static const char *const variants[] = {NULL,
                                       "rows",
                                       "columns",
                                       "workgroup:1x256",
                                       "workgroup:1x64",
                                       "workgroup:32x8",
                                       "workgroup:16x4",
                                       "registers:32x1",
                                       "registers:64x4",
                                       "registers:256x8"};
enum { VARIANTS = sizeof(variants) / sizeof(variants[0]) };

static void check(void *user, const husk_ref_array *y, husk_ref_report *report)
{
    husk_ref_function function = husk_ref_softmax_function(user);
    husk_ref_check(&function, 1, y, report);
}

static void describe(const husk_softmax_params *params, const husk_tensor *x, char *text, size_t capacity)
{
    size_t used = (size_t)snprintf(text, capacity, "%s %s axis=%d shape", husk_dtype_name(x->dtype),
                                   params->log ? "log" : "plain", (int)params->axis);
    for (int32_t d = 0; d < x->rank && used < capacity; d++)
        used += (size_t)snprintf(text + used, capacity - used, " %lld", (long long)x->shape[d]);
}

// One run of x into y with every variant; both stay the caller's.
static void run_all(const husk_softmax_params *wanted, test_tensor *x, test_tensor *y)
{
    husk_softmax_params params = *wanted;
    husk_ref_softmax op = {.params = &params, .x = &x->array};
    char text[200];
    describe(&params, &x->tensor, text, sizeof(text));
    ck_assert(husk_ref_softmax_prepare(&op));
    for (int v = 0; v < VARIANTS; v++) {
        params.variant = variants[v];
        test_restore(y);
        if (!test_ran(husk_softmax(test_queue(), &params, &x->tensor, &y->tensor), "softmax", variants[v]))
            continue;
        test_fetch(y);
        husk_ref_report report = {0};
        check(&op, &y->array, &report);
        test_accept("softmax", variants[v], text, &report);
    }
    husk_ref_softmax_release(&op);
}

// A random problem; its shape into `shape`, its rank into `rank`.
static husk_softmax_params pick_problem(husk_ref_random *random, int32_t *rank, int64_t *shape)
{
    *rank = (int32_t)TEST_PICK(random, 1, 2, 2, 3, 3, 4, 5, 8);
    const int32_t axis = (int32_t)husk_ref_random_below(random, *rank);
    for (int32_t d = 0; d < *rank; d++)
        shape[d] = d == axis ? test_pick_size(random, 64, *rank > 4 ? 70 : 700)
                             : test_pick_size(random, 16,
                                              *rank > 3   ? 4
                                              : *rank > 2 ? 12
                                                          : 70);
    husk_softmax_params params = HUSK_MAKE(husk_softmax_params, .axis = test_axis(random, axis, *rank),
                                           .log = (uint32_t)husk_ref_random_below(random, 2));
    if (shape[axis] == 1)
        params.log = 0; // rows of one element: zeros, which prove nothing
    return params;
}

START_TEST(axes_and_layouts)
{
    husk_ref_random random = {.seed = 100 + (uint64_t)_i};
    const int64_t rounds = test_is_long() ? 12 : 2;
    for (int64_t round = 0; round < rounds; round++) {
        int64_t shape[HUSK_MAX_RANK];
        int32_t rank;
        const husk_softmax_params params = pick_problem(&random, &rank, shape);
        const bool is_amid_nan = test_one_in(&random, 2);
        const float scale = test_one_in(&random, 2) ? 4.0f : 60.0f;
        test_tensor x = (is_amid_nan ? test_input_amid_nan : test_input)(rank, shape, test_pick_layout(&random),
                                                                         (uint64_t)round, scale);
        test_tensor y = test_output(HUSK_F32, rank, shape, test_pick_layout(&random));
        run_all(&params, &x, &y);
        test_release(&x);
        test_release(&y);
    }
}
END_TEST

// The tier "dtypes": also in place, and rows that are shared among work-groups.
START_TEST(narrow_dtypes)
{
    static const int64_t long_row[] = {1, 70001};
    husk_ref_random random = {.seed = 300 + (uint64_t)_i};
    for (uint64_t round = 0; round < 5; round++) {
        const husk_dtype dtype = test_dtype(_i + (int64_t)round);
        int64_t shape[HUSK_MAX_RANK];
        int32_t rank;
        husk_softmax_params params = pick_problem(&random, &rank, shape);
        if (round == 4) {
            rank = 2;
            memcpy(shape, long_row, sizeof(long_row));
            params.axis = -1;
        }
        test_tensor x = test_input_of(dtype, rank, shape, test_pick_layout(&random), round, 4.0f);
        test_tensor y = test_output(dtype, rank, shape, test_pick_layout(&random));
        run_all(&params, &x, &y);
        test_release(&x);
        test_release(&y);
        test_tensor both = test_inout_of(dtype, rank, shape, test_pick_layout(&random), round, 4.0f);
        husk_ref_softmax op = {.params = &params, .x = &both.before};
        husk_ref_report report = {0};
        test_ok(husk_softmax(test_queue(), &params, &both.tensor, &both.tensor));
        test_fetch(&both);
        check(&op, &both.array, &report);
        test_accept("softmax", NULL, "in place, narrow", &report);
        test_release(&both);
    }
}
END_TEST

// Vectors, blocks, private rows and strips end somewhere: lengths around them, many rows and few.
START_TEST(row_lengths)
{
    static const int64_t lengths[] = {1,    2,    3,     7,     15,    16,    17,    63,    64,    65,    100,
                                      255,  256,  257,   1000,  1023,  1024,  1025,  4095,  4096,  4097,  8191,
                                      8192, 8193, 16383, 16384, 16385, 20011, 65535, 65536, 65537, 131071};
    for (uint32_t is_log = 0; is_log < 2; is_log++) {
        const int64_t shape[] = {lengths[_i] > 20000 ? 2 : 5, lengths[_i]};
        husk_softmax_params params = HUSK_MAKE(husk_softmax_params, .log = is_log, .axis = -1);
        test_tensor x = test_input(2, shape, TEST_PACKED, 3, 9.0f);
        test_tensor y = test_output(HUSK_F32, 2, shape, TEST_PACKED);
        run_all(&params, &x, &y);
        test_release(&x);
        test_release(&y);
    }
}
END_TEST
enum { LENGTHS = 32 };

// An axis before others: neighbouring rows, as many as vectors, strips and work-groups take, one less and more.
START_TEST(neighbouring_rows)
{
    static const int64_t inner[] = {1, 2, 7, 15, 16, 17, 31, 32, 33, 49, 64, 1023, 1024, 1025, 3000};
    static const int64_t lengths[] = {1, 2, 21, 100};
    for (int l = 0; l < 4; l++) {
        const int64_t shape[] = {3, lengths[l], inner[_i]};
        husk_softmax_params params = HUSK_MAKE(husk_softmax_params, .axis = -2, .log = (uint32_t)l & 1);
        test_tensor x = test_input(3, shape, TEST_PACKED, 5, 9.0f);
        test_tensor y = test_output(HUSK_F32, 3, shape, TEST_PACKED);
        run_all(&params, &x, &y);
        test_release(&x);
        test_release(&y);
    }
}
END_TEST

// Rows so long and few that they are shared among work-groups, whatever the axis.
START_TEST(long_rows)
{
    static const int64_t shapes[][3] = {{1, 524288, 1}, {1, 70001, 3}, {2, 40000, 1}, {1, 30000, 33}};
    const int64_t *shape = shapes[_i];
    husk_softmax_params params = HUSK_MAKE(husk_softmax_params, .axis = -2);
    test_tensor x = test_input(3, shape, TEST_PACKED, 7, 5.0f);
    test_tensor y = test_output(HUSK_F32, 3, shape, TEST_PACKED);
    run_all(&params, &x, &y);
    test_release(&x);
    test_release(&y);
}
END_TEST

// Rows whose exponentials are alike but for one: errors of one sign, in rows that a work-item or a work-group has
// whole.
START_TEST(many_terms_of_one_sign)
{
    static const int64_t shapes[][2] = {{4000, 40}, {20000, 400}, {40, 130000}, {2, 1000000}};
    const int32_t is_down = _i / 2 < 2;
    const int64_t *shape = shapes[_i / 2];
    const husk_softmax_params params = HUSK_MAKE(husk_softmax_params, .axis = !is_down, .log = (uint32_t)_i % 2);
    test_tensor x = test_input_alike(2, shape, TEST_PACKED, -0.53f);
    test_tensor y = test_output(HUSK_F32, 2, shape, TEST_PACKED);
    for (int64_t i = 0; i < shape[is_down]; i++)
        husk_ref_store(&x.array, is_down ? i : i * shape[1], 0.0);
    test_input_update(&x);
    run_all(&params, &x, &y);
    test_release(&x);
    test_release(&y);
}
END_TEST

START_TEST(in_place)
{
    static const test_layout layouts[] = {TEST_PACKED, TEST_PADDED, TEST_SPREAD, TEST_CHANNELS_LAST};
    static const int64_t shapes[][3] = {{3, 70, 41}, {2, 33, 19}, {1, 20000, 2}, {2, 2, 30000}};
    for (int v = 0; v < VARIANTS; v++) {
        for (int32_t option = 0; option < 6; option++) {
            if (option % 2 && shapes[_i][2 - option / 2] == 1)
                continue; // logarithms of rows of one element are zeros, which prove nothing
            test_tensor y = test_inout(3, shapes[_i], layouts[_i], 5, 6.0f);
            husk_softmax_params params = HUSK_MAKE(husk_softmax_params, .axis = -1 - option / 2,
                                                   .log = (uint32_t)option % 2, .variant = variants[v]);
            husk_ref_softmax op = {.params = &params, .x = &y.before};
            ck_assert(husk_ref_softmax_prepare(&op));
            if (test_ran(husk_softmax(test_queue(), &params, &y.tensor, &y.tensor), "softmax", variants[v])) {
                test_fetch(&y);
                husk_ref_report report = {0};
                check(&op, &y.array, &report);
                test_accept("softmax", variants[v], "in place", &report);
            }
            husk_ref_softmax_release(&op);
            test_release(&y);
        }
    }
}
END_TEST

static void set(test_tensor *x, int64_t row, int64_t column, double value)
{
    const int64_t index[] = {row, column};
    husk_ref_store(&x->array, husk_ref_offset(&x->array, index), value);
}

// Row by row: NaN; +infinity; both; single and nearly only -infinity; nothing else; the ends of f32; ties.
START_TEST(special_values)
{
    static const int64_t lengths[] = {5, 40, 9000, 70000};
    const int64_t length = lengths[_i / 2], shape[] = {8, length};
    husk_softmax_params params = HUSK_MAKE(husk_softmax_params, .log = (uint32_t)_i % 2, .axis = -1);
    test_tensor x = test_input(2, shape, _i % 4 < 2 ? TEST_PADDED : TEST_REVERSED, 11, 3.0f);
    set(&x, 0, length / 2, NAN);
    set(&x, 1, length - 1, INFINITY);
    set(&x, 2, 0, NAN);
    set(&x, 2, 1, INFINITY);
    set(&x, 3, length / 3, -INFINITY);
    for (int64_t i = 0; i < length; i++) {
        set(&x, 4, i, i == length - 2 ? 1.5 : -INFINITY);
        set(&x, 5, i, -INFINITY);
        set(&x, 6, i, i % 2 ? 3.0e38 : -3.0e38);
        set(&x, 7, i, -100.0);
    }
    test_input_update(&x);
    test_tensor y = test_output(HUSK_F32, 2, shape, TEST_PACKED);
    run_all(&params, &x, &y);
    test_release(&x);
    test_release(&y);
}
END_TEST

// The result does not depend on how the work was shared out: two runs agree bit by bit.
START_TEST(runs_agree)
{
    const int64_t shape[] = {1, 200000};
    for (int v = 0; v < VARIANTS; v++) {
        husk_softmax_params params = HUSK_MAKE(husk_softmax_params, .variant = variants[v], .axis = -1);
        test_tensor x = test_input(2, shape, TEST_PACKED, 13, 5.0f);
        test_tensor first = test_output(HUSK_F32, 2, shape, TEST_PACKED);
        test_tensor second = test_output(HUSK_F32, 2, shape, TEST_PACKED);
        if (test_ran(husk_softmax(test_queue(), &params, &x.tensor, &first.tensor), "softmax", variants[v])) {
            test_ok(husk_softmax(test_queue(), &params, &x.tensor, &second.tensor));
            test_fetch(&first);
            test_fetch(&second);
            ck_assert_mem_eq(first.array.data, second.array.data, (size_t)shape[1] * sizeof(float));
        }
        test_release(&x);
        test_release(&first);
        test_release(&second);
    }
}
END_TEST

START_TEST(nothing)
{
    static const int64_t shapes[][2] = {{0, 7}, {7, 0}, {0, 0}};
    for (int v = 0; v < VARIANTS; v++) {
        for (int32_t option = 0; option < 6; option++) {
            husk_softmax_params params =
                HUSK_MAKE(husk_softmax_params, .axis = -1 - (option & 1), .variant = variants[v]);
            test_tensor x = test_input(2, shapes[option / 2], TEST_PACKED, 9, 2.0f);
            test_tensor y = test_output(HUSK_F32, 2, shapes[option / 2], TEST_PACKED);
            test_ran(husk_softmax(test_queue(), &params, &x.tensor, &y.tensor), "softmax", variants[v]);
            test_untouched(&y);
            test_release(&x);
            test_release(&y);
        }
    }
}
END_TEST

START_TEST(default_params)
{
    const int64_t shape[] = {6, 30};
    husk_softmax_params params = HUSK_MAKE(husk_softmax_params, .log = 0, .axis = -1);
    test_tensor x = test_input(2, shape, TEST_PACKED, 15, 2.0f);
    test_tensor y = test_output(HUSK_F32, 2, shape, TEST_PACKED);
    test_ok(husk_softmax(test_queue(), NULL, &x.tensor, &y.tensor));
    test_fetch(&y);
    husk_ref_softmax op = {.params = &params, .x = &x.array};
    husk_ref_report report = {0};
    check(&op, &y.array, &report);
    test_accept("softmax", NULL, "defaults", &report);
    test_release(&x);
    test_release(&y);
}
END_TEST

START_TEST(the_check_sees_mistakes)
{
    const int64_t shape[] = {6, 50};
    for (uint32_t is_log = 0; is_log < 2; is_log++) {
        husk_softmax_params params = HUSK_MAKE(husk_softmax_params, .log = is_log, .axis = -1);
        test_tensor x = test_input(2, shape, TEST_PACKED, 15, 2.0f);
        test_tensor y = test_output(HUSK_F32, 2, shape, TEST_PADDED);
        test_ok(husk_softmax(test_queue(), &params, &x.tensor, &y.tensor));
        test_fetch(&y);
        husk_ref_softmax op = {.params = &params, .x = &x.array};
        husk_ref_function function = husk_ref_softmax_function(&op);
        test_planted(&function, &y.array, check, &op);
        test_planted_guards(&y);
        test_release(&x);
        test_release(&y);
    }
}
END_TEST

static void refuse(husk_status wanted, const char *argument, const husk_softmax_params *params, const husk_tensor *x,
                   const husk_tensor *y)
{
    test_refused(husk_softmax(test_silent_queue(), params, x, y), wanted, argument);
}

START_TEST(bad_input)
{
    const int64_t shape[] = {4, 6}, other[] = {6, 4}, no_shape[] = {0};
    husk_softmax_params params = HUSK_MAKE(husk_softmax_params, .log = 1, .axis = -1);
    test_tensor x = test_input(2, shape, TEST_PACKED, 19, 1.0f);
    test_tensor y = test_output(HUSK_F32, 2, shape, TEST_PACKED);
    test_tensor turned = test_output(HUSK_F32, 2, other, TEST_PACKED);
    test_tensor whole = test_output(HUSK_I32, 2, shape, TEST_PACKED);
    test_tensor single = test_input(0, no_shape, TEST_PACKED, 21, 1.0f);
    refuse(HUSK_INVALID_ARGUMENT, "x", &params, NULL, &y.tensor);
    refuse(HUSK_INVALID_ARGUMENT, "y", &params, &x.tensor, NULL);
    refuse(HUSK_INVALID_ARGUMENT, "y", &params, &x.tensor, &turned.tensor);
    refuse(HUSK_INVALID_ARGUMENT, "x", &params, &single.tensor, &y.tensor);
    refuse(HUSK_UNSUPPORTED, "y", &params, &x.tensor, &whole.tensor);
    refuse(HUSK_UNSUPPORTED, "x", &params, &whole.tensor, &y.tensor);
    husk_tensor narrow = y.tensor;
    narrow.dtype = HUSK_F16;
    narrow.offset *= 2;
    refuse(HUSK_UNSUPPORTED, "y", &params, &x.tensor, &narrow);
    params.axis = 2;
    refuse(HUSK_INVALID_ARGUMENT, "axis is 2, must be -2 to 1", &params, &x.tensor, &y.tensor);
    params.axis = -3;
    refuse(HUSK_INVALID_ARGUMENT, "axis is -3, must be -2 to 1", &params, &x.tensor, &y.tensor);
    params = HUSK_MAKE(husk_softmax_params, .variant = "row", .axis = -1);
    refuse(HUSK_INVALID_ARGUMENT, "row", &params, &x.tensor, &y.tensor);
    params = HUSK_MAKE(husk_softmax_params, .log = 1, .axis = -1);
    params.size = 4096;
    refuse(HUSK_INVALID_ARGUMENT, "params", &params, &x.tensor, &y.tensor);
    params = HUSK_MAKE(husk_softmax_params, .log = 1, .axis = -1);
    ck_assert_int_eq(husk_softmax(NULL, &params, &x.tensor, &y.tensor), HUSK_INVALID_ARGUMENT);

    husk_tensor bad = x.tensor;
    bad.shape[0] = -4;
    refuse(HUSK_INVALID_ARGUMENT, "x", &params, &bad, &y.tensor);
    bad = x.tensor;
    bad.offset += 1; // its end is past the buffer's
    refuse(HUSK_INVALID_ARGUMENT, "x", &params, &bad, &y.tensor);
    bad = y.tensor;
    bad.strides[0] = 3; // rows of 6 elements 3 apart
    bad.strides[1] = 1;
    refuse(HUSK_INVALID_ARGUMENT, "y", &params, &x.tensor, &bad);
    bad = y.tensor;
    bad.offset += 6; // in place, but not quite
    refuse(HUSK_INVALID_ARGUMENT, "y", &params, &y.tensor, &bad);
    bad = y.tensor;
    bad.buffer = NULL;
    refuse(HUSK_INVALID_ARGUMENT, "y", &params, &x.tensor, &bad);
    test_untouched(&y);
    test_release(&x);
    test_release(&y);
    test_release(&turned);
    test_release(&whole);
    test_release(&single);
}
END_TEST

// A variant that does not compute a problem says so and is not replaced.
START_TEST(refused_variants)
{
    const int64_t shape[] = {3, 9000};
    husk_softmax_params params = HUSK_MAKE(husk_softmax_params, .variant = "columns", .axis = -1);
    test_tensor x = test_input(2, shape, TEST_PACKED, 23, 1.0f);
    test_tensor y = test_output(HUSK_F32, 2, shape, TEST_PACKED);
    refuse(HUSK_UNSUPPORTED, "columns", &params, &x.tensor, &y.tensor);
    test_untouched(&y);
    test_release(&x);
    test_release(&y);
}
END_TEST

START_TEST(enough_configurations)
{
    ck_assert_msg(test_executed("softmax") >= 100, "only %ld configurations were executed", test_executed("softmax"));
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("softmax");
    TCase *tests = tcase_create("softmax");
    suite_add_tcase(suite, tests);
    if (test_tier_is("dtypes")) {
        tcase_add_loop_test(tests, narrow_dtypes, 0, 12);
        return test_main(suite);
    }
    tcase_add_loop_test(tests, axes_and_layouts, 0, 24);
    tcase_add_loop_test(tests, row_lengths, 0, LENGTHS);
    tcase_add_loop_test(tests, neighbouring_rows, 0, 15);
    tcase_add_loop_test(tests, long_rows, 0, 4);
    tcase_add_loop_test(tests, many_terms_of_one_sign, 0, 8);
    tcase_add_loop_test(tests, in_place, 0, 4);
    tcase_add_loop_test(tests, special_values, 0, 8);
    tcase_add_test(tests, runs_agree);
    tcase_add_test(tests, nothing);
    tcase_add_test(tests, default_params);
    tcase_add_test(tests, the_check_sees_mistakes);
    tcase_add_test(tests, bad_input);
    tcase_add_test(tests, refused_variants);
    tcase_add_test(tests, enough_configurations);
    return test_main(suite);
}
