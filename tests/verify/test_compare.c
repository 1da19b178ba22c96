// SPDX-License-Identifier: MIT
// ctest: timeout=20
// husk_verify_compare: what is right, what is wrong, and what the report says.
#include <math.h>

#include "verify/runner.h"

// Of one number: whether it is right.
static bool is_right(husk_dtype dtype, const void *actual, double expected, double bound,
                     const husk_verify_tolerance *tolerance)
{
    husk_verify_report report;
    const husk_verify_array array = husk_verify_vector(actual, dtype, 1);
    const bool answer = husk_verify_compare(&array, &expected, &bound, tolerance, &report);
    ck_assert_int_eq(answer, report.wrong == 0);
    ck_assert_int_eq(report.count, 1);
    return answer;
}

static bool is_right_f32(float actual, double expected, double bound)
{
    return is_right(HUSK_F32, &actual, expected, bound, NULL);
}

START_TEST(test_bounds)
{
    ck_assert(is_right_f32(1.5f, 1.0, 0.5));
    ck_assert(is_right_f32(0.5f, 1.0, 0.5));
    ck_assert(!is_right_f32(1.5001f, 1.0, 0.5));
    ck_assert(!is_right_f32(0.4999f, 1.0, 0.5));
    ck_assert(!is_right_f32(-1.0f, 1.0, 0.5));
}
END_TEST

// With a bound of 0 it has to be what the expected value rounds to.
START_TEST(test_exactness)
{
    const uint16_t half = 0x2e66, next = 0x2e67; // 0.1 in f16, and its neighbour
    const int32_t seven = 7;
    ck_assert(is_right_f32(0.1f, 0.1, 0));
    ck_assert(!is_right_f32(nextafterf(0.1f, 1), 0.1, 0));
    ck_assert(is_right_f32(-0.0f, 0.0, 0));
    ck_assert(is_right(HUSK_F16, &half, 0.1, 0, NULL));
    ck_assert(!is_right(HUSK_F16, &next, 0.1, 0, NULL));
    ck_assert(is_right(HUSK_I32, &seven, 7, 0, NULL));
    ck_assert(!is_right(HUSK_I32, &seven, 8, 0, NULL));
}
END_TEST

START_TEST(test_special_values)
{
    ck_assert(is_right_f32(NAN, NAN, 0));
    ck_assert(!is_right_f32(NAN, 1, 1e30));
    ck_assert(!is_right_f32(1, NAN, 1e30));
    ck_assert(is_right_f32(INFINITY, INFINITY, 0));
    ck_assert(!is_right_f32(-INFINITY, INFINITY, 1e30));
    ck_assert(!is_right_f32(1e38f, INFINITY, 1e30));
    ck_assert(!is_right_f32(INFINITY, 1, 1e30));
    ck_assert(is_right_f32(INFINITY, 1e39, 1e30)); // past the range of f32
    ck_assert(!is_right_f32(-INFINITY, 1e39, 1e30));
}
END_TEST

START_TEST(test_ranges_of_narrow_dtypes)
{
    const uint16_t infinity = 0x7c00, largest = 0x7bff, negative = 0xfc00;
    ck_assert(is_right(HUSK_F16, &infinity, 66000, 1, NULL));
    ck_assert(is_right(HUSK_F16, &infinity, 66000, 0, NULL));
    ck_assert(is_right(HUSK_F16, &infinity, 65504, 100, NULL)); // by its bound
    ck_assert(!is_right(HUSK_F16, &infinity, 65504, 1, NULL));
    ck_assert(is_right(HUSK_F16, &infinity, 65504, 0, &(husk_verify_tolerance){.absolute = 100}));
    ck_assert(!is_right(HUSK_F16, &infinity, 65504, 0, &(husk_verify_tolerance){.absolute = 1}));
    ck_assert(!is_right(HUSK_F16, &negative, 66000, 1, NULL));
    ck_assert(is_right(HUSK_F16, &largest, 65504, 1, NULL));
}
END_TEST

// f16's and bf16's rounding is added to a bound, and not to nothing.
START_TEST(test_storing)
{
    const uint16_t one = 0x3c00, next = 0x3c01; // 1 + 2^-10
    const double between = 1 + 0x1p-11 + 0x1p-14;
    ck_assert(is_right(HUSK_F16, &next, between, 1e-6, NULL));
    ck_assert(is_right(HUSK_F16, &one, 1 + 0x1p-11, 1e-6, NULL));
    ck_assert(!is_right(HUSK_F16, &one, 1 + 0x1p-10, 1e-6, NULL));
    ck_assert(!is_right(HUSK_F16, &one, between, 0, NULL));
}
END_TEST

START_TEST(test_tolerances)
{
    const husk_verify_tolerance absolute = {.absolute = 0.25}, relative = {.relative = 0.25}, two = {.ulp = 2};
    const husk_verify_tolerance all = {.absolute = 1, .relative = 0.5, .ulp = 1};
    const float x = 4.25f, y = 5, above = 1 + 3 * 0x1p-23f, fine = 1 + 2 * 0x1p-23f, tiny = 0x1p-130f, zero = 0;
    const int32_t five = 5;
    ck_assert(is_right(HUSK_F32, &x, 4, 0, &absolute));
    ck_assert(!is_right(HUSK_F32, &y, 4, 0, &absolute));
    ck_assert(is_right(HUSK_F32, &y, 4, 0, &relative));
    ck_assert(is_right(HUSK_F32, &y, 4, 0.75, &absolute)); // together
    ck_assert(!is_right(HUSK_F32, &y, 4, 0.7, &absolute));
    ck_assert(is_right(HUSK_F32, &fine, 1, 0, &two));
    ck_assert(!is_right(HUSK_F32, &above, 1, 0, &two));
    ck_assert(is_right(HUSK_F32, &zero, (double)tiny, 0, &two)); // flushed
    ck_assert(!is_right(HUSK_F32, &zero, 0x1p-120, 0, &two));
    ck_assert(is_right(HUSK_I32, &five, 7, 0, &two));
    ck_assert(!is_right(HUSK_I32, &five, 8, 0, &two));
    ck_assert(is_right(HUSK_I32, &five, 12, 0, &(husk_verify_tolerance){.absolute = 6, .ulp = 1}));
    ck_assert(is_right(HUSK_F32, &y, 2.75, 0.1, &all));
}
END_TEST

// In f64 a unit is 2^-52, in bf16 2^-7.
START_TEST(test_ulps_of_dtypes)
{
    const husk_verify_tolerance one = {.ulp = 1};
    const double fine = 1 + 0x1p-52, coarse = 1 + 0x1p-51;
    const uint16_t next = 0x3f81, second = 0x3f82, f16 = 0x3c01, f16_second = 0x3c02;
    ck_assert(is_right(HUSK_F64, &fine, 1, 0, &one));
    ck_assert(!is_right(HUSK_F64, &coarse, 1, 0, &one));
    ck_assert(is_right(HUSK_BF16, &next, 1, 0, &one));
    ck_assert(!is_right(HUSK_BF16, &second, 1, 0, &one));
    ck_assert(is_right(HUSK_F16, &f16, 1, 0, &one));
    ck_assert(!is_right(HUSK_F16, &f16_second, 1, 0, &one));
    const uint16_t small = 0x0802; // 2^-13 and two units, which are less than the smallest normal number
    ck_assert(!is_right(HUSK_F16, &small, 0x1p-13, 0, &one));
    ck_assert(is_right(HUSK_F16, &small, 0x1p-13 + 0x1p-23, 0, &one));
}
END_TEST

// A transposed view: expected values are in the order of the index.
START_TEST(test_report)
{
    float data[6] = {0, 3, 1, 4, 2, 5}; // of [2, 3], the first dimension fastest
    double expected[6] = {0, 1, 2, 3, 4, 5}, bounds[6] = {1e-6, 1e-6, 1e-6, 1e-6, 1e-6, 1e-6};
    const husk_verify_array array = {.data = data, .rank = 2, .shape = {2, 3}, .strides = {1, 2}};
    husk_verify_report report;
    ck_assert(husk_verify_compare(&array, expected, bounds, NULL, &report));
    ck_assert_int_eq(report.first, -1);
    ck_assert_msg(strstr(report.text, "6 elements are right") != NULL, "%s", report.text);
    data[2] = 1.5f; // [0, 1]
    data[5] = 7.0f; // [1, 2]
    ck_assert(!husk_verify_compare(&array, expected, bounds, NULL, &report));
    ck_assert_int_eq(report.count, 6);
    ck_assert_int_eq(report.wrong, 2);
    ck_assert_int_eq(report.first, 1);
    ck_assert_int_eq(report.worst, 5);
    ck_assert(report.expected == 5 && report.actual == 7 && report.bound == 1e-6);
    ck_assert(fabs(report.ratio - 2e6) < 1);
    ck_assert_msg(strstr(report.text, "2 of 6 elements are wrong, the worst at [1, 2]: 7, expected 5") != NULL, "%s",
                  report.text);
    ck_assert_msg(strstr(report.text, "the first at [0, 1]") != NULL, "%s", report.text);
    ck_assert(!husk_verify_compare(&array, expected, bounds, NULL, NULL));
}
END_TEST

START_TEST(test_nothing_is_proved)
{
    float data[32] = {0};
    double expected[32] = {0};
    const husk_verify_array array = husk_verify_vector(data, HUSK_F32, 32);
    husk_verify_report report;
    ck_assert(husk_verify_compare(&array, expected, NULL, NULL, &report));
    ck_assert(report.is_inconclusive);
    ck_assert_msg(strstr(report.text, "inconclusive") != NULL, "%s", report.text);
    for (int i = 0; i < 16; ++i)
        expected[i] = data[i] = 1;
    ck_assert(husk_verify_compare(&array, expected, NULL, NULL, &report));
    ck_assert(!report.is_inconclusive);
}
END_TEST

static void refused(const husk_verify_array *actual, const double *expected, const double *bounds,
                    const husk_verify_tolerance *tolerance, const char *words)
{
    husk_verify_report report;
    ck_assert(!husk_verify_compare(actual, expected, bounds, tolerance, &report));
    ck_assert_int_eq(report.count, 0);
    ck_assert_msg(strstr(report.text, words) != NULL, "%s", report.text);
}

START_TEST(test_refusals)
{
    float data[2] = {0};
    const double expected[2] = {0}, negative[2] = {0, -1};
    const husk_verify_array array = husk_verify_vector(data, HUSK_F32, 2), none = husk_verify_vector(NULL, HUSK_F32, 2);
    husk_verify_array odd = array;
    husk_verify_report report;
    refused(NULL, expected, NULL, NULL, "husk_verify_compare: actual: is NULL");
    refused(&none, expected, NULL, NULL, "actual: data is NULL");
    refused(&array, NULL, NULL, NULL, "expected: is NULL");
    refused(&array, expected, negative, NULL, "bounds: [1] is -1");
    refused(&array, expected, NULL, &(husk_verify_tolerance){.relative = -1}, "tolerance: relative is -1");
    refused(&array, expected, NULL, &(husk_verify_tolerance){.ulp = NAN}, "tolerance: ulp is");
    odd.shape[0] = -2;
    refused(&odd, expected, NULL, NULL, "actual: shape[0] is -2");
    odd.rank = 9;
    refused(&odd, expected, NULL, NULL, "actual: rank is 9");
    const husk_verify_array empty = husk_verify_vector(NULL, HUSK_F32, 0);
    ck_assert(husk_verify_compare(&empty, NULL, NULL, NULL, &report));
    ck_assert_int_eq(report.worst, -1);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("compare");
    TCase *cases = tcase_create("compare");
    tcase_add_test(cases, test_bounds);
    tcase_add_test(cases, test_exactness);
    tcase_add_test(cases, test_special_values);
    tcase_add_test(cases, test_ranges_of_narrow_dtypes);
    tcase_add_test(cases, test_storing);
    tcase_add_test(cases, test_tolerances);
    tcase_add_test(cases, test_ulps_of_dtypes);
    tcase_add_test(cases, test_report);
    tcase_add_test(cases, test_nothing_is_proved);
    tcase_add_test(cases, test_refusals);
    suite_add_tcase(suite, cases);
    return run_suite(suite);
}
