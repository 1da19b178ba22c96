// SPDX-License-Identifier: MIT
// ctest: tiers=default,valgrind
#include <check.h>
#include <math.h>
#include <stdlib.h>

#include "common/stats.h"

static bench_samples samples_of(const double *values, size_t count)
{
    bench_samples samples = {0};
    for (size_t i = 0; i < count; i++)
        ck_assert(bench_samples_add(&samples, values[i]));
    return samples;
}

START_TEST(median_and_quartiles_interpolate)
{
    double values[] = {4, 1, 3, 2};
    bench_samples samples = samples_of(values, 4);
    bench_summary s;
    ck_assert(bench_summarise(&samples, &s));
    ck_assert_double_eq(s.median, 2.5);
    ck_assert_double_eq(s.q1, 1.75);
    ck_assert_double_eq(s.q3, 3.25);
    ck_assert_double_eq(s.min, 1);
    ck_assert_double_eq(s.max, 4);
    bench_samples_free(&samples);
}
END_TEST

START_TEST(no_samples_give_nan)
{
    bench_samples samples = {0};
    bench_summary s;
    ck_assert(bench_summarise(&samples, &s));
    ck_assert_uint_eq(s.n, 0);
    ck_assert(isnan(s.median));
}
END_TEST

// The ranks of the tables in Conover, Practical Nonparametric Statistics (l and u from 1 there).
START_TEST(median_ranks_are_those_of_the_tables)
{
    size_t low, high;
    ck_assert(!bench_median_ranks(5, 0.95, &low, &high)); // 1 - 2/32 = 0.9375
    ck_assert_uint_eq(low, 0);
    ck_assert_uint_eq(high, 4);
    ck_assert(bench_median_ranks(6, 0.95, &low, &high));
    ck_assert_uint_eq(low, 0);
    ck_assert_uint_eq(high, 5);
    ck_assert(bench_median_ranks(10, 0.95, &low, &high)); // 2nd to 9th
    ck_assert_uint_eq(low, 1);
    ck_assert_uint_eq(high, 8);
    ck_assert(bench_median_ranks(20, 0.95, &low, &high)); // 6th to 15th
    ck_assert_uint_eq(low, 5);
    ck_assert_uint_eq(high, 14);
    ck_assert(bench_median_ranks(100, 0.95, &low, &high)); // 40th to 61st
    ck_assert_uint_eq(low, 39);
    ck_assert_uint_eq(high, 60);
    ck_assert(bench_median_ranks(5000, 0.95, &low, &high));
    ck_assert_uint_gt(low, 2400);
}
END_TEST

// Skewed samples: the interval must hold the true median in about 95% of draws, and not in all of them.
START_TEST(interval_covers_the_median_of_a_skewed_distribution)
{
    srand(1);
    const double true_median = log(2.0);
    int covered = 0;
    for (int draw = 0; draw < 2000; draw++) {
        bench_samples samples = {0};
        for (int i = 0; i < 25; i++)
            ck_assert(bench_samples_add(&samples, -log((rand() + 1.0) / (RAND_MAX + 2.0))));
        bench_summary s;
        ck_assert(bench_summarise(&samples, &s));
        covered += s.ci_low <= true_median && true_median <= s.ci_high;
        bench_samples_free(&samples);
    }
    ck_assert_int_ge(covered, 1870);
    ck_assert_int_lt(covered, 1990);
}
END_TEST

START_TEST(outliers_are_counted_and_kept)
{
    double values[] = {10, 11, 10, 12, 11, 10, 11, 500};
    bench_samples samples = samples_of(values, 8);
    bench_summary s;
    ck_assert(bench_summarise(&samples, &s));
    ck_assert_uint_eq(s.outliers, 1);
    ck_assert_double_eq(s.max, 500);
    ck_assert_uint_eq(s.n, 8);
    bench_samples_free(&samples);
}
END_TEST

START_TEST(geometric_mean_of_ratios)
{
    double ratios[] = {2, 0.5, 4, 0.25};
    ck_assert_double_eq_tol(bench_geometric_mean(ratios, 4), 1, 1e-12);
    ck_assert(isnan(bench_geometric_mean(ratios, 0)));
    double bad[] = {1, 0};
    ck_assert(isnan(bench_geometric_mean(bad, 2)));
}
END_TEST

static bench_summary narrow(size_t n, double half_width)
{
    return (bench_summary){.n = n, .median = 1, .half_width = half_width};
}

START_TEST(stops_only_when_every_condition_is_met)
{
    bench_stop_rule rule = {.min_samples = 10, .min_seconds = 0.5, .half_width = 0.01, .max_seconds = 15};
    bench_progress p = {.seconds = 0.6};
    bench_summary few = narrow(9, 0.001), wide = narrow(12, 0.02), fine = narrow(12, 0.009);
    ck_assert_int_eq(bench_decide(&rule, &p, &few), BENCH_STOP_NOT_YET);
    ck_assert_int_eq(bench_decide(&rule, &p, &wide), BENCH_STOP_NOT_YET);
    ck_assert_int_eq(bench_decide(&rule, &p, &fine), BENCH_STOP_PRECISE);
    p.seconds = 0.4;
    ck_assert_int_eq(bench_decide(&rule, &p, &fine), BENCH_STOP_NOT_YET);
    p.seconds = 15.1;
    ck_assert_int_eq(bench_decide(&rule, &p, &wide), BENCH_STOP_TIME);
    rule.budget_seconds = 1;
    ck_assert_int_eq(bench_decide(&rule, &p, &wide), BENCH_STOP_BUDGET);
}
END_TEST

START_TEST(noise_that_does_not_narrow_is_a_plateau)
{
    bench_stop_rule rule = {.min_samples = 10, .min_seconds = 0.5, .half_width = 0.01, .max_seconds = 15};
    bench_progress noisy = {.seconds = 1}, narrowing = {.seconds = 1};
    bench_stop stop = BENCH_STOP_NOT_YET;
    for (size_t n = 10; n < 200 && stop == BENCH_STOP_NOT_YET; n += 5) {
        bench_summary s = narrow(n, 0.05);
        stop = bench_decide(&rule, &noisy, &s);
    }
    ck_assert_int_eq(stop, BENCH_STOP_PLATEAU);
    for (size_t n = 10; n < 200; n += 5) {
        bench_summary s = narrow(n, 0.3 / sqrt((double)n));
        ck_assert_int_eq(bench_decide(&rule, &narrowing, &s), BENCH_STOP_NOT_YET);
    }
}
END_TEST

START_TEST(quick_stops_early)
{
    bench_stop_rule rule = {
        .min_samples = 10, .min_seconds = 0.1, .half_width = 0.01, .max_seconds = 15, .quick = true};
    bench_progress p = {.seconds = 0.11};
    bench_summary s = narrow(4, 0.5);
    ck_assert_int_eq(bench_decide(&rule, &p, &s), BENCH_STOP_QUICK);
}
END_TEST

int main(void)
{
    TCase *tests = tcase_create("stats");
    tcase_add_test(tests, median_and_quartiles_interpolate);
    tcase_add_test(tests, no_samples_give_nan);
    tcase_add_test(tests, median_ranks_are_those_of_the_tables);
    tcase_add_test(tests, interval_covers_the_median_of_a_skewed_distribution);
    tcase_add_test(tests, outliers_are_counted_and_kept);
    tcase_add_test(tests, geometric_mean_of_ratios);
    tcase_add_test(tests, stops_only_when_every_condition_is_met);
    tcase_add_test(tests, noise_that_does_not_narrow_is_a_plateau);
    tcase_add_test(tests, quick_stops_early);
    Suite *suite = suite_create("clbench stats");
    suite_add_tcase(suite, tests);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
