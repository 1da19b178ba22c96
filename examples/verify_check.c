// SPDX-License-Identifier: MIT
// Testing one's own code by libhusk_verify and Check. examples/verify_plain.c shows it with OpenCL.
#include <math.h>
#include <stdlib.h>

#include <check.h>

#include <husk/verify.h>

// The code under test: it may as well call OpenCL.
static void softmax(int64_t rows, int64_t columns, const float *x, float *y)
{
    for (int64_t i = 0; i < rows; i++, x += columns, y += columns) {
        float largest = x[0], sum = 0;
        for (int64_t j = 1; j < columns; j++)
            largest = fmaxf(largest, x[j]);
        for (int64_t j = 0; j < columns; j++)
            sum += y[j] = expf(x[j] - largest);
        for (int64_t j = 0; j < columns; j++)
            y[j] /= sum;
    }
}

START_TEST(test_softmax)
{
    const int64_t shape[] = {10, (int64_t[]){1, 2, 63, 64, 1000}[_i]};
    static float x[10000], y[10000];
    static double expected[10000], bounds[10000];
    const husk_verify_array vx = husk_verify_array_make(x, HUSK_F32, 2, shape);
    const husk_verify_array vy = husk_verify_array_make(y, HUSK_F32, 2, shape);
    husk_verify_report report;
    husk_error error;
    ck_assert_msg(husk_verify_random_fill(&vx, 1, &error) == HUSK_OK, "%s", error.text);
    softmax(shape[0], shape[1], x, y);
    ck_assert_msg(husk_verify_softmax(NULL, &vx, &vy, expected, bounds, &error) == HUSK_OK, "%s", error.text);
    ck_assert_msg(husk_verify_compare(&vy, expected, bounds, NULL, &report), "%s", report.text);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("softmax");
    TCase *cases = tcase_create("softmax");
    tcase_add_loop_test(cases, test_softmax, 0, 5);
    suite_add_tcase(suite, cases);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    const int failures = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failures ? EXIT_FAILURE : EXIT_SUCCESS;
}
