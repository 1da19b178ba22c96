// SPDX-License-Identifier: MIT
// ctest: tiers=default,valgrind
// One time that several processes measured: what they say together, and when they disagree.
#include <check.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/rank_test.h"
#include "common/stats.h"
#include "measure/levels.h"
#include "ref/random.h"

typedef struct times {
    bench_samples samples;
    bench_parts parts;
} times;

static husk_ref_random source;

// About normal, of variance 1: the sum of twelve.
static double normal(void)
{
    double sum = -6;
    for (int i = 0; i < 12; i++)
        sum += (double)husk_ref_random_below(&source, 1 << 20) / (1 << 20);
    return sum;
}

static void add_process(times *t, double median, double noise, size_t count)
{
    const bench_part part = {.number = (int)t->parts.count, .count = count, .busy_ns = 1.5e9, .spent_ns = 1e9};
    for (size_t i = 0; i < count; i++)
        ck_assert(bench_samples_add(&t->samples, median * exp(noise * normal())));
    ck_assert(bench_parts_add(&t->parts, &part));
}

static bench_levels find(times *t)
{
    bench_levels levels;
    ck_assert(bench_levels_find(t->samples.values, &t->parts, &levels));
    bench_samples_free(&t->samples);
    bench_parts_free(&t->parts);
    *t = (times){0};
    return levels;
}

static bench_levels of_medians(const double *medians, size_t count, double noise)
{
    times t = {0};
    for (size_t i = 0; i < count; i++)
        add_process(&t, medians[i], noise, 25);
    return find(&t);
}

// Student's t of one degree of freedom is 12.7, which e to the power of it is no time any more.
START_TEST(an_interval_of_two_that_disagree_has_an_end)
{
    const bench_levels l = of_medians((double[]){100, 90000}, 2, 0);
    ck_assert_double_gt(l.high, l.median);
    ck_assert_double_le(l.high, 1e3 * l.median * 1.001);
    ck_assert_double_ge(l.low, 1e-3 * l.median * 0.999);
}
END_TEST

START_TEST(one_process_has_no_between)
{
    const bench_levels l = of_medians((double[]){100}, 1, 0);
    ck_assert_uint_eq(l.processes, 1);
    ck_assert_double_eq(l.median, 100);
    ck_assert(isnan(l.between) && isnan(l.low) && isnan(l.high));
    ck_assert(!l.disagree);
}
END_TEST

START_TEST(no_samples_say_nothing)
{
    times t = {0};
    bench_levels l = find(&t);
    ck_assert_uint_eq(l.processes, 0);
    ck_assert(isnan(l.median));
    // A process that took none does not count, and the next one takes its place.
    ck_assert(bench_parts_add(&t.parts, &(bench_part){.number = 4}));
    ck_assert(bench_parts_add(&t.parts, &(bench_part){.number = 6}));
    for (int i = 0; i < 3; i++)
        ck_assert(bench_samples_add(&t.samples, 7));
    ck_assert(bench_parts_add(&t.parts, &(bench_part){.number = 6, .count = 3}));
    ck_assert_uint_eq(t.parts.count, 1);
    ck_assert_int_eq(t.parts.values[0].number, 6);
    l = find(&t);
    ck_assert_uint_eq(l.processes, 1);
    ck_assert_double_eq(l.median, 7);
}
END_TEST

// Of processes without noise of their own: the median of the three, and Student's t of the logarithms around it.
START_TEST(the_interval_is_that_between_processes)
{
    const bench_levels l = of_medians((double[]){102, 100, 101}, 3, 0);
    const double logs[] = {log(102), log(100), log(101)}, mean = (logs[0] + logs[1] + logs[2]) / 3;
    double squares = 0;
    for (int i = 0; i < 3; i++)
        squares += (logs[i] - mean) * (logs[i] - mean);
    ck_assert_double_eq_tol(l.median, 101, 1e-9);
    ck_assert_double_eq_tol(l.between, sqrt(squares / 2), 1e-12);
    ck_assert_double_eq_tol(log(l.high / l.median), 1.160 * 4.30265272974946 * l.between / sqrt(3), 1e-12);
    ck_assert_double_eq_tol(log(l.median / l.low), log(l.high / l.median), 1e-12);
    ck_assert(!l.disagree);
}
END_TEST

// Samples of wide noise within processes that are the same by chance: these decide.
START_TEST(wide_samples_widen_the_interval)
{
    source.seed = 1;
    times t = {0};
    for (int i = 0; i < 3; i++) {
        for (int k = 0; k < 11; k++) {
            ck_assert(bench_samples_add(&t.samples, k == 10 ? 100 : k % 2 ? 150 : 50));
            ck_assert(bench_parts_add(&t.parts, &(bench_part){.number = i, .count = 1}));
        }
    }
    const bench_levels l = find(&t);
    ck_assert_double_eq(l.between, 0);
    ck_assert_double_gt(l.within, 0.2);
    ck_assert_double_eq_tol(log(l.high / l.median), 1.160 * l.within / sqrt(3), 1e-12);
}
END_TEST

START_TEST(two_speeds_are_told)
{
    char text[96];
    bench_levels l = of_medians((double[]){440e3, 650e3, 445e3, 650e3, 435e3}, 5, 0);
    ck_assert(l.disagree && !l.is_even);
    ck_assert_double_eq(l.speeds[0], 440e3);
    ck_assert_double_eq(l.speeds[1], 650e3);
    bench_levels_text(&l, text);
    ck_assert_str_eq(text, "two speeds: 440 us and 650 us");
    l = of_medians((double[]){400e3, 440e3, 480e3, 520e3}, 4, 0); // evenly
    ck_assert(l.disagree);
    ck_assert(l.is_even);
    ck_assert_double_eq(l.speeds[0], 400e3);
    ck_assert_double_eq(l.speeds[1], 520e3);
    bench_levels_text(&l, text);
    ck_assert_str_eq(text, "processes differ: 400 us to 520 us");
    l = of_medians((double[]){440e3, 455e3, 445e3}, 3, 0.005);
    ck_assert(!l.disagree);
    bench_levels_text(&l, text);
    ck_assert_str_eq(text, "");
}
END_TEST

// What the samples of a process vary by anyway is no second speed, however few there are.
START_TEST(noise_within_is_no_second_speed)
{
    static const size_t counts[] = {1, 2, 3, 5, 6, 8, 25};
    source.seed = 2;
    for (size_t k = 0; k < sizeof counts / sizeof *counts; k++) {
        int told = 0;
        for (int i = 0; i < 200; i++) {
            times t = {0};
            for (int p = 0; p < 3; p++)
                add_process(&t, 100, i % 2 ? 0.3 : 0.05, counts[k]);
            told += find(&t).disagree;
        }
        ck_assert_msg(told <= 10, "%zu samples: %d of 200", counts[k], told);
    }
}
END_TEST

// Whatever processes vary by: the interval holds the true time in 95% of runs, and that of all samples together, which
// knows nothing of processes, in far fewer.
START_TEST(the_interval_covers_what_the_samples_do_not)
{
    static const int counts[] = {2, 3, 5, 10, 15};
    source.seed = 3;
    for (size_t k = 0; k < sizeof counts / sizeof *counts; k++) {
        int covered = 0, by_samples = 0;
        for (int run = 0; run < 1000; run++) {
            times t = {0};
            bench_summary s;
            for (int i = 0; i < counts[k]; i++)
                add_process(&t, 100 * exp(0.02 * normal()), 0.005, 20);
            ck_assert(bench_summarise(&t.samples, &s));
            by_samples += s.ci_low <= 100 && 100 <= s.ci_high;
            const bench_levels l = find(&t);
            covered += l.low <= 100 && 100 <= l.high;
        }
        ck_assert_msg(covered >= 930 && covered <= 985, "%d processes: %d of 1000", counts[k], covered);
        ck_assert_msg(by_samples < 700, "%d processes: %d of 1000 by samples", counts[k], by_samples);
    }
}
END_TEST

START_TEST(students_p_is_that_of_the_tables)
{
    for (size_t n = 1; n <= 40; n++) { // of 11 and more the quantile has four digits
        const double tolerance = n <= 10 ? 1e-10 : 3e-4;
        ck_assert_double_eq_tol(bench_student_p(bench_student(n), (double)n), 0.05, tolerance);
    }
    ck_assert_double_eq_tol(bench_student_p(63.6567411628719, 1), 0.01, 1e-10);
    ck_assert_double_eq_tol(bench_student_p(-4.60409487135, 4), 0.01, 1e-10);
    ck_assert_double_eq(bench_student_p(0, 3), 1);
    ck_assert_double_eq_tol(bench_student_p(1, 1), 0.5, 1e-12); // Cauchy's quartile
    ck_assert_double_eq_tol(bench_student_p(2.5, 1e7), erfc(2.5 / sqrt(2)), 1e-6);
    ck_assert(isnan(bench_student_p(1, 0)) && isnan(bench_student_p(NAN, 3)));
    for (double p = 1e-6; p < 0.9; p *= 3)
        for (double freedom = 1; freedom < 30; freedom += 0.7)
            ck_assert_double_eq_tol(bench_student_p(bench_student_limit(p, freedom), freedom) / p, 1, 1e-6);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("levels");
    TCase *tests = tcase_create("levels");
    tcase_add_test(tests, an_interval_of_two_that_disagree_has_an_end);
    tcase_add_test(tests, one_process_has_no_between);
    tcase_add_test(tests, no_samples_say_nothing);
    tcase_add_test(tests, the_interval_is_that_between_processes);
    tcase_add_test(tests, wide_samples_widen_the_interval);
    tcase_add_test(tests, two_speeds_are_told);
    tcase_add_test(tests, noise_within_is_no_second_speed);
    tcase_add_test(tests, the_interval_covers_what_the_samples_do_not);
    tcase_add_test(tests, students_p_is_that_of_the_tables);
    suite_add_tcase(suite, tests);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    const int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
