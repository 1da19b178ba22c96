// SPDX-License-Identifier: MIT
// How long clbench doctor keeps a device busy, and what it makes of the rates: on made-up ones.
#include <check.h>
#include <math.h>
#include <stdlib.h>

#include "doctor/device.h"
#include "doctor/speed.h"

#define SECONDS 20.0
#define MOST    4000

static double rates[MOST], times[MOST];
static size_t count;
static unsigned state;

static double noise(void) // of [-1, 1)
{
    state = state * 1664525u + 1013904223u;
    return (double)(state >> 8) / (1 << 23) - 1;
}

// Kernels of 10 ms at a rate of 100, whose rate is what the function says at a time; width: its noise, relative.
static bool judge(double (*rate)(double), double width, bench_speed *speed)
{
    count = 0;
    for (double at = 0; at < SECONDS && count < MOST; count++) {
        times[count] = at;
        rates[count] = 100 * rate(at) * (1 + width * noise());
        at += 0.010 * 100 / rates[count];
    }
    return bench_doctor_judge_speed(rates, times, count, SECONDS, speed);
}

static double steady(double at)
{
    (void)at;
    return 1;
}

static double throttles_late(double at)
{
    return at < 14 ? 1 : 0.8;
}

static double falls_slowly(double at)
{
    return 1 - 0.12 * at / SECONDS;
}

static double falls_a_little(double at)
{
    return 1 - 0.04 * at / SECONDS;
}

static double has_a_burst_at_the_end(double at)
{
    return at > 18 && at < 18.9 ? 0.3 : 1;
}

// What others do to it comes and goes in seconds, which samples of 10 ms within it show alike.
static double comes_and_goes(double at)
{
    static const double levels[] = {1, 0.6, 0.9, 0.5, 1, 0.7, 0.55, 1, 0.6, 0.8};
    return levels[(size_t)(at / 0.8) % 10];
}

static double becomes_faster(double at)
{
    return at < 6 ? 0.7 : 1;
}

START_TEST(a_fall_is_found_when_it_is_above_the_noise)
{
    bench_speed s;
    for (state = 1; state < 40; state += 13) {
        ck_assert(judge(throttles_late, 0.02, &s) && s.slows);
        ck_assert_double_eq_tol(s.change, -0.2, 0.02);
        ck_assert_double_lt(s.noise, 0.03);
        ck_assert_double_eq_tol(s.least, 0.19, 0.02);
        ck_assert(judge(throttles_late, 0.2, &s) && s.slows); // the medians of bins are steadier than samples
        ck_assert(judge(falls_slowly, 0.02, &s) && s.slows);
    }
}
END_TEST

START_TEST(what_is_no_fall_is_not_called_one)
{
    double (*const functions[])(double) = {steady, falls_a_little, has_a_burst_at_the_end, comes_and_goes,
                                           becomes_faster};
    bench_speed s;
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++) {
        for (unsigned seed = 1; seed < 300; seed += 13) {
            state = seed;
            ck_assert(judge(functions[i], i == 3 ? 0.02 : 0.1, &s));
            ck_assert_msg(!s.slows, "function %zu, seed %u: %g +- %g", i, seed, s.change, s.noise);
        }
    }
    ck_assert(judge(steady, 0.02, &s) && !s.is_contended);
    ck_assert(judge(comes_and_goes, 0.02, &s) && s.is_contended);
}
END_TEST

static double levels[26];

static double by_chance(double at)
{
    return levels[(size_t)(at / 0.8)];
}

// What others do at random makes the end slower than the beginning in many runs, and is a fall in one of forty.
START_TEST(chance_is_no_fall)
{
    size_t slower = 0, falls = 0;
    bench_speed s;
    for (unsigned seed = 1; seed <= 200; seed++) {
        state = seed * 7919;
        for (size_t i = 0; i < sizeof levels / sizeof *levels; i++)
            levels[i] = 1 + 0.5 * noise();
        ck_assert(judge(by_chance, 0.02, &s));
        slower += s.change < -0.07;
        falls += s.slows;
    }
    ck_assert_uint_gt(slower, 50);
    ck_assert_uint_lt(falls, 13); // 5 are expected
}
END_TEST

START_TEST(too_few_are_no_verdict)
{
    bench_speed s;
    ck_assert(!bench_doctor_judge_speed(rates, times, 0, SECONDS, &s));
    judge(steady, 0.02, &s);
    ck_assert(!bench_doctor_judge_speed(rates, times, 20, SECONDS, &s)); // none of the later ones
}
END_TEST

START_TEST(the_time_is_within_the_budget)
{
    static const struct {
        double budget, heat, heats, checks;
    } cases[] = {
        {0, 0, 20, 60},        // nothing was said: 80 s a device
        {0, 300, 300, 60},     // --heat 5m
        {0, -1, 0, 60},        // --heat 0
        {40, 0, 10, 30},       // --budget 40: a quarter
        {200, 0, 20, 180},     // --budget 200
        {200, 100, 100, 100},  // both
        {10, 20, 10, 0},       // no more than the budget
        {-1, 0, 20, HUGE_VAL}, // --budget 0: all operators
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const bench_options options = {.budget = cases[i].budget, .heat = cases[i].heat};
        ck_assert_double_eq(bench_doctor_heat_seconds(&options), cases[i].heats);
        ck_assert(bench_doctor_check_seconds(&options) == cases[i].checks);
    }
}
END_TEST

int main(void)
{
    TCase *tests = tcase_create("speed");
    tcase_add_test(tests, a_fall_is_found_when_it_is_above_the_noise);
    tcase_add_test(tests, what_is_no_fall_is_not_called_one);
    tcase_add_test(tests, chance_is_no_fall);
    tcase_add_test(tests, too_few_are_no_verdict);
    tcase_add_test(tests, the_time_is_within_the_budget);
    Suite *suite = suite_create("clbench doctor on speed");
    suite_add_tcase(suite, tests);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    const int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
