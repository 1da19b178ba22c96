// SPDX-License-Identifier: MIT
// The constants are those of scipy 1.17 (mannwhitneyu, t.ppf); where there are ties in few samples, for which scipy has
// no exact answer, they are the count of all choices in another program.
#include <check.h>
#include <math.h>
#include <stdlib.h>

#include "common/rank_test.h"
#include "ref/random.h"

#define COUNT(values) (sizeof(values) / sizeof *(values))
#define TEST_P(a, b)  bench_rank_test(a, COUNT(a), b, COUNT(b))

START_TEST(few_samples_are_exact)
{
    const double a[] = {1.83, 0.50, 1.62, 2.48, 1.68, 1.88, 1.55, 3.06, 1.30},
                 b[] = {0.878, 0.647, 0.598, 2.05, 1.06, 1.29, 1.06001, 3.14, 1.291};
    ck_assert_double_eq_tol(TEST_P(a, b), 0.13591114767585355, 1e-14);
    ck_assert_double_eq_tol(TEST_P(b, a), 0.13591114767585355, 1e-14);
    const double c[] = {12, 15, 19, 22, 30}, d[] = {11, 13, 14, 16, 18, 20, 21};
    ck_assert_double_eq_tol(TEST_P(c, d), 0.4318181818181819, 1e-14);
    const double low[] = {1, 2, 3}, high[] = {4, 5, 6}, one[] = {3.5}, five[] = {1, 2, 3, 4, 5};
    ck_assert_double_eq_tol(TEST_P(low, high), 0.1, 1e-14);
    ck_assert_double_eq_tol(TEST_P(one, five), 1, 1e-14);
    double first[10], second[10];
    for (int i = 0; i < 10; i++) {
        first[i] = i;
        second[i] = i + 10;
    }
    ck_assert_double_eq_tol(TEST_P(first, second), 1.082508822446903e-05, 1e-18);
}
END_TEST

START_TEST(ties_in_few_samples_are_exact)
{
    const double a[] = {1, 2, 2, 3, 5, 5}, b[] = {2, 3, 3, 4, 5, 6, 6};
    ck_assert_double_eq_tol(TEST_P(a, b), 0.21095571095571095, 1e-14);
    const double c[] = {1, 1, 1, 2}, d[] = {1, 2, 2, 2, 2};
    ck_assert_double_eq_tol(TEST_P(c, d), 0.20634920634920634, 1e-14);
    const double same[] = {7, 7, 7};
    ck_assert_double_eq_tol(TEST_P(same, same), 1, 1e-14);
}
END_TEST

START_TEST(many_samples_are_approximated)
{
    double a[60], b[45], c[30], d[30], same[40];
    for (int i = 0; i < 60; i++)
        a[i] = i * i * 7 % 101;
    for (int i = 0; i < 45; i++)
        b[i] = i * i * 5 % 103 + 6;
    for (int i = 0; i < 30; i++) {
        c[i] = i * 37 % 41;
        d[i] = i * 29 % 47 + 3;
    }
    for (int i = 0; i < 40; i++)
        same[i] = 5;
    ck_assert_double_eq_tol(TEST_P(a, b), 0.008805903181813032, 1e-12);
    ck_assert_double_eq_tol(TEST_P(c, d), 0.12226984878635506, 1e-12);
    ck_assert_double_eq(TEST_P(same, same), 1);
    ck_assert(isnan(bench_rank_test(a, 0, b, 3)));
}
END_TEST

// Of samples of one distribution, one test in twenty says that they differ, and not more; exact and approximated.
START_TEST(the_level_is_kept)
{
    husk_ref_random random = {.seed = 1};
    const size_t sizes[] = {10, 30};
    for (int k = 0; k < 2; k++) {
        int found = 0;
        for (int i = 0; i < 1000; i++) {
            double a[30], b[30];
            for (size_t j = 0; j < sizes[k]; j++) {
                a[j] = (double)husk_ref_random_below(&random, 40);
                b[j] = (double)husk_ref_random_below(&random, 40);
            }
            found += bench_rank_test(a, sizes[k], b, sizes[k]) < 0.05;
        }
        ck_assert_int_ge(found, 25);
        ck_assert_int_le(found, 70);
    }
}
END_TEST

// The example of Holm's procedure by hand: 4 * 0.01, 3 * 0.013, 2 * 0.03, 1 * 0.04, never falling.
START_TEST(holm_adjusts_all_together)
{
    double p[] = {0.03, 0.01, NAN, 0.04, 0.013};
    ck_assert(bench_holm(p, 5));
    ck_assert_double_eq_tol(p[1], 0.04, 1e-15);
    ck_assert_double_eq_tol(p[4], 0.04, 1e-15);
    ck_assert_double_eq_tol(p[0], 0.06, 1e-15);
    ck_assert_double_eq_tol(p[3], 0.06, 1e-15);
    ck_assert(isnan(p[2]));
    double large[] = {0.9, 0.8};
    ck_assert(bench_holm(large, 2));
    ck_assert_double_eq(large[0], 1);
    ck_assert(bench_holm(NULL, 0));
}
END_TEST

START_TEST(quantiles_of_t)
{
    ck_assert(isinf(bench_student(0)));
    ck_assert_double_eq_tol(bench_student(1), 12.706204736174694, 1e-12);
    ck_assert_double_eq_tol(bench_student(10), 2.228138851986274, 1e-12);
    ck_assert_double_eq_tol(bench_student(11), 2.200985160091639, 3e-3);
    ck_assert_double_eq_tol(bench_student(30), 2.0422724563012378, 2e-4);
    ck_assert_double_eq_tol(bench_student(100), 1.9839715185235518, 1e-5);
}
END_TEST

int main(void)
{
    TCase *tests = tcase_create("rank test");
    tcase_add_test(tests, few_samples_are_exact);
    tcase_add_test(tests, ties_in_few_samples_are_exact);
    tcase_add_test(tests, many_samples_are_approximated);
    tcase_add_test(tests, the_level_is_kept);
    tcase_add_test(tests, holm_adjusts_all_together);
    tcase_add_test(tests, quantiles_of_t);
    Suite *suite = suite_create("rank test");
    suite_add_tcase(suite, tests);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
