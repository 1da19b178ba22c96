// SPDX-License-Identifier: MIT
// ctest: timeout=30
// The references: numbers worked out by hand, bounds, layouts, and what is refused.
#include <math.h>

#include "verify/runner.h"

static husk_error error;

static husk_verify_array matrix(const float *data, int64_t rows, int64_t columns)
{
    const int64_t shape[] = {rows, columns};
    return husk_verify_array_make(data, HUSK_F32, 2, shape);
}

// All results are these; and with bounds a right output passes, and one that is off by 2^-10 of its size does not.
static void expect_numbers(const double *expected, const double *bounds, const double *wanted, int count)
{
    float actual[16];
    husk_verify_report report;
    const husk_verify_array array = husk_verify_vector(actual, HUSK_F32, count);
    for (int i = 0; i < count; ++i) {
        ck_assert_msg(fabs(expected[i] - wanted[i]) <= 1e-12 * fabs(wanted[i]), "[%d] is %.17g, not %.17g", i,
                      expected[i], wanted[i]);
        ck_assert(bounds[i] >= 0);
        actual[i] = (float)wanted[i];
    }
    ck_assert_msg(husk_verify_compare(&array, expected, bounds, NULL, &report), "%s", report.text);
    for (int i = 0; i < count; ++i) {
        const float right = actual[i];
        actual[i] = right == 0 ? 1 : right * (1 + 0x1p-10f);
        ck_assert(!husk_verify_compare(&array, expected, bounds, NULL, &report));
        ck_assert_int_eq(report.wrong, 1);
        ck_assert_int_eq(report.worst, i);
        actual[i] = right;
    }
}

static const float a_data[] = {1, 2, 3, 4, 5, 6}, b_data[] = {1, -1, 2, 0, 1, 3};

START_TEST(test_gemm)
{
    double expected[4], bounds[4];
    float c_data[] = {1, 2, 3, 4};
    const float bias_data[] = {10, 20};
    const husk_verify_array a = matrix(a_data, 2, 3), b = matrix(b_data, 3, 2), c = matrix(c_data, 2, 2);
    const husk_verify_array c_shape = matrix(NULL, 2, 2), row = husk_verify_vector(bias_data, HUSK_F32, 2);
    const husk_verify_array column = matrix(bias_data, 2, 1);
    ck_ok(husk_verify_gemm(NULL, 1, &a, &b, NULL, 0, &c_shape, expected, bounds, &error), &error);
    expect_numbers(expected, bounds, (const double[]){8, 8, 20, 14}, 4);
    // (4 + 2 sqrt 3) 2^-24 (1 + 4 + 3), and three denormals
    ck_assert(fabs(bounds[0] - (4 + 2 * sqrt(3)) * 0x1p-24 * 8) < 1e-20);
    ck_ok(husk_verify_gemm(NULL, 2, &a, &b, &row, -1, &c, expected, bounds, &error), &error);
    expect_numbers(expected, bounds, (const double[]){25, 34, 47, 44}, 4);
    ck_ok(husk_verify_gemm(NULL, 1, &a, &b, &column, 0, &c, expected, bounds, &error), &error);
    expect_numbers(expected, bounds, (const double[]){18, 18, 40, 34}, 4);
    const husk_gemm_params relu = {.size = sizeof relu, .activation = HUSK_ACT_RELU};
    ck_ok(husk_verify_gemm(&relu, -1, &a, &b, &row, 0, &c, expected, NULL, &error), &error);
    ck_assert(expected[0] == 2 && expected[1] == 12 && expected[2] == 0 && expected[3] == 6);
}
END_TEST

// The same product with both factors transposed, and as a batch that shares b.
START_TEST(test_gemm_layouts)
{
    double expected[8], bounds[8];
    const float at_data[] = {1, 4, 2, 5, 3, 6}, bt_data[] = {1, 2, 1, -1, 0, 3};
    float two[12];
    const husk_verify_array at = matrix(at_data, 3, 2), bt = matrix(bt_data, 2, 3), b = matrix(b_data, 3, 2);
    const husk_verify_array c = matrix(NULL, 2, 2);
    const husk_gemm_params both = {.size = sizeof both, .transpose_a = 1, .transpose_b = 1};
    ck_ok(husk_verify_gemm(&both, 1, &at, &bt, NULL, 0, &c, expected, bounds, &error), &error);
    expect_numbers(expected, bounds, (const double[]){8, 8, 20, 14}, 4);
    memcpy(two, a_data, sizeof a_data);
    memcpy(two + 6, a_data, sizeof a_data);
    two[6] = 2;
    const int64_t a_shape[] = {2, 2, 3}, c_shape[] = {2, 2, 2};
    const husk_verify_array batch = husk_verify_array_make(two, HUSK_F32, 3, a_shape);
    const husk_verify_array out = husk_verify_array_make(NULL, HUSK_F32, 3, c_shape);
    ck_ok(husk_verify_gemm(NULL, 1, &batch, &b, NULL, 0, &out, expected, bounds, &error), &error);
    expect_numbers(expected, bounds, (const double[]){8, 8, 20, 14, 9, 7, 20, 14}, 8);
}
END_TEST

// The output's dtype decides: f64 is computed in f64, and what storing f16 costs is the comparison's.
START_TEST(test_gemm_dtypes)
{
    double expected[4], bounds[4], narrow[4];
    const int64_t shape[] = {2, 2};
    const husk_verify_array a = matrix(a_data, 2, 3), b = matrix(b_data, 3, 2);
    const husk_verify_array wide = husk_verify_array_make(NULL, HUSK_F64, 2, shape);
    const husk_verify_array half = husk_verify_array_make(NULL, HUSK_F16, 2, shape);
    ck_ok(husk_verify_gemm(NULL, 1, &a, &b, NULL, 0, &half, expected, narrow, &error), &error);
    ck_ok(husk_verify_gemm(NULL, 1, &a, &b, NULL, 0, &wide, expected, bounds, &error), &error);
    ck_assert(bounds[0] > 0 && fabs(bounds[0] / narrow[0] / 0x1p-28 - 1) < 1e-6);
}
END_TEST

START_TEST(test_gemm_refusals)
{
    double expected[4];
    float c_data[4] = {0};
    const husk_verify_array a = matrix(a_data, 2, 3), b = matrix(b_data, 3, 2), c = matrix(c_data, 2, 2);
    const husk_verify_array wrong = matrix(c_data, 2, 1), none = matrix(NULL, 2, 3), shape = matrix(NULL, 2, 2);
    const husk_verify_array vector = husk_verify_vector(a_data, HUSK_F32, 6),
                            whole = {.data = c_data, .dtype = HUSK_I32, .rank = 2, .shape = {2, 2}};
    const husk_gemm_params unset = {0}, act = {.size = sizeof act, .activation = (husk_act)77};
    const struct {
        const husk_gemm_params *params;
        const husk_verify_array *a, *b, *bias, *c;
        float beta;
        double *expected;
        const char *words;
    } calls[] = {
        {NULL, NULL, &b, NULL, &c, 0, expected, "husk_verify_gemm: a: is NULL"},
        {NULL, &none, &b, NULL, &c, 0, expected, "a: data is NULL"},
        {NULL, &vector, &b, NULL, &c, 0, expected, "a: has rank 1"},
        {NULL, &a, &a, NULL, &c, 0, expected, "b: has k = 2, a has k = 3"},
        {NULL, &a, &b, NULL, &wrong, 0, expected, "c: shape is [2, 1], must be [2, 2]"},
        {NULL, &a, &b, &vector, &c, 0, expected, "bias: is [6]"},
        {NULL, &a, &b, NULL, &shape, 1, expected, "c: data is NULL"},
        {NULL, &a, &b, NULL, &c, 0, NULL, "expected: is NULL"},
        {&unset, &a, &b, NULL, &c, 0, expected, "params: size is 0"},
        {&act, &a, &b, NULL, &c, 0, expected, "params: activation 77"},
    };
    for (size_t i = 0; i < sizeof calls / sizeof calls[0]; ++i)
        ck_refused(husk_verify_gemm(calls[i].params, 1, calls[i].a, calls[i].b, calls[i].bias, calls[i].beta,
                                    calls[i].c, calls[i].expected, NULL, &error),
                   HUSK_INVALID_ARGUMENT, &error, calls[i].words);
    ck_refused(husk_verify_gemm(NULL, 1, &a, &b, NULL, 0, &whole, expected, NULL, &error), HUSK_UNSUPPORTED, &error,
               "c: is i32");
    ck_assert_int_eq(husk_verify_gemm(NULL, 1, &a, &b, NULL, 0, &wrong, expected, NULL, NULL), HUSK_INVALID_ARGUMENT);
}
END_TEST

// A 3 x 3 image, a 2 x 2 filter.
START_TEST(test_conv_and_pool)
{
    double expected[16], bounds[16];
    const float x_data[] = {1, 2, 3, 4, 5, 6, 7, 8, 9}, w_data[] = {1, 0, 0, -2}, bias_data[] = {0.5f};
    const int64_t x_shape[] = {1, 1, 3, 3}, w_shape[] = {1, 1, 2, 2}, y_shape[] = {1, 1, 2, 2};
    const husk_verify_array x = husk_verify_array_make(x_data, HUSK_F32, 4, x_shape);
    const husk_verify_array w = husk_verify_array_make(w_data, HUSK_F32, 4, w_shape);
    const husk_verify_array y = husk_verify_array_make(NULL, HUSK_F32, 4, y_shape);
    const husk_verify_array bias = husk_verify_vector(bias_data, HUSK_F32, 1);
    ck_ok(husk_verify_conv(NULL, &x, &w, &bias, &y, expected, bounds, &error), &error);
    expect_numbers(expected, bounds, (const double[]){-8.5, -9.5, -11.5, -12.5}, 4);
    const husk_conv_params padded = {.size = sizeof padded, .stride = {2, 2}, .pad = {1, 1}};
    ck_ok(husk_verify_conv(&padded, &x, &w, NULL, &y, expected, bounds, &error), &error);
    expect_numbers(expected, bounds, (const double[]){-2, -6, -14, 5 - 18}, 4);

    husk_pool_params pool = {.size = sizeof pool, .window = {2, 2}, .stride = {1, 1}};
    ck_ok(husk_verify_pool(&pool, &x, &y, expected, bounds, &error), &error);
    expect_numbers(expected, bounds, (const double[]){5, 6, 8, 9}, 4);
    ck_assert(bounds[0] == 0);
    pool.kind = HUSK_POOL_AVG;
    ck_ok(husk_verify_pool(&pool, &x, &y, expected, bounds, &error), &error);
    expect_numbers(expected, bounds, (const double[]){3, 4, 6, 7}, 4);
}
END_TEST

START_TEST(test_window_refusals)
{
    double expected[16];
    float data[16] = {0};
    const int64_t x_shape[] = {1, 2, 2, 2}, w_shape[] = {1, 2, 3, 3}, y_shape[] = {1, 1, 1, 1};
    const husk_verify_array x = husk_verify_array_make(data, HUSK_F32, 4, x_shape);
    const husk_verify_array w = husk_verify_array_make(data, HUSK_F32, 4, w_shape);
    const husk_verify_array y = husk_verify_array_make(NULL, HUSK_F32, 4, y_shape);
    husk_conv_params conv = {.size = sizeof conv, .stride = {-1}};
    husk_pool_params pool = {.size = sizeof pool};
    ck_refused(husk_verify_conv(&conv, &x, &x, NULL, &y, expected, NULL, &error), HUSK_INVALID_ARGUMENT, &error,
               "params: stride[0] is -1");
    conv.stride[0] = 0;
    ck_refused(husk_verify_conv(&conv, &x, &w, NULL, &y, expected, NULL, &error), HUSK_INVALID_ARGUMENT, &error,
               "x: has 2 elements with its padding in space dimension 0");
    conv.groups = 3;
    ck_refused(husk_verify_conv(&conv, &x, &w, NULL, &y, expected, NULL, &error), HUSK_INVALID_ARGUMENT, &error,
               "x: has 2 channels, no multiple of groups, 3");
    ck_refused(husk_verify_pool(NULL, &x, &y, expected, NULL, &error), HUSK_INVALID_ARGUMENT, &error,
               "params: is NULL");
    ck_refused(husk_verify_pool(&pool, &x, &y, expected, NULL, &error), HUSK_INVALID_ARGUMENT, &error,
               "params: window[0] is 0");
    pool.window[0] = pool.window[1] = 2;
    ck_refused(husk_verify_pool(&pool, &x, &y, expected, NULL, &error), HUSK_INVALID_ARGUMENT, &error,
               "y: shape is [1, 1, 1, 1], must be [1, 2, 1, 1]");
    pool.pad[1] = 2;
    ck_refused(husk_verify_pool(&pool, &x, &y, expected, NULL, &error), HUSK_INVALID_ARGUMENT, &error,
               "params: pad[1] is not less than the window's extent of 2");
    pool.pad_end_extra[1] = -2;
    ck_refused(husk_verify_pool(&pool, &x, &y, expected, NULL, &error), HUSK_INVALID_ARGUMENT, &error,
               "params: pad[1] is not less");
    pool.pad[1] = 0;
    pool.pad_end_extra[1] = 2;
    ck_refused(husk_verify_pool(&pool, &x, &y, expected, NULL, &error), HUSK_INVALID_ARGUMENT, &error,
               "params: pad plus pad_end_extra[1] is not less");
}
END_TEST

START_TEST(test_softmax)
{
    double expected[4], bounds[4];
    const float data[] = {0, 1, 2, 0};
    const husk_verify_array x = matrix(data, 2, 2), flat = husk_verify_vector(data, HUSK_F32, 4);
    husk_softmax_params params = husk_softmax_defaults();
    const double e = exp(1), f = exp(2);
    ck_ok(husk_verify_softmax(NULL, &x, &x, expected, bounds, &error), &error);
    expect_numbers(expected, bounds, (const double[]){1 / (1 + e), e / (1 + e), f / (1 + f), 1 / (1 + f)}, 4);
    params.axis = 0;
    ck_ok(husk_verify_softmax(&params, &x, &x, expected, bounds, &error), &error);
    expect_numbers(expected, bounds, (const double[]){1 / (1 + f), e / (1 + e), f / (1 + f), 1 / (1 + e)}, 4);
    params.axis = 2;
    ck_refused(husk_verify_softmax(&params, &x, &x, expected, bounds, &error), HUSK_INVALID_ARGUMENT, &error,
               "params: axis is 2");
    ck_refused(husk_verify_softmax(NULL, &x, &flat, expected, bounds, &error), HUSK_INVALID_ARGUMENT, &error,
               "y: shape is [4], must be [2, 2]");
}
END_TEST

START_TEST(test_norm)
{
    double expected[4], bounds[4];
    const float data[] = {-1, 1, 2, 6}, scale_data[] = {1, 2}, mean_data[] = {1, 2}, variance_data[] = {4, 1};
    const husk_verify_array x = matrix(data, 2, 2), scale = husk_verify_vector(scale_data, HUSK_F32, 2);
    const husk_verify_array mean = husk_verify_vector(mean_data, HUSK_F32, 2);
    const husk_verify_array variance = husk_verify_vector(variance_data, HUSK_F32, 2);
    husk_norm_params params = husk_norm_defaults(HUSK_NORM_LAYER);
    params.epsilon = 0;
    ck_ok(husk_verify_norm(&params, &x, &scale, NULL, NULL, NULL, &x, expected, bounds, &error), &error);
    expect_numbers(expected, bounds, (const double[]){-1, 2, -1, 2}, 4);
    ck_refused(husk_verify_norm(&params, &x, NULL, NULL, &mean, NULL, &x, expected, bounds, &error),
               HUSK_INVALID_ARGUMENT, &error, "running_mean: must be NULL");
    params = husk_norm_defaults(HUSK_NORM_BATCH);
    params.epsilon = 0;
    ck_ok(husk_verify_norm(&params, &x, NULL, &scale, &mean, &variance, &x, expected, bounds, &error), &error);
    expect_numbers(expected, bounds, (const double[]){0, 1, 1.5, 6}, 4);
    ck_refused(husk_verify_norm(&params, &x, NULL, NULL, &mean, NULL, &x, expected, bounds, &error),
               HUSK_INVALID_ARGUMENT, &error, "running_variance: is NULL");
    ck_refused(husk_verify_norm(&params, &x, &x, NULL, &mean, &variance, &x, expected, bounds, &error),
               HUSK_INVALID_ARGUMENT, &error, "scale: shape is [2, 2], must be [2]");
}
END_TEST

START_TEST(test_elementwise)
{
    double expected[4], bounds[4];
    const float data[] = {-2, 1, 4, 9}, row_data[] = {10, 20};
    const husk_verify_array x = matrix(data, 2, 2), row = husk_verify_vector(row_data, HUSK_F32, 2);
    const husk_verify_array three = husk_verify_vector(data, HUSK_F32, 3);
    const husk_activation_params silu = {.size = sizeof silu, .activation = HUSK_ACT_SILU};
    husk_unary_params unary = {.size = sizeof unary, .op = HUSK_UNARY_SQUARE};
    husk_binary_params binary = husk_binary_defaults(HUSK_BINARY_SUBTRACT);
    ck_ok(husk_verify_activation(&silu, &x, &x, expected, bounds, &error), &error);
    expect_numbers(expected, bounds,
                   (const double[]){-2 / (1 + exp(2)), 1 / (1 + exp(-1)), 4 / (1 + exp(-4)), 9 / (1 + exp(-9))}, 4);
    ck_ok(husk_verify_unary(&unary, &x, &x, expected, bounds, &error), &error);
    expect_numbers(expected, bounds, (const double[]){4, 1, 16, 81}, 4);
    ck_ok(husk_verify_binary(&binary, &row, &x, &x, expected, bounds, &error), &error);
    expect_numbers(expected, bounds, (const double[]){12, 19, 6, 11}, 4);
    unary.op = (husk_unary_op)99;
    binary.op = (husk_binary_op)99;
    ck_refused(husk_verify_unary(&unary, &x, &x, expected, NULL, &error), HUSK_INVALID_ARGUMENT, &error, "op 99");
    ck_refused(husk_verify_binary(&binary, &x, &x, &x, expected, NULL, &error), HUSK_INVALID_ARGUMENT, &error, "op 99");
    ck_refused(husk_verify_binary(NULL, &x, &three, &x, expected, NULL, &error), HUSK_INVALID_ARGUMENT, &error,
               "b: its shape does not go with a's, [2, 2]");
    ck_refused(husk_verify_activation(NULL, &x, &row, expected, NULL, &error), HUSK_INVALID_ARGUMENT, &error,
               "y: shape is [2], must be [2, 2]");
}
END_TEST

START_TEST(test_reduce)
{
    double expected[4], bounds[4];
    int32_t at[2] = {1, 0};
    husk_verify_report report;
    const float data[] = {1, 5, 3, 2};
    const husk_verify_array x = matrix(data, 2, 2), y = husk_verify_vector(NULL, HUSK_F32, 2);
    const husk_verify_array kept = matrix(NULL, 2, 1), positions = husk_verify_vector(at, HUSK_I32, 2);
    const husk_verify_array empty = matrix(data, 2, 0);
    husk_reduce_params params = {.size = sizeof params, .axis_count = 1, .axes = {-1}};
    ck_ok(husk_verify_reduce(&params, &x, &y, expected, bounds, &error), &error);
    expect_numbers(expected, bounds, (const double[]){6, 5}, 2);
    ck_ok(husk_verify_reduce(&params, &x, &kept, expected, bounds, &error), &error);
    expect_numbers(expected, bounds, (const double[]){6, 5}, 2);
    params.kind = HUSK_REDUCE_ARGMAX;
    ck_ok(husk_verify_reduce(&params, &x, &positions, expected, bounds, &error), &error);
    ck_assert_msg(husk_verify_compare(&positions, expected, bounds, NULL, &report), "%s", report.text);
    ck_refused(husk_verify_reduce(&params, &x, &y, expected, bounds, &error), HUSK_UNSUPPORTED, &error, "y: is f32");
    params.kind = HUSK_REDUCE_MAX;
    ck_refused(husk_verify_reduce(&params, &empty, &y, expected, bounds, &error), HUSK_INVALID_ARGUMENT, &error,
               "x: has no elements");
    ck_refused(husk_verify_reduce(NULL, &x, &y, expected, bounds, &error), HUSK_INVALID_ARGUMENT, &error,
               "y: shape is [2], must be [1, 1]");
    params.axes[0] = 2;
    ck_refused(husk_verify_reduce(&params, &x, &y, expected, bounds, &error), HUSK_INVALID_ARGUMENT, &error,
               "params: axes[0] is 2");
}
END_TEST

// What has no elements is right, and nothing is written.
START_TEST(test_zero_sizes)
{
    double expected = 7;
    husk_verify_report report;
    const husk_verify_array a = matrix(NULL, 0, 3), b = matrix(b_data, 3, 2), c = matrix(NULL, 0, 2);
    const husk_verify_array x = matrix(NULL, 2, 0);
    ck_ok(husk_verify_gemm(NULL, 1, &a, &b, NULL, 0, &c, NULL, NULL, &error), &error);
    ck_ok(husk_verify_gemm(NULL, 1, &a, &b, NULL, 0, &c, &expected, &expected, &error), &error);
    ck_ok(husk_verify_softmax(NULL, &x, &x, &expected, NULL, &error), &error);
    ck_ok(husk_verify_norm(NULL, &x, NULL, NULL, NULL, NULL, &x, &expected, NULL, &error), &error);
    ck_ok(husk_verify_unary(NULL, &x, &x, &expected, NULL, &error), &error);
    ck_assert(expected == 7);
    ck_assert(husk_verify_compare(&c, &expected, NULL, NULL, &report));
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("references");
    TCase *cases = tcase_create("references");
    tcase_add_test(cases, test_gemm);
    tcase_add_test(cases, test_gemm_layouts);
    tcase_add_test(cases, test_gemm_dtypes);
    tcase_add_test(cases, test_gemm_refusals);
    tcase_add_test(cases, test_conv_and_pool);
    tcase_add_test(cases, test_window_refusals);
    tcase_add_test(cases, test_softmax);
    tcase_add_test(cases, test_norm);
    tcase_add_test(cases, test_elementwise);
    tcase_add_test(cases, test_reduce);
    tcase_add_test(cases, test_zero_sizes);
    suite_add_tcase(suite, cases);
    return run_suite(suite);
}
