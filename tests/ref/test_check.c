// SPDX-License-Identifier: MIT
// ctest: timeout=120
// The checks themselves: they accept right f32 results, and each is seen to catch what is planted.
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "ref/elementwise/activation.h"
#include "ref/check.h"
#include "ref/freivalds.h"
#include "ref/pool/pool.h"
#include "ref/random.h"
#include "ref/reduce/reduce.h"
#include "ref/rnn/rnn.h"
#include "ref/softmax/softmax.h"
#include "ref/elementwise/unary.h"
#include "support/main.h"
#include "support/planted.h"

static husk_ref_array make_random(int32_t rank, const int64_t *shape, uint64_t seed)
{
    husk_ref_array array = husk_ref_array_make(NULL, HUSK_F32, rank, shape);
    array.data = malloc((size_t)husk_ref_array_count(&array) * sizeof(float) + 1);
    ck_assert_ptr_nonnull(array.data);
    husk_ref_random_fill(array.data, husk_ref_array_count(&array), seed, 1.0f);
    return array;
}

// The function's values, each rounded to f32: what an excellent device would give.
static husk_ref_array make_right(const husk_ref_function *function, husk_dtype dtype)
{
    husk_ref_array array = husk_ref_array_make(NULL, dtype, function->rank, function->shape);
    array.data = calloc((size_t)husk_ref_array_count(&array) + 1, sizeof(double));
    ck_assert_ptr_nonnull(array.data);
    husk_ref_function_evaluate(function, &array);
    return array;
}

static double ratio_of(double expected, double bound, double actual)
{
    husk_ref_report report = {0};
    int64_t index[1] = {0};
    bool pass = husk_ref_report_add(&report, 1, index, expected, bound, actual);
    ck_assert_int_eq(pass, husk_ref_report_pass(&report));
    return report.max_ratio;
}

// The same for an output of that dtype.
static double stored_ratio_of(husk_dtype dtype, double expected, double bound, double actual)
{
    union {
        double f64;
        float f32;
        uint16_t f16;
    } memory;
    husk_ref_array array = husk_ref_array_make(&memory, dtype, 0, NULL);
    husk_ref_expected wanted = {.complete = true, .count = 1, .values = &expected, .bounds = &bound};
    husk_ref_report report = {0};
    husk_ref_store(&array, 0, actual);
    husk_ref_compare(&wanted, &array, &report);
    return report.max_ratio;
}

START_TEST(test_comparison_rules)
{
    ck_assert_double_eq(ratio_of(1.0, 0.5, 1.25), 0.5);
    ck_assert_double_eq(ratio_of(1.0, 0.5, 2.0), 2.0);
    ck_assert_double_eq(ratio_of(1.0, 0.0, 1.0), 0.0);
    ck_assert_double_eq(ratio_of(0.0, 0.0, -0.0), 0.0);
    ck_assert(isinf(ratio_of(0.0, 0.0, FLT_MIN)));
    ck_assert(isinf(ratio_of(1.0, 1.0, NAN)));
    ck_assert(isinf(ratio_of(NAN, 1.0, 1.0)));
    ck_assert_double_eq(ratio_of(NAN, 1.0, NAN), 0.0);
    ck_assert_double_eq(ratio_of(INFINITY, 0.0, INFINITY), 0.0);
    ck_assert(isinf(ratio_of(INFINITY, 1.0, -INFINITY)));
    ck_assert(isinf(ratio_of(INFINITY, 1.0, FLT_MAX)));
    ck_assert(isinf(ratio_of(FLT_MAX, 1e30, INFINITY)));
    ck_assert_double_eq(ratio_of(4e38, 1.0, INFINITY), 0.0); // past f32's range
    ck_assert(isinf(ratio_of(4e38, 1.0, -INFINITY)));
    ck_assert(isinf(ratio_of(1.0, NAN, 1.5))); // a bound that is none allows nothing
    ck_assert_double_eq(stored_ratio_of(HUSK_F16, 65510.0, 20.0, INFINITY), 0.0); // past f16's range
    ck_assert(isinf(stored_ratio_of(HUSK_F16, 65510.0, 5.0, INFINITY)));
    for (int sign = -1; sign <= 1; sign += 2) {
        ck_assert_double_eq(stored_ratio_of(HUSK_F16, sign * 7e4, 10.0, sign * INFINITY), 0.0);
        ck_assert(isinf(stored_ratio_of(HUSK_F16, sign * 7e4, 10.0, -sign * INFINITY)));
        ck_assert(isinf(stored_ratio_of(HUSK_BF16, sign * 3.4e38, 1e30, -sign * INFINITY)));
        ck_assert_double_eq(stored_ratio_of(HUSK_F32, sign * 4e38, 1.0, sign * INFINITY), 0.0);
        ck_assert(isinf(stored_ratio_of(HUSK_F64, sign * 4e38, 1.0, sign * INFINITY)));
    }
}
END_TEST

// What the next test expects everywhere.
static husk_ref_value same(const void *op, const int64_t *index)
{
    (void)index;
    return *(const husk_ref_value *)op;
}

// Whether an output of zeros passes, and whether that is said to prove nothing.
static bool zeros_pass(husk_ref_value wanted, husk_dtype dtype, bool *is_inconclusive)
{
    double zeros[32] = {0};
    const husk_ref_function function = {.op = &wanted, .at = same, .rank = 1, .shape = {32}, .cost = 1};
    const husk_ref_array y = husk_ref_array_make(zeros, dtype, 1, function.shape);
    husk_ref_report report = {0};
    husk_ref_check(&function, 1, &y, &report);
    *is_inconclusive = husk_ref_report_inconclusive(&report);
    return husk_ref_report_pass(&report);
}

START_TEST(test_zeros_within_bounds)
{
    static const struct {
        husk_ref_value wanted;
        husk_dtype dtype;
        bool is_inconclusive;
    } rows[] = {
        {{.value = 1e-41, .bound = HUSK_REF_TINY, .terms = 256}, HUSK_F32, true}, // what long products become
        {{.value = -1e-41, .bound = HUSK_REF_TINY, .terms = 256}, HUSK_BF16, true},
        {{.value = 1e-9, .bound = 1e-12, .terms = 1}, HUSK_F16, true}, // by the rounding to f16 alone
        {{.value = 0, .bound = 0, .terms = 1}, HUSK_F32, true},
        {{.value = 0, .bound = 0, .terms = 0}, HUSK_F32, false}, // by definition
        {{.value = 1e-41, .bound = HUSK_REF_TINY, .terms = 0}, HUSK_F32, false},
    };
    bool is_inconclusive;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        ck_assert_msg(zeros_pass(rows[i].wanted, rows[i].dtype, &is_inconclusive), "row %zu", i);
        ck_assert_msg(is_inconclusive == rows[i].is_inconclusive, "row %zu", i);
    }
    const double wrong[] = {1e-9, -1, INFINITY, NAN};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        ck_assert(!zeros_pass((husk_ref_value){wrong[i], 1, 1e-12, 1}, HUSK_F32, &is_inconclusive));
        ck_assert(!is_inconclusive);
    }
}
END_TEST

// Nor is a result inconclusive that differs from numbers which zero would stand for by less than a sixteenth of their
// size; exact zeros are something else.
START_TEST(test_zeros_within_wide_bounds)
{
    static const struct {
        double factor, zeros;
        bool is_inconclusive;
    } rows[] = {{1, 0, false}, {1.06, 0, false}, {1.07, 0, true}, {0.5, 0, true},
                {0, 0, true},  {1, 0.7, false},  {1, 0.8, true}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        husk_ref_report report = {0};
        for (int n = 0; n < 100; n++) {
            const double wanted = n < 100 * rows[i].zeros ? 0.0 : n - 50.5;
            husk_ref_report_add(&report, 1, (int64_t[]){n}, wanted, 60, wanted * rows[i].factor);
            husk_ref_report_add_zero(&report, wanted, 60, wanted * rows[i].factor);
        }
        ck_assert(husk_ref_report_pass(&report));
        ck_assert_msg(husk_ref_report_inconclusive(&report) == rows[i].is_inconclusive, "row %zu", i);
    }
}
END_TEST

// An infinity is within 32 roundings of itself, and zero is not.
START_TEST(test_infinities_are_no_zeros)
{
    husk_ref_report report = {0};
    for (int n = 0; n < 100; n++) {
        const double wanted = n % 2 ? INFINITY : 0.0, bound = 32 * HUSK_REF_UNIT * wanted;
        husk_ref_report_add(&report, 1, (int64_t[]){n}, wanted, bound, wanted);
        husk_ref_report_add_zero(&report, wanted, bound, wanted);
    }
    ck_assert(husk_ref_report_pass(&report));
    ck_assert_int_eq(report.zeros, 50);
    ck_assert(!husk_ref_report_inconclusive(&report));
}
END_TEST

// Recurrent layers compare by themselves: products so small that their bounds hold zero are zeros there, too.
START_TEST(test_rnn_zeros_within_bounds)
{
    const husk_rnn_params params = {.cell = HUSK_RNN_TANH, .hidden_size = 8};
    husk_ref_array x = make_random(3, (int64_t[]){3, 2, 8}, 1), w = make_random(2, (int64_t[]){8, 8}, 2);
    husk_ref_array y = make_random(3, (int64_t[]){3, 2, 8}, 3), h_n = make_random(3, (int64_t[]){1, 2, 8}, 4);
    const husk_ref_rnn_weights weights = {&w, &w, NULL, NULL};
    const husk_ref_rnn op = {.params = &params, .x = &x, .weights = &weights};
    for (int is_small = 0; is_small < 2; is_small++) {
        husk_ref_report report = {0}, states = {0};
        husk_ref_random_fill_array(&x, 1, is_small ? 1e-22f : 1.0f);
        husk_ref_random_fill_array(&w, 2, is_small ? 1e-22f : 1.0f);
        memset(y.data, 0, 48 * sizeof(float));
        memset(h_n.data, 0, 16 * sizeof(float));
        ck_assert(husk_ref_rnn_check(&op, &y, &h_n, NULL, 8, &report, &states));
        ck_assert_int_eq(husk_ref_report_pass(&report), is_small);
        ck_assert_int_eq(husk_ref_report_inconclusive(&report), is_small);
    }

    double values[32], bounds[32];
    const husk_ref_rnn_backward backward = {.forward = &op};
    const husk_ref_rnn_gradient gradient = {.rank = 1, .shape = {32}, .terms = 1, .values = values, .bounds = bounds};
    const husk_ref_array zeros = husk_ref_array_make(y.data, HUSK_F32, 1, gradient.shape);
    for (int is_small = 0; is_small < 2; is_small++) {
        husk_ref_report report = {0};
        for (int i = 0; i < 32; i++) {
            values[i] = is_small ? 1e-41 : 1e-9;
            bounds[i] = HUSK_REF_TINY;
        }
        husk_ref_rnn_gradient_compare(&backward, &gradient, NULL, &zeros, &report);
        ck_assert_int_eq(husk_ref_report_pass(&report), is_small);
        ck_assert_int_eq(husk_ref_report_inconclusive(&report), is_small);
    }
    husk_ref_array *arrays[] = {&x, &w, &y, &h_n};
    for (size_t i = 0; i < sizeof(arrays) / sizeof(*arrays); i++)
        free(arrays[i]->data);
}
END_TEST

START_TEST(test_mistrust)
{
    husk_ref_report report = {.zeros = 16, .checked = 21};
    ck_assert(husk_ref_report_inconclusive(&report));
    report.checked = 22;
    ck_assert(!husk_ref_report_inconclusive(&report));
    report = (husk_ref_report){.zeros = 15, .checked = 15};
    ck_assert(!husk_ref_report_inconclusive(&report));

    // A product of zeros is inconclusive; one over no elements is zero by definition, and must be exactly that.
    for (int64_t k = 0; k < 4; k += 3) {
        float zeros[64] = {0}, out[64] = {0};
        husk_ref_array a = husk_ref_array_make(zeros, HUSK_F32, 2, (const int64_t[]){8, k});
        husk_ref_array b = husk_ref_array_make(zeros, HUSK_F32, 2, (const int64_t[]){k, 8});
        husk_ref_array c = husk_ref_array_make(out, HUSK_F32, 2, (const int64_t[]){8, 8});
        husk_ref_gemm op = {.alpha = 1.0f, .a = &a, .b = &b, .c = &c};
        report = (husk_ref_report){0};
        husk_ref_gemm_check(&op, 1, &c, &report);
        ck_assert(husk_ref_report_pass(&report));
        ck_assert_int_eq(husk_ref_report_inconclusive(&report), k > 0);
        out[9] = FLT_MIN;
        report = (husk_ref_report){0};
        husk_ref_gemm_check(&op, 1, &c, &report);
        ck_assert(!husk_ref_report_pass(&report));
        ck_assert_int_eq(report.first_failure[0], 1);
        ck_assert_int_eq(report.first_failure[1], 1);
    }
}
END_TEST

static husk_ref_value one(const void *op, const int64_t *index)
{
    (void)op;
    (void)index;
    return (husk_ref_value){.value = 1.0, .bound = 0.1, .terms = 1};
}

START_TEST(test_samples)
{
    husk_ref_function function = {.at = one, .rank = 3, .shape = {3, 500, 700}, .cost = 15.0};
    husk_ref_expected expected, again;
    ck_assert(husk_ref_expect(&function, 7, &expected));
    ck_assert(expected.complete);
    ck_assert_int_eq(expected.count, 3 * 500 * 700);
    husk_ref_expected_release(&expected);

    function.cost = 17.0;
    ck_assert(husk_ref_expect(&function, 7, &expected));
    ck_assert(!expected.complete);
    ck_assert_int_ge(expected.count, 2048); // random ones, and the tiles' edges
    ck_assert_int_eq(expected.positions[0], 0);
    ck_assert_int_eq(expected.positions[expected.count - 1], 3 * 500 * 700 - 1);
    for (int64_t i = 1; i < expected.count; i++)
        ck_assert_int_lt(expected.positions[i - 1], expected.positions[i]);
    ck_assert(husk_ref_expect(&function, 7, &again));
    ck_assert_int_eq(again.count, expected.count);
    ck_assert_mem_eq(again.positions, expected.positions, (size_t)expected.count * sizeof(int64_t));
    husk_ref_expected_release(&again);
    husk_ref_expected_release(&expected);

    for (int32_t rank = 0; rank < 3; rank++) { // nothing but a few elements to sample from
        function = (husk_ref_function){.at = one, .rank = rank, .shape = {1, 2}, .cost = 1e9};
        ck_assert(husk_ref_expect(&function, 7, &expected));
        ck_assert_int_eq(expected.count, rank == 2 ? 2 : 1);
        husk_ref_expected_release(&expected);
    }
}
END_TEST

// What is not written stays NaN: seen wherever it is, though only samples are compared.
START_TEST(test_nan_between_samples)
{
    husk_ref_array x = make_random(2, (const int64_t[]){700, 7000}, 1);
    husk_activation_params params = {.activation = HUSK_ACT_TANH};
    husk_ref_activation op = {.params = &params, .x = &x};
    husk_ref_function function = husk_ref_activation_function(&op);
    husk_ref_array y = make_right(&function, HUSK_F32);
    for (int64_t at = 0; at < 3; at++) {
        int64_t offset = at * 1234567 + 89;
        float right = ((float *)y.data)[offset];
        husk_ref_report report = {0};
        husk_ref_check(&function, 3, &y, &report);
        ck_assert(husk_ref_report_pass(&report));
        ck_assert_int_lt(report.checked, 4000);
        ((float *)y.data)[offset] = NAN;
        husk_ref_check(&function, 3, &y, &report);
        ck_assert(!husk_ref_report_pass(&report));
        ((float *)y.data)[offset] = right;
    }
    free(x.data);
    free(y.data);
}
END_TEST

static void check_gemm(void *user, const husk_ref_array *array, husk_ref_report *report)
{
    husk_ref_gemm_check(user, 5, array, report);
}

static void check_conv(void *user, const husk_ref_array *array, husk_ref_report *report)
{
    husk_ref_conv_check(user, 5, array, report);
}

static void check_function(void *user, const husk_ref_array *array, husk_ref_report *report)
{
    husk_ref_check(user, 5, array, report);
}

// m x n x k with both kinds of bias, both transposes, a batch: computed in f32, one product after another.
static void gemm_in_f32(const husk_ref_gemm *op, husk_ref_array *out)
{
    husk_ref_gemm_sizes sizes = husk_ref_gemm_get_sizes(op);
    husk_ref_gemm_strides strides = husk_ref_gemm_get_strides(op);
    const float *a = op->a->data, *b = op->b->data, *c = op->c->data, *bias = op->bias->data;
    for (int64_t z = 0; z < sizes.batch; z++)
        for (int64_t i = 0; i < sizes.m; i++)
            for (int64_t j = 0; j < sizes.n; j++) {
                float sum = 0.0f;
                int64_t at = (z * sizes.m + i) * sizes.n + j;
                for (int64_t k = 0; k < sizes.k; k++)
                    sum += a[z * strides.a[0] + i * strides.a[1] + k * strides.a[2]] *
                           b[z * strides.b[0] + k * strides.b[1] + j * strides.b[2]];
                ((float *)out->data)[at] =
                    op->alpha * sum + op->beta * c[at] + bias[i * strides.bias[0] + j * strides.bias[1]];
            }
}

// Small and checked completely, large and sampled; loops over the kinds of a gemm.
START_TEST(test_gemm)
{
    bool large = _i & 1, column_bias = _i & 2, transposed = _i & 4;
    int64_t batch = 2, m = large ? 190 : 13, n = large ? 230 : 17, k = large ? 210 : 19;
    husk_ref_array a = make_random(3, transposed ? (int64_t[]){batch, k, m} : (int64_t[]){batch, m, k}, 1);
    husk_ref_array b = make_random(2, transposed ? (int64_t[]){n, k} : (int64_t[]){k, n}, 2);
    husk_ref_array bias = column_bias ? make_random(2, (int64_t[]){m, 1}, 3) : make_random(1, &n, 3);
    husk_ref_array c = make_random(3, (int64_t[]){batch, m, n}, 4), out = make_random(3, c.shape, 5);
    husk_gemm_params params = {.transpose_a = transposed, .transpose_b = transposed};
    husk_ref_gemm op = {.params = &params, .alpha = 1.5f, .beta = -0.5f, .a = &a, .b = &b, .bias = &bias, .c = &c};
    gemm_in_f32(&op, &out);
    husk_ref_report report = {0};
    husk_ref_gemm_check(&op, 5, &out, &report);
    test_accept("gemm", large ? "sampled" : "complete", "in f32", &report);
    ck_assert_int_eq(report.projections, large ? batch * m : 0);
    husk_ref_gemm_freivalds(&op, &out, 6, &report);
    ck_assert_int_eq(report.projection_failures, 0);
    if (large) {
        test_planted_patch(&out, check_gemm, &op);
    } else {
        husk_ref_function function = husk_ref_gemm_function(&op);
        test_planted(&function, &out, check_gemm, &op);
    }
    husk_ref_array *arrays[] = {&a, &b, &bias, &c, &out};
    for (size_t i = 0; i < sizeof(arrays) / sizeof(*arrays); i++)
        free(arrays[i]->data);
}
END_TEST

// A wrong patch that no sample meets: Freivalds' check alone sees it.
START_TEST(test_freivalds_is_needed)
{
    husk_ref_array a = make_random(2, (int64_t[]){300, 300}, 1), b = make_random(2, (int64_t[]){300, 300}, 2);
    husk_ref_array c = husk_ref_array_make(NULL, HUSK_F32, 2, (int64_t[]){300, 300});
    husk_ref_gemm op = {.alpha = 1.0f, .a = &a, .b = &b, .c = &c};
    husk_ref_function function = husk_ref_gemm_function(&op);
    husk_ref_array out = make_right(&function, HUSK_F32);
    husk_ref_expected expected;
    ck_assert(husk_ref_expect(&function, 5, &expected));
    int64_t missed = 0;
    for (int64_t row = 10; row < 300; row += 40)
        for (int64_t column = 10; column < 300; column += 30) {
            float *at = (float *)out.data + row * 300 + column, right[2] = {at[0], at[1]};
            at[0] = right[1];
            at[1] = right[0];
            husk_ref_report samples = {0}, projections = {0};
            husk_ref_compare(&expected, &out, &samples);
            husk_ref_gemm_freivalds(&op, &out, 5, &projections);
            missed += husk_ref_report_pass(&samples);
            // Two values in each other's place, both projected with the same sign, cancel out. Both signs alike
            // happen in half of the columns; with another vector, they differ.
            for (uint64_t seed = 6; projections.projection_failures == 0 && seed < 40; seed++)
                husk_ref_gemm_freivalds(&op, &out, seed, &projections);
            ck_assert_int_eq(projections.projection_failures, 1);
            ck_assert_int_eq(projections.first_projection[1], row);
            at[0] = right[0];
            at[1] = right[1];
        }
    ck_assert_int_gt(missed, 40); // of 80
    husk_ref_expected_release(&expected);
    free(a.data);
    free(b.data);
    free(out.data);
}
END_TEST

// Where the bias is nearly all of the result, it is nearly all of the tolerance.
START_TEST(test_freivalds_bias)
{
    husk_ref_array a = make_random(2, (int64_t[]){40, 2}, 1), b = make_random(2, (int64_t[]){2, 50}, 2);
    husk_ref_array c = husk_ref_array_make(NULL, HUSK_F32, 2, (int64_t[]){40, 50});
    husk_ref_array bias = _i == 0 ? make_random(1, (int64_t[]){50}, 3) : make_random(2, (int64_t[]){40, 1}, 3);
    husk_ref_random_fill_array(&bias, 3, 1000.0f);
    husk_ref_gemm op = {.alpha = 1.0f, .a = &a, .b = &b, .bias = &bias, .c = &c};
    husk_ref_function function = husk_ref_gemm_function(&op);
    husk_ref_array out = make_right(&function, HUSK_F32);
    husk_ref_report report = {0};
    husk_ref_gemm_freivalds(&op, &out, 5, &report);
    ck_assert_int_eq(report.projection_failures, 0);
    ck_assert_double_gt(report.max_projection_ratio, 1e-3);
    free(a.data);
    free(b.data);
    free(bias.data);
    free(out.data);
}
END_TEST

// Rows of small numbers, as f16 or bf16, that are all zeros instead.
START_TEST(test_freivalds_small)
{
    const husk_dtype dtype = _i == 0 ? HUSK_F16 : HUSK_BF16;
    ck_assert_double_eq(husk_ref_round_bound(HUSK_F16, 0.0), 0x1p-25);
    ck_assert_double_eq(husk_ref_round_bound(HUSK_BF16, 0.0), HUSK_REF_TINY);
    husk_ref_array a = make_random(2, (int64_t[]){4, 8}, 1), b = make_random(2, (int64_t[]){8, 64}, 2);
    husk_ref_random_fill_array(&a, 1, 0.01f);
    husk_ref_random_fill_array(&b, 2, 0.01f);
    husk_ref_array c = husk_ref_array_make(NULL, dtype, 2, (int64_t[]){4, 64});
    husk_ref_gemm op = {.alpha = 1.0f, .a = &a, .b = &b, .c = &c};
    husk_ref_function function = husk_ref_gemm_function(&op);
    husk_ref_array out = make_right(&function, dtype);
    husk_ref_report report = {0};
    husk_ref_gemm_freivalds(&op, &out, 5, &report);
    const int64_t projections = report.projections;
    ck_assert_int_eq(projections, _i == 0 ? 4 : 16); // rows, of bf16 by blocks of 16
    ck_assert_int_eq(report.projection_failures, 0);
    memset(out.data, 0, 4 * 64 * sizeof(uint16_t));
    husk_ref_gemm_freivalds(&op, &out, 5, &report);
    ck_assert_int_eq(report.projection_failures, projections);
    free(a.data);
    free(b.data);
    free(out.data);
}
END_TEST

// Small and large; dense, grouped, depthwise; with and without a tile.
START_TEST(test_conv)
{
    bool large = _i & 1, tiled = _i & 2;
    int64_t groups = _i >> 2 == 0 ? 1 : (_i >> 2 == 1 ? 2 : 8), channels = 8;
    int64_t extent = large ? (groups == 8 ? 190 : 130) : 9, filters = large ? 16 * (groups == 8 ? 4 : 1) : 8;
    husk_ref_array x = make_random(4, (int64_t[]){2, channels, extent, extent}, 1);
    husk_ref_array w = make_random(4, (int64_t[]){filters, channels / groups, 3, 3}, 2);
    husk_ref_array bias = make_random(1, &filters, 3);
    husk_conv_params params = {.pad = {1, 1}, .groups = groups};
    husk_ref_conv op = {.params = &params, .x = &x, .w = &w, .bias = &bias, .tile = {tiled ? 4 : 0, tiled ? 2 : 0}};
    husk_ref_function function = husk_ref_conv_function(&op);
    husk_ref_array y = make_right(&function, HUSK_F32);
    husk_ref_report report = {0};
    husk_ref_conv_check(&op, 5, &y, &report);
    test_accept("conv", large ? "sampled" : "complete", "rounded", &report);
    ck_assert_int_eq(report.projections, large ? 2 * groups * extent * extent : 0);
    husk_ref_conv_freivalds(&op, &y, 6, &report);
    ck_assert_int_eq(report.projection_failures, 0);
    if (large)
        test_planted_patch(&y, check_conv, &op);
    else
        test_planted(&function, &y, check_conv, &op);

    // A tile's bound is the largest of its outputs' own; what was prepared is what is computed on the spot.
    if (tiled && !large) {
        husk_ref_conv untiled = op, prepared = op;
        memset(untiled.tile, 0, sizeof(untiled.tile));
        ck_assert(husk_ref_conv_prepare(&prepared));
        const int64_t corner[4] = {1, 3, 0, 0}, inside[4] = {1, 3, 3, 1};
        ck_assert_double_ge(husk_ref_conv_at(&op, corner).bound, husk_ref_conv_at(&untiled, inside).bound);
        ck_assert_double_gt(husk_ref_conv_at(&op, corner).bound, husk_ref_conv_at(&untiled, corner).bound);
        ck_assert_double_eq(husk_ref_conv_at(&op, inside).bound, husk_ref_conv_at(&prepared, inside).bound);
        husk_ref_conv_release(&prepared);
    }
    free(x.data);
    free(w.data);
    free(bias.data);
    free(y.data);
}
END_TEST

START_TEST(test_pool)
{
    husk_ref_array x = make_random(4, (int64_t[]){2, 3, 11, 12}, 1);
    husk_pool_params params = {.kind = _i == 0 ? HUSK_POOL_MAX : HUSK_POOL_AVG, .window = {3, 2}, .pad = {1, 1}};
    husk_ref_pool op = {.params = &params, .x = &x};
    husk_ref_function function = husk_ref_pool_function(&op);
    husk_ref_array y = make_right(&function, HUSK_F32);
    test_planted(&function, &y, check_function, &function);
    free(y.data);
    if (_i == 0) {
        function = husk_ref_pool_index_function(&op);
        y = make_right(&function, HUSK_I32);
        test_planted(&function, &y, check_function, &function);
        free(y.data);
    }
    free(x.data);
}
END_TEST

START_TEST(test_softmax)
{
    husk_ref_array x = make_random(3, (int64_t[]){4, 5, 6}, 1);
    husk_softmax_params params = {.axis = -2, .log = (uint32_t)_i};
    husk_ref_softmax op = {.params = &params, .x = &x};
    ck_assert(husk_ref_softmax_prepare(&op));
    husk_ref_function function = husk_ref_softmax_function(&op);
    husk_ref_array y = make_right(&function, HUSK_F32);
    test_planted(&function, &y, check_function, &function);
    husk_ref_softmax_release(&op);
    free(x.data);
    free(y.data);
}
END_TEST

START_TEST(test_activation)
{
    husk_ref_array x = make_random(2, (int64_t[]){9, 11}, 1);
    husk_activation_params params = {.activation = (husk_act)_i};
    husk_ref_activation op = {.params = &params, .x = &x};
    husk_ref_function function = husk_ref_activation_function(&op);
    husk_ref_array y = make_right(&function, HUSK_F32);
    test_planted(&function, &y, check_function, &function);

    // The bound holds where the argument is off, and is not idle: the slope really occurs.
    const double error = 1e-3;
    double steepest = 0.0;
    for (double at = -8.0; at < 8.0; at += 0.001) {
        double moved = husk_ref_activate(params.activation, 0.25f, at + error);
        double difference = fabs(moved - husk_ref_activate(params.activation, 0.25f, at));
        double bound = husk_ref_activation_bound(params.activation, 0.25f, at, error);
        ck_assert_double_le(difference, bound * (1.0 + 1e-12));
        steepest = fmax(steepest, difference / bound);
    }
    ck_assert_double_gt(steepest, 0.98);
    free(x.data);
    free(y.data);
}
END_TEST

// GELU of a device whose erf is off by 16 ulp, here of 2^-24, as OpenCL lets it be; 1 + erf and the gradient are
// rounded, all else is exact.
START_TEST(test_allowed_erf)
{
    float number = 1.15f, one = 1.0f;
    const husk_ref_array x = husk_ref_array_make(&number, HUSK_F32, 0, NULL);
    const husk_ref_array dy = husk_ref_array_make(&one, HUSK_F32, 0, NULL);
    const husk_activation_params params = {.activation = HUSK_ACT_GELU};
    const husk_ref_activation op = {.params = &params, .x = &x};
    const husk_ref_activation_backward gradient = {.params = &params, .x = &x, .dy = &dy};
    const husk_ref_value y = husk_ref_activation_at(&op, NULL);
    const husk_ref_value dx = husk_ref_activation_backward_at(&gradient, NULL);
    const double off = 0.5 * (16 + 1) * 0x1p-24;
    ck_assert_double_lt(ratio_of(y.value, y.bound, y.value + (double)number * off), 1);
    ck_assert_double_lt(ratio_of(dx.value, dx.bound, dx.value + off + 0x1p-24), 1);
}
END_TEST

// 1 / sqrt x of a device whose root is off by 3 ulp and whose division by 2.5, as OpenCL lets them be.
START_TEST(test_allowed_roots)
{
    float number = 1.0001f, one = 1.0f;
    const husk_ref_array x = husk_ref_array_make(&number, HUSK_F32, 0, NULL);
    const husk_ref_array dy = husk_ref_array_make(&one, HUSK_F32, 0, NULL);
    const husk_unary_params params = {.op = HUSK_UNARY_RSQRT};
    const husk_ref_unary op = {.params = &params, .x = &x};
    const husk_ref_unary_backward gradient = {.params = &params, .x = &x, .dy = &dy};
    const husk_ref_value y = husk_ref_unary_at(&op, NULL), dx = husk_ref_unary_backward_at(&gradient, NULL);
    const double made = 1 / (sqrt((double)number) - 3 * 0x1p-23) + 2.5 * 0x1p-24;
    ck_assert_double_lt(ratio_of(y.value, y.bound, made), 1);
    ck_assert_double_lt(ratio_of(dx.value, dx.bound, -0.5 * made * made * made), 1);
}
END_TEST

// The norm of one number, whose square is rounded; the same root.
START_TEST(test_allowed_norm)
{
    float number = 1.0001f;
    const int64_t shape[] = {1};
    const husk_ref_array x = husk_ref_array_make(&number, HUSK_F32, 1, shape);
    const husk_reduce_params params = {.kind = HUSK_REDUCE_NORM};
    const husk_ref_reduce op = {.params = &params, .x = &x};
    const husk_ref_value y = husk_ref_reduce_at(&op, NULL);
    ck_assert_double_lt(ratio_of(y.value, y.bound, y.value + 3 * 0x1p-23 + 0.5 * 0x1p-24), 1);
}
END_TEST

// A product below 2^-126 that became zero before alpha made more of it.
START_TEST(test_flushed_product)
{
    float small = 1e-19f, nothing = 0.0f;
    const int64_t shape[] = {1, 1}, index[] = {0, 0};
    const husk_ref_array a = husk_ref_array_make(&small, HUSK_F32, 2, shape);
    const husk_ref_array c = husk_ref_array_make(&nothing, HUSK_F32, 2, shape);
    const husk_ref_gemm op = {.alpha = 1e6f, .a = &a, .b = &a, .c = &c};
    const husk_ref_value made = husk_ref_gemm_at(&op, index);
    husk_ref_report report = {0};
    ck_assert_double_lt(ratio_of(made.value, made.bound, 0.0), 1);
    husk_ref_gemm_freivalds(&op, &c, 1, &report);
    ck_assert_int_eq(report.projection_failures, 0);

    const husk_ref_gemm_backward backward = {
        .alpha = 1e6f, .b = &a, .dy = &a, .before = &c, .wanted = HUSK_REF_GEMM_DA};
    const husk_ref_value gradient = husk_ref_gemm_backward_at(&backward, index);
    ck_assert_double_lt(ratio_of(gradient.value, gradient.bound, 0.0), 1);
}
END_TEST

// An engine multiplies for da and db, and its error factor is theirs: the bias' gradient is a sum in f32.
START_TEST(test_bias_gradient_of_an_engine)
{
    const int64_t m = 200, n = 8, k = 8;
    husk_ref_array a = make_random(2, (int64_t[]){m, k}, 1), b = make_random(2, (int64_t[]){k, n}, 2);
    husk_ref_array dy = make_random(2, (int64_t[]){m, n}, 3);
    husk_ref_array dbias = husk_ref_array_make(NULL, HUSK_F32, _i == 0 ? 1 : 2, _i == 0 ? &n : (int64_t[]){m, 1});
    husk_ref_gemm_backward op = {.alpha = 1.0f,
                                 .a = &a,
                                 .b = &b,
                                 .dy = &dy,
                                 .before = &dbias,
                                 .wanted = HUSK_REF_GEMM_DBIAS,
                                 .error_factor = 0x1p17};
    husk_ref_function function = husk_ref_gemm_backward_function(&op);
    husk_ref_array out = make_right(&function, HUSK_F32);
    husk_ref_report report = {0};
    husk_ref_check(&function, 5, &out, &report);
    ck_assert(husk_ref_report_pass(&report));
    for (int64_t i = 0; i < function.shape[0]; i++) // without its last term
        ((float *)out.data)[i] -= ((float *)dy.data)[_i == 0 ? (m - 1) * n + i : i * n + n - 1];
    husk_ref_check(&function, 5, &out, &report);
    ck_assert_int_eq(report.failures, function.shape[0]);
    husk_ref_array *arrays[] = {&a, &b, &dy, &out};
    for (size_t i = 0; i < sizeof(arrays) / sizeof(*arrays); i++)
        free(arrays[i]->data);
}
END_TEST

// Beyond 2^24 multiply-adds: sequences and units are sampled over all of time, the first and last among them.
START_TEST(test_rnn_samples)
{
    const int64_t steps = 12, batch = 17, size = 130;
    husk_rnn_cell cell = _i == 0 ? HUSK_RNN_LSTM : HUSK_RNN_GRU;
    husk_rnn_params params = {.cell = cell, .hidden_size = size, .reset = _i == 1 ? HUSK_GRU_RESET_BEFORE : 0};
    int64_t rows = size * (cell == HUSK_RNN_LSTM ? 4 : 3);
    husk_ref_array x = make_random(3, (int64_t[]){steps, batch, size}, 1);
    husk_ref_array input = make_random(2, (int64_t[]){rows, size}, 2);
    husk_ref_array hidden = make_random(2, (int64_t[]){rows, size}, 3);
    husk_ref_random_fill_array(&input, 2, 0.09f);
    husk_ref_random_fill_array(&hidden, 3, 0.09f);
    husk_ref_rnn_weights weights = {&input, &hidden, NULL, NULL};
    husk_ref_rnn op = {.params = &params, .x = &x, .weights = &weights};
    husk_ref_array y = make_random(3, (int64_t[]){steps, batch, size}, 4);
    husk_ref_array h_n = make_random(3, (int64_t[]){1, batch, size}, 5), c_n = make_random(3, h_n.shape, 6);
    ck_assert(husk_ref_rnn_run(&op, &y, &h_n, cell == HUSK_RNN_LSTM ? &c_n : NULL));
    const int64_t places[4] = {0, size - 1, (steps * batch - 1) * size, steps * batch * size - 1};
    for (int planted = -1; planted < 5; planted++) {
        husk_ref_report report = {0}, states = {0};
        float *at = (float *)y.data + (planted < 0 ? 0 : (planted < 4 ? places[planted] : 5 * batch * size + 777));
        float right = *at;
        if (planted >= 0)
            *at = planted < 4 ? right + 1e-3f : NAN; // NaN is seen even where nothing is sampled
        ck_assert(husk_ref_rnn_check(&op, &y, &h_n, cell == HUSK_RNN_LSTM ? &c_n : NULL, 8, &report, &states));
        ck_assert_int_eq(husk_ref_report_pass(&report), planted < 0);
        if (planted < 0) {
            ck_assert(husk_ref_report_pass(&states));
            ck_assert_int_lt(report.checked, steps * batch * size);
            ck_assert_int_ge(report.checked, 768);
            ck_assert_double_lt(report.max_ratio, 1.0);
        }
        *at = right;
    }
    for (int i = 0; i < (cell == HUSK_RNN_LSTM ? 2 : 1); i++) { // NaN in a state of a sequence that is not sampled
        husk_ref_report report = {0}, states = {0};
        float *at = (float *)(i == 0 ? h_n.data : c_n.data) + 13 * size + 1, right = *at;
        *at = NAN;
        ck_assert(husk_ref_rnn_check(&op, &y, &h_n, cell == HUSK_RNN_LSTM ? &c_n : NULL, 8, &report, &states));
        ck_assert(husk_ref_report_pass(&report));
        ck_assert_int_eq(states.failures, 1);
        ck_assert_int_eq(states.first_failure[1], 13);
        *at = right;
    }
    husk_ref_array *arrays[] = {&x, &input, &hidden, &y, &h_n, &c_n};
    for (size_t i = 0; i < sizeof(arrays) / sizeof(*arrays); i++)
        free(arrays[i]->data);
}
END_TEST

// Past f16's range an element is infinite by rights, and its row is projected without it; elsewhere it is wrong.
START_TEST(test_freivalds_range)
{
    float left[] = {300.0f, 1.0f}, right[] = {300.0f, 1.0f, 2.0f, 3.0f};
    husk_ref_array a = husk_ref_array_make(left, HUSK_F32, 2, (int64_t[]){2, 1});
    husk_ref_array b = husk_ref_array_make(right, HUSK_F32, 2, (int64_t[]){1, 4});
    husk_ref_array c = husk_ref_array_make(NULL, HUSK_F16, 2, (int64_t[]){2, 4});
    husk_ref_array x = husk_ref_array_make(left, HUSK_F32, 3, (int64_t[]){2, 1, 1});
    husk_ref_array w = husk_ref_array_make(right, HUSK_F32, 3, (int64_t[]){4, 1, 1});
    husk_ref_gemm gemm = {.alpha = 1.0f, .a = &a, .b = &b, .c = &c};
    husk_ref_conv conv = {.x = &x, .w = &w};
    for (int is_conv = 0; is_conv < 2; is_conv++) {
        husk_ref_function function = is_conv ? husk_ref_conv_function(&conv) : husk_ref_gemm_function(&gemm);
        husk_ref_array out = make_right(&function, HUSK_F16);
        ck_assert(isinf(husk_ref_load(&out, 0)));
        for (int planted = 0; planted < 2; planted++) {
            husk_ref_report report = {0};
            if (planted)
                husk_ref_store(&out, 6, INFINITY);
            if (is_conv)
                husk_ref_conv_freivalds(&conv, &out, 5, &report);
            else
                husk_ref_gemm_freivalds(&gemm, &out, 5, &report);
            ck_assert_int_eq(report.projections, 2);
            ck_assert_int_eq(report.projection_failures, planted);
        }
        free(out.data);
    }
}
END_TEST

static husk_ref_array make_f64(int32_t rank, const int64_t *shape, uint64_t seed)
{
    husk_ref_array array = husk_ref_array_make(NULL, HUSK_F64, rank, shape);
    array.data = malloc((size_t)husk_ref_array_count(&array) * sizeof(double));
    ck_assert_ptr_nonnull(array.data);
    husk_ref_random_fill_array(&array, seed, 1.0f);
    return array;
}

// f64 that was computed in f32 anywhere is wrong.
START_TEST(test_freivalds_f64)
{
    husk_ref_array a = make_f64(2, (int64_t[]){20, 40}, 1), b = make_f64(2, (int64_t[]){40, 30}, 2);
    husk_ref_array x = make_f64(4, (int64_t[]){1, 4, 9, 9}, 3), w = make_f64(4, (int64_t[]){8, 4, 3, 3}, 4);
    husk_ref_array c = husk_ref_array_make(NULL, HUSK_F64, 2, (int64_t[]){20, 30});
    husk_ref_gemm gemm = {.alpha = 1.0f, .a = &a, .b = &b, .c = &c};
    husk_ref_conv conv = {.x = &x, .w = &w};
    for (int is_conv = 0; is_conv < 2; is_conv++) {
        husk_ref_function function = is_conv ? husk_ref_conv_function(&conv) : husk_ref_gemm_function(&gemm);
        husk_ref_array out = make_right(&function, HUSK_F64);
        for (int rounded = 0; rounded < 2; rounded++) {
            husk_ref_report report = {0};
            for (int64_t i = 0; rounded && i < husk_ref_array_count(&out); i++)
                ((double *)out.data)[i] = (double)(float)((double *)out.data)[i];
            if (is_conv)
                husk_ref_conv_freivalds(&conv, &out, 5, &report);
            else
                husk_ref_gemm_freivalds(&gemm, &out, 5, &report);
            ck_assert_int_eq(report.projections, is_conv ? 49 : 20);
            ck_assert_int_eq(report.projection_failures, rounded ? report.projections : 0);
        }
        free(out.data);
    }
    husk_ref_array *arrays[] = {&a, &b, &x, &w};
    for (size_t i = 0; i < sizeof(arrays) / sizeof(*arrays); i++)
        free(arrays[i]->data);
}
END_TEST

START_TEST(test_random)
{
    float data[1001];
    double sum = 0.0, squares = 0.0;
    husk_ref_random_fill(data, 1001, 42, 1.0f);
    for (int64_t i = 0; i < 1001; i++) {
        ck_assert(data[i] > -1.0f && data[i] < 1.0f && data[i] != 0.0f);
        ck_assert(data[i] == husk_ref_random_float(42, (uint64_t)i));
        sum += (double)data[i];
        squares += (double)data[i] * (double)data[i];
    }
    ck_assert_double_lt(fabs(sum / 1001), 3.0 * sqrt(1.0 / 3.0 / 1001));
    ck_assert_double_lt(fabs(squares / 1001 - 1.0 / 3.0), 0.03);

    // The same numbers by index, whatever the strides; nothing between the elements is touched.
    float strided[60] = {0};
    husk_ref_array view = {strided, HUSK_F32, 2, {5, 4}, {2, 12}};
    husk_ref_random_fill_array(&view, 42, 2.0f);
    for (int64_t row = 0; row < 5; row++)
        for (int64_t column = 0; column < 4; column++)
            ck_assert(strided[row * 2 + column * 12] == 2.0f * data[row * 4 + column]);
    for (int i = 1; i < 60; i += 2)
        ck_assert(strided[i] == 0.0f);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("check");
    TCase *cases = tcase_create("check");
    tcase_add_test(cases, test_comparison_rules);
    tcase_add_test(cases, test_mistrust);
    tcase_add_test(cases, test_zeros_within_bounds);
    tcase_add_test(cases, test_zeros_within_wide_bounds);
    tcase_add_test(cases, test_infinities_are_no_zeros);
    tcase_add_test(cases, test_rnn_zeros_within_bounds);
    tcase_add_test(cases, test_samples);
    tcase_add_test(cases, test_nan_between_samples);
    tcase_add_loop_test(cases, test_gemm, 0, 8);
    tcase_add_test(cases, test_freivalds_is_needed);
    tcase_add_loop_test(cases, test_freivalds_bias, 0, 2);
    tcase_add_loop_test(cases, test_freivalds_small, 0, 2);
    tcase_add_loop_test(cases, test_conv, 0, 12);
    tcase_add_loop_test(cases, test_pool, 0, 2);
    tcase_add_loop_test(cases, test_softmax, 0, 2);
    tcase_add_loop_test(cases, test_activation, HUSK_ACT_NONE, HUSK_ACT_TANH + 1);
    tcase_add_test(cases, test_allowed_erf);
    tcase_add_test(cases, test_allowed_roots);
    tcase_add_test(cases, test_allowed_norm);
    tcase_add_test(cases, test_flushed_product);
    tcase_add_loop_test(cases, test_bias_gradient_of_an_engine, 0, 2);
    tcase_add_loop_test(cases, test_rnn_samples, 0, 3);
    tcase_add_test(cases, test_freivalds_range);
    tcase_add_test(cases, test_freivalds_f64);
    tcase_add_test(cases, test_random);
    suite_add_tcase(suite, cases);
    return test_main(suite);
}
