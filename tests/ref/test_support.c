// SPDX-License-Identifier: MIT
// ctest: timeout=60
// What the operators' tests stand on, on a device: a mistake that is made on purpose is seen every time.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/support.h"

static const int64_t shape[4] = {2, 3, 4, 5};

// Write one word into a tensor's buffer on the device, counted in words from the tensor's first element.
static void write_word(test_tensor *tensor, int64_t word, uint32_t value)
{
    uint64_t offset = (uint64_t)(tensor->tensor.offset * (int64_t)husk_dtype_size(tensor->tensor.dtype) + word * 4);
    test_ok(husk_buffer_write(test_queue(), tensor->tensor.buffer, offset, 4, &value));
}

START_TEST(test_layouts)
{
    test_tensor plain = test_input(4, shape, TEST_PACKED, 3, 1.0f);
    test_tensor other = test_input(4, shape, (test_layout)_i, 3, 1.0f);
    test_tensor amid = test_input_amid_nan(4, shape, (test_layout)_i, 3, 1.0f);
    husk_tensor last = husk_tensor_make_channels_last(NULL, HUSK_F32, 4, shape);
    int64_t index[4] = {0}, strides[4];
    do {
        double value = husk_ref_load(&plain.array, husk_ref_offset(&plain.array, index));
        ck_assert(value == husk_ref_load(&other.array, husk_ref_offset(&other.array, index)));
        ck_assert(value == husk_ref_load(&amid.array, husk_ref_offset(&amid.array, index)));
    } while (husk_ref_index_next(4, shape, index));
    test_layout_strides((test_layout)_i, 4, shape, strides);
    if (_i == TEST_CHANNELS_LAST)
        ck_assert_mem_eq(strides, last.strides, sizeof(strides));

    // The input ends where its buffer ends, and the device holds what the host's view says.
    uint64_t size = husk_buffer_size(other.tensor.buffer);
    int64_t end = other.tensor.offset + husk_ref_array_extent(&other.array);
    ck_assert_int_eq((int64_t)size, end * 4);
    float device[2048];
    ck_assert_uint_le(size, sizeof(device));
    test_ok(husk_buffer_read(test_queue(), other.tensor.buffer, 0, size, device));
    double total = 0.0;
    do {
        int64_t at = other.tensor.offset + husk_ref_offset(&other.array, index);
        ck_assert((double)device[at] == husk_ref_load(&plain.array, husk_ref_offset(&plain.array, index)));
        total += fabs((double)device[at]);
    } while (husk_ref_index_next(4, shape, index));
    ck_assert_double_gt(total, 1.0);
    for (int64_t at = 0; at < other.tensor.offset; at++)
        ck_assert(isnan(device[at]));
    test_release(&plain);
    test_release(&other);
    test_release(&amid);
}
END_TEST

// An output is NaN before the run, between guards that are seen to guard, in every layout and dtype.
START_TEST(test_outputs)
{
    const husk_dtype dtypes[] = {HUSK_F32, HUSK_I32, HUSK_I64, HUSK_F64};
    husk_dtype dtype = dtypes[_i / TEST_LAYOUTS];
    test_tensor y = test_output(dtype, 4, shape, (test_layout)(_i % TEST_LAYOUTS));
    int64_t words = (int64_t)husk_dtype_size(dtype) / 4, index[4] = {0};
    test_fetch(&y);
    do {
        double value = husk_ref_load(&y.array, husk_ref_offset(&y.array, index));
        ck_assert(dtype == HUSK_F32 || dtype == HUSK_F64 ? isnan(value) : value > 1e9);
    } while (husk_ref_index_next(4, shape, index));
    ck_assert_int_ge(y.tensor.offset * words * 4, TEST_GUARD);
    test_planted_guards(&y);
    for (int64_t word = 0; word < words; word++)
        write_word(&y, word, 0); // its own element: allowed
    test_fetch(&y);
    ck_assert(husk_ref_load(&y.array, 0) == 0.0);
    test_restore(&y);
    test_untouched(&y);
    test_release(&y);
}
END_TEST

START_TEST(test_nothing_to_do)
{
    test_tensor x = test_input(2, (const int64_t[]){0, 3}, TEST_PACKED, 0, 1.0f);
    test_tensor y = test_output(HUSK_F32, 2, (const int64_t[]){0, 3}, TEST_PACKED);
    test_fetch(&y);
    test_untouched(&y);
    test_release(&x);
    test_release(&y);
}
END_TEST

START_TEST(test_sizes)
{
    husk_ref_random random = {.seed = 1};
    int seen[70] = {0};
    for (int i = 0; i < 4000; i++) {
        int64_t size = test_pick_size(&random, 16, 64);
        ck_assert(size >= 1 && size <= 64);
        seen[size]++;
    }
    const int wanted[] = {1, 2, 3, 13, 15, 16, 17, 31, 32, 33, 47, 48, 49, 64};
    for (size_t i = 0; i < sizeof(wanted) / sizeof(*wanted); i++)
        ck_assert_msg(seen[wanted[i]] > 0, "size %d never comes", wanted[i]);
}
END_TEST

START_TEST(test_refusal)
{
    test_tensor x = test_input(1, shape, TEST_PACKED, 0, 1.0f), y = test_output(HUSK_F32, 1, shape, TEST_PACKED);
    float value = 0.0f;
    husk_status status = husk_buffer_write(test_silent_queue(), x.tensor.buffer, 1u << 20, 4, &value);
    test_refused(status, HUSK_INVALID_ARGUMENT, "bytes");
    test_untouched(&y);
    test_release(&x);
    test_release(&y);
}
END_TEST

// The tests from here on are wrong on purpose: every one of them has to fail.

// What a test made that failed, too; released by release_arrays.
static struct made {
    husk_ref_array x, y, dy, dx;
} made;

static void release_arrays(void)
{
    test_array_release(&made.x);
    test_array_release(&made.y);
    test_array_release(&made.dy);
    test_array_release(&made.dx);
}

// y = x^3, whose gradient is 3 x^2 dy; `error` is added to the gradient of every other element.
static void run_cube(void *user)
{
    (void)user;
    for (int i = 0; i < 120; i++)
        ((double *)made.y.data)[i] = pow(((double *)made.x.data)[i], 3);
}

static void check_cube(double error, bool is_zero)
{
    made.x = test_array(4, shape, 1, 2), made.y = test_array(4, shape, 2, 0);
    made.dy = test_array(4, shape, 3, 1), made.dx = test_array(4, shape, 4, 0);
    for (int i = 0; i < 120 && !is_zero; i++)
        ((double *)made.dx.data)[i] =
            3 * pow(((double *)made.x.data)[i], 2) * ((double *)made.dy.data)[i] + (i % 2 == 0 ? error : 0);
    test_differences("cube", run_cube, NULL, &made.x, &made.y, &made.dy, &made.dx, 5);
    release_arrays();
}

START_TEST(test_gradient)
{
    check_cube(0, false);
    check_cube(1e-9, false); // below what differences can tell
    made.x = test_array(4, shape, 1, 2), made.y = test_array(4, shape, 2, 2);
    test_adjoint("identity", &made.x, &made.y, &made.x, &made.y);
    release_arrays();
}
END_TEST

START_TEST(wrong_gradient)
{
    check_cube(1e-4, false);
}
END_TEST

START_TEST(wrong_gradient_of_zeros)
{
    check_cube(0, true);
}
END_TEST

START_TEST(wrong_adjoint)
{
    made.x = test_array(4, shape, 1, 2), made.y = test_array(4, shape, 2, 2);
    test_adjoint("identity", &made.x, &made.y, &made.x, &made.x);
}
END_TEST

START_TEST(wrong_write_before)
{
    test_tensor y = test_output(HUSK_F32, 4, shape, TEST_PACKED);
    write_word(&y, -1, 0);
    test_fetch(&y);
}
END_TEST

START_TEST(wrong_write_after)
{
    test_tensor y = test_output(HUSK_I64, 4, shape, TEST_PACKED);
    write_word(&y, 240, 0);
    test_fetch(&y);
}
END_TEST

START_TEST(wrong_write_into_gap)
{
    test_tensor y = test_output(HUSK_F32, 4, shape, TEST_SPREAD);
    write_word(&y, 1, 0);
    test_fetch(&y);
}
END_TEST

START_TEST(wrong_write_when_refused)
{
    test_tensor y = test_output(HUSK_F32, 4, shape, TEST_PACKED);
    write_word(&y, 7, 0);
    test_untouched(&y);
}
END_TEST

START_TEST(wrong_status)
{
    test_refused(HUSK_OK, HUSK_INVALID_ARGUMENT, "x");
}
END_TEST

START_TEST(wrong_argument_named)
{
    test_tensor x = test_input(1, shape, TEST_PACKED, 0, 1.0f);
    float value = 0.0f;
    test_refused(husk_buffer_write(test_silent_queue(), x.tensor.buffer, 1u << 20, 4, &value), HUSK_INVALID_ARGUMENT,
                 "alphabet");
}
END_TEST

START_TEST(wrong_enqueued)
{
    test_tensor x = test_input(1, shape, TEST_PACKED, 0, 1.0f);
    float value = 0.0f;
    test_ok(husk_buffer_write(test_silent_queue(), x.tensor.buffer, 0, 4, &value));
    test_refused(husk_buffer_write(test_silent_queue(), x.tensor.buffer, 1u << 20, 4, &value), HUSK_INVALID_ARGUMENT,
                 "bytes");
}
END_TEST

START_TEST(wrong_refusal_of_the_default)
{
    test_ran(HUSK_UNSUPPORTED, "gemm", NULL);
}
END_TEST

START_TEST(wrong_output)
{
    husk_ref_report report = {0};
    husk_ref_report_add(&report, 4, shape, 1.0, 0.1, 1.2);
    test_accept("gemm", NULL, "m=1 n=1 k=1", &report);
}
END_TEST

START_TEST(wrong_inconclusive)
{
    husk_ref_report report = {.checked = 100, .zeros = 100};
    test_accept("gemm", NULL, "m=1 n=1 k=1", &report);
}
END_TEST

START_TEST(wrong_draw)
{
    husk_ref_report report = {.checked = 100, .zeros = 100, .near_zeros = 100, .near_squares = 4, .near_errors = 1};
    test_begin_draws();
    test_accept("gemm", NULL, "zeros where there are numbers, if small ones", &report);
}
END_TEST

START_TEST(wrong_draws)
{
    husk_ref_report zeros = {.checked = 100, .zeros = 100}, numbers = {.checked = 100};
    test_begin_draws();
    for (int i = 0; i < 16; i++)
        test_accept("gemm", NULL, "one in eight is of zeros", i % 8 ? &numbers : &zeros);
    test_end_draws();
}
END_TEST

static void see_nothing(void *user, const husk_ref_array *array, husk_ref_report *report)
{
    (void)user;
    (void)array;
    report->checked = husk_ref_array_count(array);
}

static husk_ref_value one(const void *op, const int64_t *index)
{
    (void)op;
    (void)index;
    return (husk_ref_value){.value = 1.0, .bound = 0.1, .terms = 1};
}

START_TEST(wrong_check)
{
    float values[6] = {1, 1, 1, 1, 1, 1};
    husk_ref_array array = husk_ref_array_make(values, HUSK_F32, 2, (const int64_t[]){2, 3});
    husk_ref_function function = {.at = one, .rank = 2, .shape = {2, 3}, .cost = 1.0};
    test_planted(&function, &array, see_nothing, NULL);
}
END_TEST

// Each of them, and what its failure says.
static const struct {
    const TTest *const *test;
    const char *text;
} wrong[] = {
    {&wrong_gradient, "finite differences"},
    {&wrong_gradient_of_zeros, "proves nothing"},
    {&wrong_adjoint, "adjoint identity"},
    {&wrong_write_before, "element that is not the output's was written: -1 past"},
    {&wrong_write_after, "element that is not the output's was written: 120 past"},
    {&wrong_write_into_gap, "element that is not the output's was written: 1 past"},
    {&wrong_write_when_refused, "a refused call changed an output"},
    {&wrong_status, "expected HUSK_INVALID_ARGUMENT naming 'x', got HUSK_OK"},
    {&wrong_argument_named, "does not name 'alphabet'"},
    {&wrong_enqueued, "a refused call enqueued 'write'"},
    {&wrong_refusal_of_the_default, "HUSK_UNSUPPORTED"},
    {&wrong_output, "1 of 1 outputs wrong, first [2, 3, 4, 5]: 1.2, expected 1 within 0.1"},
    {&wrong_inconclusive, "inconclusive: 100 of 100"},
    {&wrong_draw, "inconclusive: 100 of 100"},
    {&wrong_draws, "2 of 16 draws prove nothing"},
    {&wrong_check, "the check does not see an error of ten times the bound"},
};

// True when every one of these tests failed, for its reason. What they left behind ends with the process.
static bool all_fail(void)
{
    const int count = (int)(sizeof(wrong) / sizeof(*wrong));
    bool right = true;
    for (int i = 0; i < count; i++) {
        Suite *suite = suite_create("wrong on purpose");
        TCase *cases = tcase_create("wrong on purpose");
        tcase_add_checked_fixture(cases, NULL, release_arrays);
        tcase_add_test(cases, *wrong[i].test);
        suite_add_tcase(suite, cases);
        SRunner *runner = srunner_create(suite);
        srunner_set_fork_status(runner, CK_NOFORK);
        srunner_run_all(runner, CK_SILENT);
        TestResult **results = srunner_results(runner);
        const char *text = tr_msg(results[0]) != NULL ? tr_msg(results[0]) : "";
        if (srunner_ntests_failed(runner) != 1 || strstr(text, wrong[i].text) == NULL) {
            fprintf(stderr, "this should have failed with '%s', and says '%s'\n", wrong[i].text, text);
            right = false;
        }
        free(results);
        srunner_free(runner);
    }
    return right;
}

int main(void)
{
    if (!all_fail())
        return EXIT_FAILURE;
    Suite *suite = suite_create("support");
    TCase *cases = tcase_create("support");
    tcase_add_loop_test(cases, test_layouts, 0, TEST_LAYOUTS);
    tcase_add_loop_test(cases, test_outputs, 0, 4 * TEST_LAYOUTS);
    tcase_add_test(cases, test_nothing_to_do);
    tcase_add_test(cases, test_sizes);
    tcase_add_test(cases, test_refusal);
    tcase_add_test(cases, test_gradient);
    suite_add_tcase(suite, cases);
    return test_main(suite);
}
