// SPDX-License-Identifier: MIT
#include "support/main.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/device.h"
#include "support/tensor.h"

typedef struct counter {
    char op[32], variant[48];
    long executed, refused;
    double max_ratio;
} counter;

#define MAX_COUNTERS 128

static counter counters[MAX_COUNTERS];
static int counter_count;

static counter *find_counter(const char *op, const char *variant)
{
    const char *name = variant != NULL ? variant : "(chosen)";
    for (int i = 0; i < counter_count; i++)
        if (strcmp(counters[i].op, op) == 0 && strcmp(counters[i].variant, name) == 0)
            return &counters[i];
    ck_assert_msg(counter_count < MAX_COUNTERS, "more than %d variants are counted", MAX_COUNTERS);
    counter *found = &counters[counter_count++];
    snprintf(found->op, sizeof(found->op), "%s", op);
    snprintf(found->variant, sizeof(found->variant), "%s", name);
    return found;
}

void test_count_refused(const char *op, const char *variant)
{
    find_counter(op, variant)->refused++;
}

void test_count_executed(const char *op, const char *variant)
{
    find_counter(op, variant)->executed++;
}

static struct draws {
    bool are_on;
    long all, empty;
} draws;

void test_begin_draws(void)
{
    draws = (struct draws){.are_on = true};
}

void test_end_draws(void)
{
    draws.are_on = false;
    ck_assert_msg(draws.empty * 10 <= draws.all, "%ld of %ld draws prove nothing", draws.empty, draws.all);
}

// By what was expected, whatever was computed: zeros, or numbers so small that their squares are zero.
static bool is_of_zeros(const husk_ref_report *report)
{
    const int64_t zeros = report->zeros - (report->near_squares > 0 ? report->near_zeros : 0);
    return husk_ref_report_inconclusive(report) && zeros * 4 > report->checked * 3;
}

void test_accept(const char *op, const char *variant, const char *configuration, const husk_ref_report *report)
{
    counter *found = find_counter(op, variant);
    char text[512];
    husk_ref_report_text(report, text, sizeof(text));
    draws.all++;
    if (draws.are_on && husk_ref_report_pass(report) && is_of_zeros(report)) {
        draws.empty++;
        return;
    }
    if (!husk_ref_report_pass(report) || husk_ref_report_inconclusive(report))
        ck_abort_msg("%s, variant %s, %s: %s", op, found->variant, configuration, text);
    found->executed++;
    found->max_ratio = fmax(found->max_ratio, report->max_ratio);
}

long test_executed(const char *op)
{
    long executed = 0;
    for (int i = 0; i < counter_count; i++)
        executed += strcmp(counters[i].op, op) == 0 ? counters[i].executed : 0;
    return executed;
}

static void print_counters(void)
{
    for (int i = 0; i < counter_count; i++) {
        const counter *c = &counters[i];
        if (c->executed == 0 && c->refused == 0)
            continue;
        printf("executed: %s %s %ld configurations, %ld refused, at most %.3g of the bound\n", c->op, c->variant,
               c->executed, c->refused, c->max_ratio);
        bool is_last = true;
        for (int j = i + 1; j < counter_count; j++)
            is_last = is_last && strcmp(counters[j].op, c->op) != 0;
        if (is_last)
            printf("executed: %s in all %ld configurations\n", c->op, test_executed(c->op));
    }
}

// Variants that were asked for and have never run: the test says nothing about them. Matrix engines are not everywhere,
// nor is CLBlast.
static int count_absent(void)
{
    int absent = 0;
    for (int i = 0; i < counter_count; i++) {
        const counter *c = &counters[i];
        if (c->refused == 0 || c->executed > 0 || strstr(c->variant, "matrix") || strstr(c->variant, "clblast"))
            continue;
        fprintf(stderr, "%s: variant %s has refused all it was asked for, %ld times\n", c->op, c->variant, c->refused);
        absent++;
    }
    return absent;
}

bool test_tier_is(const char *tier)
{
    const char *now = getenv("HUSK_TEST_TIER");
    return now != NULL && strcmp(now, tier) == 0;
}

bool test_is_long(void)
{
    return test_tier_is("long");
}

// What no test has asked for.
static bool are_guards_intact(void)
{
    test_release_all(); // and what is released is looked at
    husk_error error;
    if (test_guards_are_intact(&error))
        return true;
    fprintf(stderr, "%s\n", error.text);
    return false;
}

bool test_has_variant(const char *op, const char *variant)
{
    const char *name;
    for (size_t i = 0; (name = husk_op_variant(op, i)) != NULL; i++)
        if (strcmp(name, variant) == 0)
            return true;
    return false;
}

int test_main(Suite *suite)
{
    SRunner *runner = srunner_create(suite);
    srunner_set_fork_status(runner, CK_NOFORK);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    int run = srunner_ntests_run(runner);
    srunner_free(runner);
    test_finish_device();
    const bool is_intact = are_guards_intact();
    test_close_device();
    print_counters();
    if (run == 0)
        fprintf(stderr, "no test was run\n");
    const bool is_whole = test_tier_is("default") && getenv("CK_RUN_CASE") == NULL && test_device_is_home();
    const int absent = is_whole ? count_absent() : 0;
    return failed == 0 && run > 0 && absent == 0 && is_intact ? EXIT_SUCCESS : EXIT_FAILURE;
}
