// SPDX-License-Identifier: MIT
// ctest: timeout=20
// Seeded inputs: the same numbers everywhere, in every layout, and in range.
#include <math.h>

#include "verify/runner.h"

// The numbers are part of what users rely on: their tests' expectations may be written down.
START_TEST(test_numbers_stay)
{
    float data[4];
    int32_t whole[6];
    husk_error error;
    const husk_verify_array array = husk_verify_vector(data, HUSK_F32, 4);
    const husk_verify_array integers = husk_verify_vector(whole, HUSK_I32, 6);
    // The first block of Philox4x32-10 with counter and key 0, of the authors' known answers: 6627e8d5 e169c58d
    // bc57ac4c 9b00dbd8. Each number is (2 (bits >> 8) + 1 - 2^24) 2^-24.
    static const uint32_t bits[] = {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8};
    ck_ok(husk_verify_random_fill(&array, 0, &error), &error);
    for (int i = 0; i < 4; ++i)
        ck_assert(data[i] == (float)((int32_t)(2 * (bits[i] >> 8) + 1) - (1 << 24)) * 0x1p-24f);
    ck_ok(husk_verify_integers_fill(&integers, -3, 3, 0, &error), &error);
    for (int i = 0; i < 4; ++i)
        ck_assert_int_eq(whole[i], -3 + (int)((uint64_t)bits[i] * 7 >> 32));
}
END_TEST

START_TEST(test_random_range)
{
    enum { COUNT = 4096 };
    static float data[COUNT], other[COUNT];
    static double wide[COUNT];
    husk_error error;
    double sum = 0, squares = 0;
    const husk_verify_array array = husk_verify_vector(data, HUSK_F32, COUNT);
    const husk_verify_array second = husk_verify_vector(other, HUSK_F32, COUNT);
    const husk_verify_array doubles = husk_verify_vector(wide, HUSK_F64, COUNT);
    ck_ok(husk_verify_random_fill(&array, 7, &error), &error);
    ck_ok(husk_verify_random_fill(&second, 8, &error), &error);
    ck_ok(husk_verify_random_fill(&doubles, 7, &error), &error);
    for (int i = 0; i < COUNT; ++i) {
        ck_assert(data[i] > -1 && data[i] < 1 && data[i] != 0);
        ck_assert(fabs(wide[i] - (double)data[i]) < 0x1p-24);
        sum += (double)data[i];
        squares += (double)(data[i] * data[i]);
    }
    ck_assert(fabs(sum / COUNT) < 0.05);
    ck_assert(fabs(squares / COUNT - 1.0 / 3) < 0.03);
    ck_assert(memcmp(data, other, sizeof data) != 0);
}
END_TEST

// A transposed array holds the same numbers, and what lies between its elements stays.
START_TEST(test_strides)
{
    float packed[6], strided[8];
    husk_error error;
    const int64_t shape[] = {2, 3};
    const husk_verify_array array = husk_verify_array_make(packed, HUSK_F32, 2, shape);
    const husk_verify_array view = {.data = strided, .rank = 2, .shape = {2, 3}, .strides = {1, 3}};
    for (int i = 0; i < 8; ++i)
        strided[i] = 9;
    ck_ok(husk_verify_random_fill(&array, 5, &error), &error);
    ck_ok(husk_verify_random_fill(&view, 5, &error), &error);
    for (int i = 0; i < 2; ++i)
        for (int j = 0; j < 3; ++j)
            ck_assert(packed[3 * i + j] == strided[i + 3 * j]);
    ck_assert(strided[2] == 9 && strided[5] == 9);
    ck_ok(husk_verify_integers_fill(&array, -4, 4, 5, &error), &error);
    ck_ok(husk_verify_integers_fill(&view, -4, 4, 5, &error), &error);
    for (int i = 0; i < 2; ++i)
        for (int j = 0; j < 3; ++j)
            ck_assert(packed[3 * i + j] == strided[i + 3 * j]);
    ck_assert(strided[2] == 9 && strided[5] == 9);
}
END_TEST

// Every number comes, both ends included, about equally often.
START_TEST(test_integers)
{
    enum { COUNT = 7000 };
    static uint16_t halves[COUNT];
    int found[7] = {0};
    husk_error error;
    const husk_verify_array array = husk_verify_vector(halves, HUSK_F16, COUNT);
    static const uint16_t codes[7] = {0xc200, 0xc000, 0xbc00, 0x0000, 0x3c00, 0x4000, 0x4200}; // -3 to 3
    ck_ok(husk_verify_integers_fill(&array, -3, 3, 11, &error), &error);
    for (int i = 0; i < COUNT; ++i)
        for (int k = 0; k < 7; ++k)
            found[k] += halves[i] == codes[k];
    int all = 0;
    for (int k = 0; k < 7; ++k) {
        ck_assert_int_gt(found[k], 850);
        all += found[k];
    }
    ck_assert_int_eq(all, COUNT);
}
END_TEST

START_TEST(test_refusals)
{
    uint8_t data[8];
    husk_error error;
    const husk_verify_array bytes = husk_verify_vector(data, HUSK_U8, 8), half = husk_verify_vector(data, HUSK_F16, 4);
    const husk_verify_array wide = husk_verify_vector(data, HUSK_I64, 1), none = husk_verify_vector(NULL, HUSK_F32, 1);
    ck_refused(husk_verify_random_fill(NULL, 0, &error), HUSK_INVALID_ARGUMENT, &error, "array: is NULL");
    ck_refused(husk_verify_random_fill(&none, 0, &error), HUSK_INVALID_ARGUMENT, &error, "array: data is NULL");
    ck_refused(husk_verify_random_fill(&bytes, 0, &error), HUSK_UNSUPPORTED, &error, "array: is u8");
    ck_refused(husk_verify_integers_fill(&bytes, -1, 1, 0, &error), HUSK_INVALID_ARGUMENT, &error, "low: is -1");
    ck_refused(husk_verify_integers_fill(&bytes, 0, 256, 0, &error), HUSK_INVALID_ARGUMENT, &error, "high: is 256");
    ck_refused(husk_verify_integers_fill(&half, 0, 2049, 0, &error), HUSK_INVALID_ARGUMENT, &error, "high: is 2049");
    ck_refused(husk_verify_integers_fill(&half, 2, 1, 0, &error), HUSK_INVALID_ARGUMENT, &error, "low: is 2");
    ck_refused(husk_verify_integers_fill(&wide, 0, INT64_C(1) << 32, 0, &error), HUSK_INVALID_ARGUMENT, &error, "2^32");
    ck_ok(husk_verify_integers_fill(&wide, 0, UINT32_MAX, 0, &error), &error);
    ck_ok(husk_verify_integers_fill(&half, -2048, 2048, 0, NULL), &error);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("inputs");
    TCase *cases = tcase_create("inputs");
    tcase_add_test(cases, test_numbers_stay);
    tcase_add_test(cases, test_random_range);
    tcase_add_test(cases, test_strides);
    tcase_add_test(cases, test_integers);
    tcase_add_test(cases, test_refusals);
    suite_add_tcase(suite, cases);
    return run_suite(suite);
}
