// SPDX-License-Identifier: MIT
// ctest: tiers=default,long,dtypes timeout=90
// The gradient of softmax and log-softmax: finite differences; every axis, variant and layout against the reference;
// adding, in place, special values; bad input.
#include "ref/softmax/softmax.h"
#include "support/gradient.h"
#include "support/support.h"

#include <math.h>
#include <stdio.h>

static const char *const variants[] = {
    NULL, "rows", "columns", "workgroup:1x64", "workgroup:16x4", "registers:32x1", "registers:64x4", "registers:256x8"};
enum { VARIANTS = sizeof(variants) / sizeof(variants[0]) };

#define NAME "softmax_backward"

// ---- the reference is the gradient ----

typedef struct forward {
    husk_ref_softmax op;
    husk_ref_array *y;
} forward;

static void run_forward(void *user)
{
    forward *f = user;
    ck_assert(husk_ref_softmax_run(&f->op, f->y));
}

START_TEST(finite_differences)
{
    husk_ref_random random = {.seed = 900 + (uint64_t)_i};
    int64_t shape[HUSK_MAX_RANK];
    const int32_t rank = (int32_t)TEST_PICK(&random, 1, 2, 3, 4);
    const int32_t axis = (int32_t)husk_ref_random_below(&random, rank);
    for (int32_t d = 0; d < rank; d++)
        shape[d] = d == axis ? 2 + husk_ref_random_below(&random, 9) : 1 + husk_ref_random_below(&random, 4);
    husk_softmax_params params =
        HUSK_MAKE(husk_softmax_params, .axis = test_axis(&random, axis, rank), .log = (uint32_t)_i % 2);
    husk_ref_array x = test_array(rank, shape, (uint64_t)_i + 1, 2.0), y = test_array(rank, shape, 0, 0);
    husk_ref_array dy = test_array(rank, shape, (uint64_t)_i + 50, 1.0), dx = test_array(rank, shape, 0, 0);
    forward f = {{.params = &params, .x = &x}, &y};
    run_forward(&f);
    husk_ref_softmax_backward op = {.params = &params, .y = &y, .dy = &dy};
    ck_assert(husk_ref_softmax_backward_run(&op, &dx));
    test_differences(NAME, run_forward, &f, &x, &y, &dy, &dx, 7);
    test_array_release(&x);
    test_array_release(&y);
    test_array_release(&dy);
    test_array_release(&dx);
}
END_TEST
enum { DIFFERENCES = 24 };

// ---- every variant against the reference ----

static void check(void *user, const husk_ref_array *dx, husk_ref_report *report)
{
    husk_ref_function function = husk_ref_softmax_backward_function(user);
    husk_ref_check(&function, 1, dx, report);
}

static void describe(const husk_softmax_params *params, const husk_tensor *y, char *text, size_t capacity)
{
    size_t used =
        (size_t)snprintf(text, capacity, "%s%s %s axis=%d shape", params->log ? "log" : "plain",
                         params->accumulate ? " accumulate" : "", husk_dtype_name(y->dtype), (int)params->axis);
    for (int32_t d = 0; d < y->rank && used < capacity; d++)
        used += (size_t)snprintf(text + used, capacity - used, " %lld", (long long)y->shape[d]);
}

// y and dy into dx with every variant; all stay the caller's.
static void run_all(const husk_softmax_params *wanted, test_tensor *y, test_tensor *dy, test_tensor *dx)
{
    husk_softmax_params params = *wanted;
    husk_ref_softmax_backward op = {.params = &params, .y = &y->array, .dy = &dy->array};
    char text[200];
    if (params.accumulate)
        op.dx = &dx->before;
    describe(&params, &y->tensor, text, sizeof(text));
    ck_assert(husk_ref_softmax_backward_prepare(&op));
    for (int v = 0; v < VARIANTS; v++) {
        params.variant = variants[v];
        test_restore(dx);
        if (!test_ran(husk_softmax_backward(test_queue(), &params, &y->tensor, &dy->tensor, &dx->tensor), NAME,
                      variants[v]))
            continue;
        test_fetch(dx);
        husk_ref_report report = {0};
        check(&op, &dx->array, &report);
        test_accept(NAME, variants[v], text, &report);
    }
    husk_ref_softmax_backward_release(&op);
}

static void run_shape(husk_dtype dtype, const husk_softmax_params *params, int32_t rank, const int64_t *shape,
                      const test_layout layouts[3], uint64_t seed)
{
    const float scale = dtype == HUSK_F32 ? 2.0f : 1.0f;
    test_tensor y = test_input_of(dtype, rank, shape, layouts[0], seed, scale);
    test_tensor dy = test_input_of(dtype, rank, shape, layouts[1], seed + 1, 1.0f);
    test_tensor dx = params->accumulate ? test_inout_of(dtype, rank, shape, layouts[2], seed + 2, 1.0f)
                                        : test_output(dtype, rank, shape, layouts[2]);
    run_all(params, &y, &dy, &dx);
    test_release(&y);
    test_release(&dy);
    test_release(&dx);
}

static void run_any(husk_dtype dtype, husk_ref_random *random, uint64_t seed)
{
    int64_t shape[HUSK_MAX_RANK];
    test_layout layouts[3];
    const int32_t rank = (int32_t)TEST_PICK(random, 1, 2, 2, 3, 3, 4, 5, 8);
    const int32_t axis = (int32_t)husk_ref_random_below(random, rank);
    for (int32_t d = 0; d < rank; d++)
        shape[d] = d == axis ? test_pick_size(random, 64, rank > 4 ? 70 : 700)
                             : test_pick_size(random, 16,
                                              rank > 3   ? 4
                                              : rank > 2 ? 12
                                                         : 70);
    for (int i = 0; i < 3; i++)
        layouts[i] = i > 0 && test_one_in(random, 2) ? layouts[0] : test_pick_layout(random);
    const husk_softmax_params params = HUSK_MAKE(husk_softmax_params, .axis = test_axis(random, axis, rank),
                                                 .log = (uint32_t)husk_ref_random_below(random, 2),
                                                 .accumulate = test_one_in(random, 3) ? HUSK_ACCUMULATE_INPUTS : 0);
    run_shape(dtype, &params, rank, shape, layouts, seed);
}

START_TEST(axes_and_layouts)
{
    husk_ref_random random = {.seed = 100 + (uint64_t)_i};
    const int64_t rounds = test_is_long() ? 12 : 2;
    for (int64_t round = 0; round < rounds; round++)
        run_any(HUSK_F32, &random, (uint64_t)round);
}
END_TEST

// The tier "dtypes".
START_TEST(narrow_dtypes_too)
{
    husk_ref_random random = {.seed = 300 + (uint64_t)_i};
    for (uint64_t round = 0; round < 4; round++)
        run_any(test_dtype((int64_t)round), &random, round);
}
END_TEST

static const test_layout packed[3] = {TEST_PACKED, TEST_PACKED, TEST_PACKED};

// Vectors, blocks and shares end somewhere: lengths around them.
START_TEST(row_lengths)
{
    static const int64_t lengths[] = {1,    2,    3,    7,     15,    16,    17,    63,    64,    65,    100,
                                      255,  256,  257,  1000,  1023,  1024,  1025,  4095,  4096,  4097,  8191,
                                      8192, 8193, 9000, 16383, 16384, 16385, 20011, 65535, 65537, 131071};
    for (uint32_t is_log = 0; is_log < 2; is_log++) {
        const int64_t shape[] = {lengths[_i] > 20000 ? 2 : 5, lengths[_i]};
        const husk_softmax_params params =
            HUSK_MAKE(husk_softmax_params, .log = is_log, .accumulate = _i % 2 == (int)is_log ? HUSK_ACCUMULATE_ALL : 0,
                      .axis = -1);
        run_shape(HUSK_F32, &params, 2, shape, packed, 3);
    }
}
END_TEST
enum { LENGTHS = 32 };

// An axis before others: neighbouring rows, as many as vectors, strips and work-groups take, one less and more.
START_TEST(neighbouring_rows)
{
    static const int64_t inner[] = {1, 2, 7, 15, 16, 17, 31, 32, 33, 49, 64, 1023, 1024, 1025, 3000};
    static const int64_t lengths[] = {2, 3, 21, 100};
    for (int l = 0; l < 4; l++) {
        const int64_t shape[] = {3, lengths[l], inner[_i]};
        const husk_softmax_params params = HUSK_MAKE(husk_softmax_params, .axis = -2, .log = (uint32_t)l & 1);
        run_shape(HUSK_F32, &params, 3, shape, packed, 5);
    }
}
END_TEST

// Rows so long and few that they are shared among work-groups, whatever the axis.
START_TEST(long_rows)
{
    static const int64_t shapes[][3] = {{1, 524288, 1}, {1, 70001, 3}, {2, 40000, 1}, {1, 30000, 33}};
    const husk_softmax_params params = HUSK_MAKE(husk_softmax_params, .axis = -2, .log = (uint32_t)_i & 1);
    run_shape(HUSK_F32, &params, 3, shapes[_i], packed, 7);
}
END_TEST

// Errors of one sign: an axis before the last one, one that is alone, and dy that repeats along the axis.
START_TEST(many_terms_of_one_sign)
{
    const int64_t shape[] = {_i / 2 == 0 ? 40000 : 2, _i / 2 == 0 ? 20 : 150000, _i / 2 == 2 ? 2 : 1};
    const int32_t rank = _i / 2 == 2 ? 3 : 2;
    const husk_softmax_params params =
        HUSK_MAKE(husk_softmax_params, .axis = _i / 2 == 1 ? -1 : -2, .log = (uint32_t)_i % 2);
    test_tensor y = test_input_alike(rank, shape, TEST_PACKED, params.log ? -0.5f : 0.7f);
    test_tensor dy = test_input_alike(rank, shape, TEST_PACKED, 0.1f);
    test_tensor dx = test_output(HUSK_F32, rank, shape, TEST_PACKED);
    if (_i / 2 == 2) {
        dy.tensor.strides[0] = 1; // of the axis 0
        dy.tensor.strides[2] = 2;
        dy.array.strides[0] = 1;
        dy.array.strides[1] = 0;
        dy.array.strides[2] = 2;
    }
    run_all(&params, &y, &dy, &dx);
    test_release(&y);
    test_release(&dy);
    test_release(&dx);
}
END_TEST

// dx is dy, and dx is y.
START_TEST(in_place)
{
    static const test_layout layouts[] = {TEST_PACKED, TEST_PADDED, TEST_SPREAD, TEST_CHANNELS_LAST};
    static const int64_t shapes[][3] = {{3, 70, 41}, {2, 33, 19}, {1, 20000, 2}, {2, 2, 30000}};
    for (int v = 0; v < VARIANTS; v++) {
        for (int32_t option = 0; option < 12; option++) {
            const bool is_dy = option < 6;
            test_tensor other = test_input(3, shapes[_i], layouts[_i], 4, 1.0f);
            test_tensor own = test_inout(3, shapes[_i], layouts[_i], 5, 1.0f);
            test_tensor *y = is_dy ? &other : &own, *dy = is_dy ? &own : &other;
            const husk_softmax_params params = HUSK_MAKE(husk_softmax_params, .axis = -1 - option % 6 / 2,
                                                         .log = (uint32_t)option % 2, .variant = variants[v]);
            husk_ref_softmax_backward op = {
                .params = &params, .y = is_dy ? &other.array : &own.before, .dy = is_dy ? &own.before : &other.array};
            ck_assert(husk_ref_softmax_backward_prepare(&op));
            if (test_ran(husk_softmax_backward(test_queue(), &params, &y->tensor, &dy->tensor, &own.tensor), NAME,
                         variants[v])) {
                test_fetch(&own);
                husk_ref_report report = {0};
                check(&op, &own.array, &report);
                test_accept(NAME, variants[v], is_dy ? "in dy's place" : "in y's place", &report);
            }
            husk_ref_softmax_backward_release(&op);
            test_release(&other);
            test_release(&own);
        }
    }
}
END_TEST

static void set(test_tensor *tensor, int64_t row, int64_t column, double value)
{
    const int64_t index[] = {row, column};
    husk_ref_store(&tensor->array, husk_ref_offset(&tensor->array, index), value);
}

// Row by row: NaN in y, in dy; infinity in dy; e^-infinity, and 0; numbers too small for f32 to hold as normal ones.
START_TEST(special_values)
{
    static const int64_t lengths[] = {5, 40, 9000, 70000};
    const int64_t length = lengths[_i / 2], shape[] = {6, length};
    const husk_softmax_params params = HUSK_MAKE(husk_softmax_params, .log = (uint32_t)_i % 2, .axis = -1);
    test_tensor y = test_input(2, shape, _i % 4 < 2 ? TEST_PADDED : TEST_REVERSED, 11, 1.0f);
    test_tensor dy = test_input(2, shape, TEST_PACKED, 12, 1.0f);
    set(&y, 0, length / 2, NAN);
    set(&dy, 1, length - 1, NAN);
    set(&dy, 2, 0, INFINITY);
    set(&y, 3, length / 3, params.log ? -INFINITY : 0.0);
    for (int64_t i = 0; i < length; i++) {
        set(&y, 4, i, params.log ? -90.0 : 1e-39);
        set(&dy, 5, i, i % 2 ? 1e-39 : -1e-39);
    }
    test_input_update(&y);
    test_input_update(&dy);
    test_tensor dx = test_output(HUSK_F32, 2, shape, TEST_PACKED);
    run_all(&params, &y, &dy, &dx);
    test_release(&y);
    test_release(&dy);
    test_release(&dx);
}
END_TEST

// Ten runs, the same bits; a long row, which is cut, and short ones.
START_TEST(ten_runs_agree)
{
    static const int64_t shapes[][2] = {{1, 200000}, {300, 129}};
    for (int v = 0; v < VARIANTS; v++) {
        const husk_softmax_params params = HUSK_MAKE(husk_softmax_params, .variant = variants[v], .axis = -1);
        const size_t bytes = (size_t)(shapes[_i][0] * shapes[_i][1]) * sizeof(float);
        test_tensor y = test_input(2, shapes[_i], TEST_PACKED, 13, 1.0f);
        test_tensor dy = test_input(2, shapes[_i], TEST_PACKED, 14, 1.0f);
        test_tensor first = test_output(HUSK_F32, 2, shapes[_i], TEST_PACKED);
        test_tensor next = test_output(HUSK_F32, 2, shapes[_i], TEST_PACKED);
        for (int run = 0; run < 10; run++) {
            test_tensor *dx = run == 0 ? &first : &next;
            if (!test_ran(husk_softmax_backward(test_queue(), &params, &y.tensor, &dy.tensor, &dx->tensor), NAME,
                          variants[v]))
                break;
            test_fetch(dx);
            ck_assert_mem_eq(first.array.data, dx->array.data, bytes);
        }
        test_release(&y);
        test_release(&dy);
        test_release(&first);
        test_release(&next);
    }
}
END_TEST

START_TEST(nothing)
{
    static const int64_t shapes[][2] = {{0, 7}, {7, 0}, {0, 0}};
    for (int v = 0; v < VARIANTS; v++) {
        for (int32_t option = 0; option < 6; option++) {
            const husk_softmax_params params =
                HUSK_MAKE(husk_softmax_params, .axis = -1 - (option & 1), .variant = variants[v]);
            test_tensor y = test_input(2, shapes[option / 2], TEST_PACKED, 9, 2.0f);
            test_tensor dx = test_output(HUSK_F32, 2, shapes[option / 2], TEST_PACKED);
            test_ran(husk_softmax_backward(test_queue(), &params, &y.tensor, &y.tensor, &dx.tensor), NAME, variants[v]);
            test_untouched(&dx);
            test_release(&y);
            test_release(&dx);
        }
    }
}
END_TEST

// Default params, and y that is dy, too.
START_TEST(defaults)
{
    const int64_t shape[] = {6, 30};
    test_tensor y = test_input(2, shape, TEST_PACKED, 15, 1.0f);
    test_tensor dx = test_output(HUSK_F32, 2, shape, TEST_PACKED);
    test_ok(husk_softmax_backward(test_queue(), NULL, &y.tensor, &y.tensor, &dx.tensor));
    test_fetch(&dx);
    husk_ref_softmax_backward op = {.y = &y.array, .dy = &y.array};
    husk_ref_report report = {0};
    check(&op, &dx.array, &report);
    test_accept(NAME, NULL, "defaults", &report);
    test_release(&y);
    test_release(&dx);
}
END_TEST

START_TEST(the_check_sees_mistakes)
{
    const int64_t shape[] = {6, 50};
    for (uint32_t is_log = 0; is_log < 2; is_log++) {
        const husk_softmax_params params = HUSK_MAKE(husk_softmax_params, .log = is_log, .axis = -1);
        test_tensor y = test_input(2, shape, TEST_PACKED, 15, 1.0f);
        test_tensor dy = test_input(2, shape, TEST_PACKED, 16, 1.0f);
        test_tensor dx = test_output(HUSK_F32, 2, shape, TEST_PADDED);
        test_ok(husk_softmax_backward(test_queue(), &params, &y.tensor, &dy.tensor, &dx.tensor));
        test_fetch(&dx);
        husk_ref_softmax_backward op = {.params = &params, .y = &y.array, .dy = &dy.array};
        husk_ref_function function = husk_ref_softmax_backward_function(&op);
        test_planted(&function, &dx.array, check, &op);
        test_planted_guards(&dx);
        test_release(&y);
        test_release(&dy);
        test_release(&dx);
    }
}
END_TEST

// ---- bad input ----

static void refuse(husk_status wanted, const char *argument, const husk_softmax_params *params, const husk_tensor *y,
                   const husk_tensor *dy, const husk_tensor *dx)
{
    test_refused(husk_softmax_backward(test_silent_queue(), params, y, dy, dx), wanted, argument);
}

START_TEST(bad_params)
{
    const int64_t shape[] = {4, 6};
    test_tensor y = test_input(2, shape, TEST_PACKED, 19, 1.0f);
    test_tensor dx = test_output(HUSK_F32, 2, shape, TEST_PACKED);
    husk_softmax_params params = HUSK_MAKE(husk_softmax_params, .axis = -3);
    refuse(HUSK_INVALID_ARGUMENT, "axis is ", &params, &y.tensor, &y.tensor, &dx.tensor);
    params = HUSK_MAKE(husk_softmax_params, .accumulate = 4, .axis = -1);
    refuse(HUSK_INVALID_ARGUMENT, "accumulate", &params, &y.tensor, &y.tensor, &dx.tensor);
    params = HUSK_MAKE(husk_softmax_params, .variant = "row", .axis = -1);
    refuse(HUSK_INVALID_ARGUMENT, "row", &params, &y.tensor, &y.tensor, &dx.tensor);
    params = HUSK_MAKE(husk_softmax_params, .log = 1, .axis = -1);
    params.size = 4096;
    refuse(HUSK_INVALID_ARGUMENT, "params", &params, &y.tensor, &y.tensor, &dx.tensor);
    params = HUSK_MAKE(husk_softmax_params, .log = 1, .axis = -1);
    ck_assert_int_eq(husk_softmax_backward(NULL, &params, &y.tensor, &y.tensor, &dx.tensor), HUSK_INVALID_ARGUMENT);
    test_untouched(&dx);
    test_release(&y);
    test_release(&dx);
}
END_TEST

START_TEST(bad_tensors)
{
    const int64_t shape[] = {4, 6}, other[] = {6, 4}, no_shape[] = {0};
    const husk_softmax_params params = HUSK_MAKE(husk_softmax_params, .log = 1, .axis = -1);
    test_tensor y = test_input(2, shape, TEST_PACKED, 19, 1.0f), dy = test_input(2, shape, TEST_PACKED, 20, 1.0f);
    test_tensor dx = test_output(HUSK_F32, 2, shape, TEST_PACKED);
    test_tensor turned = test_output(HUSK_F32, 2, other, TEST_PACKED);
    test_tensor whole = test_output(HUSK_I32, 2, shape, TEST_PACKED);
    test_tensor half = test_output(HUSK_F16, 2, shape, TEST_PACKED);
    test_tensor single = test_input(0, no_shape, TEST_PACKED, 21, 1.0f);
    refuse(HUSK_INVALID_ARGUMENT, "y", &params, NULL, &dy.tensor, &dx.tensor);
    refuse(HUSK_INVALID_ARGUMENT, "dy", &params, &y.tensor, NULL, &dx.tensor);
    refuse(HUSK_INVALID_ARGUMENT, "dx", &params, &y.tensor, &dy.tensor, NULL);
    refuse(HUSK_INVALID_ARGUMENT, "y", &params, &single.tensor, &dy.tensor, &dx.tensor);
    refuse(HUSK_INVALID_ARGUMENT, "dy", &params, &y.tensor, &turned.tensor, &dx.tensor);
    refuse(HUSK_INVALID_ARGUMENT, "dx", &params, &y.tensor, &dy.tensor, &turned.tensor);
    refuse(HUSK_UNSUPPORTED, "y", &params, &whole.tensor, &dy.tensor, &dx.tensor);
    refuse(HUSK_UNSUPPORTED, "dy", &params, &y.tensor, &half.tensor, &dx.tensor);
    refuse(HUSK_UNSUPPORTED, "dx", &params, &y.tensor, &dy.tensor, &half.tensor);

    husk_tensor bad = y.tensor;
    bad.shape[0] = -4;
    refuse(HUSK_INVALID_ARGUMENT, "y", &params, &bad, &dy.tensor, &dx.tensor);
    bad = dy.tensor;
    bad.offset += 1; // its end is past the buffer's
    refuse(HUSK_INVALID_ARGUMENT, "dy", &params, &y.tensor, &bad, &dx.tensor);
    bad = dx.tensor;
    bad.strides[0] = 3; // rows of 6 elements 3 apart
    bad.strides[1] = 1;
    refuse(HUSK_INVALID_ARGUMENT, "dx", &params, &y.tensor, &dy.tensor, &bad);
    bad = dx.tensor;
    bad.offset += 6; // in place, but not quite
    refuse(HUSK_INVALID_ARGUMENT, "dx", &params, &dx.tensor, &dy.tensor, &bad);
    refuse(HUSK_INVALID_ARGUMENT, "dx", &params, &y.tensor, &dx.tensor, &bad);
    bad = dx.tensor;
    bad.buffer = NULL;
    refuse(HUSK_INVALID_ARGUMENT, "dx", &params, &y.tensor, &dy.tensor, &bad);
    test_untouched(&dx);
    test_release(&y);
    test_release(&dy);
    test_release(&dx);
    test_release(&turned);
    test_release(&whole);
    test_release(&half);
    test_release(&single);
}
END_TEST

// A variant that does not compute a problem says so and is not replaced.
START_TEST(refused_variants)
{
    const int64_t shape[] = {2, 3, 90};
    const husk_softmax_params params = HUSK_MAKE(husk_softmax_params, .axis = -1, .variant = "columns");
    test_tensor y = test_input(3, shape, TEST_PACKED, 23, 1.0f);
    test_tensor dx = test_output(HUSK_F32, 3, shape, TEST_PACKED);
    refuse(HUSK_UNSUPPORTED, "columns", &params, &y.tensor, &y.tensor, &dx.tensor);
    test_untouched(&dx);
    test_release(&y);
    test_release(&dx);
}
END_TEST

START_TEST(enough_configurations)
{
    ck_assert_msg(test_executed(NAME) >= 120, "only %ld configurations were executed", test_executed(NAME));
}
END_TEST

int main(void)
{
    Suite *suite = suite_create(NAME);
    TCase *tests = tcase_create(NAME);
    suite_add_tcase(suite, tests);
    if (test_tier_is("dtypes")) {
        tcase_add_loop_test(tests, narrow_dtypes_too, 0, 12);
        return test_main(suite);
    }
    tcase_add_loop_test(tests, finite_differences, 0, DIFFERENCES);
    tcase_add_loop_test(tests, axes_and_layouts, 0, 24);
    tcase_add_loop_test(tests, row_lengths, 0, LENGTHS);
    tcase_add_loop_test(tests, neighbouring_rows, 0, 15);
    tcase_add_loop_test(tests, long_rows, 0, 4);
    tcase_add_loop_test(tests, many_terms_of_one_sign, 0, 6);
    tcase_add_loop_test(tests, in_place, 0, 4);
    tcase_add_loop_test(tests, special_values, 0, 8);
    tcase_add_loop_test(tests, ten_runs_agree, 0, 2);
    tcase_add_test(tests, nothing);
    tcase_add_test(tests, defaults);
    tcase_add_test(tests, the_check_sees_mistakes);
    tcase_add_test(tests, bad_params);
    tcase_add_test(tests, bad_tensors);
    tcase_add_test(tests, refused_variants);
    tcase_add_test(tests, enough_configurations);
    return test_main(suite);
}
