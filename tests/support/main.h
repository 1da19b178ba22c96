/* SPDX-License-Identifier: MIT */
/*
 * support/main.h: running a suite, and counting what it ran.
 */
#ifndef HUSK_TESTS_MAIN_H
#define HUSK_TESTS_MAIN_H

#include <stdbool.h>

#include <check.h>

#include "ref/check.h"

/*
 * Run the suite in this process (a context made before a fork would deadlock the child), print the counters,
 * and give what main returns: 0 when everything passed, and, in the default tier on PoCL's CPU, each variant that was
 * asked for has run at least once.
 */
int test_main(Suite *suite);

/* Whether this is the tier of that name: "default", "dtypes" ... */
bool test_tier_is(const char *tier);
/* True in the long tier (HUSK_TEST_TIER=long): worth more configurations and larger ones. */
bool test_is_long(void);
/* Whether this library has the variant: some come with another library (CLBlast), so none is named by its number. */
bool test_has_variant(const char *op, const char *variant);

/*
 * Counters, one row an operator and variant, printed at the end:
 *     executed: conv winograd_4x4 120 configurations, 3 refused, at most 0.31 of the bound
 *     executed: conv in all 412 configurations
 * variant NULL stands for the library's own choice.
 */
void test_count_refused(const char *op, const char *variant);
/* For a test that has no report: it looks at results by itself. */
void test_count_executed(const char *op, const char *variant);
/*
 * Take a report: fail the test with the configuration and the report's text unless it passed and is to be
 * trusted; count it as executed.
 */
void test_accept(const char *op, const char *variant, const char *configuration, const husk_ref_report *report);
/*
 * What is taken in between was drawn by chance. A draw whose results have to be zero proves nothing: it is not counted
 * as executed, and fails no test as long as it is one in ten at most. One that is zero within its bounds fails, as
 * ever, where what was computed is far from the numbers themselves.
 */
void test_begin_draws(void);
void test_end_draws(void);
/* Configurations of the operator executed so far, over all variants. */
long test_executed(const char *op);

#endif
