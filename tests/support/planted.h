/* SPDX-License-Identifier: MIT */
/*
 * support/planted.h: a check proves something only when it has been seen to fail.
 *
 * Every operator's test calls test_planted once, with the function that it checks its outputs with and an
 * output that has passed.
 */
#ifndef HUSK_TESTS_PLANTED_H
#define HUSK_TESTS_PLANTED_H

#include "ref/check.h"
#include "support/tensor.h"

/* Check the values in array and add to the report, as the operator's test does for real. */
typedef void (*test_check_fn)(void *user, const husk_ref_array *array, husk_ref_report *report);

/*
 * The array passes. Then, one after another and undone each time: one element is off by ten times its bound
 * (by one rounding, where the bound is zero), one is NaN, one is infinite, a patch of two by two in the
 * middle of the last two dimensions is wrong by more than its values. Fail the test unless the check fails
 * every time. function tells the bounds. The elements that are changed alone are the first, the middle and
 * the last one, so the output must be small enough to be checked completely.
 */
void test_planted(const husk_ref_function *function, const husk_ref_array *array, test_check_fn check, void *user);
/* The patch alone, for large outputs that are sampled. */
void test_planted_patch(const husk_ref_array *array, test_check_fn check, void *user);
/* The same for the guards of a fetched output: a changed byte before or after it is seen. */
void test_planted_guards(test_tensor *output);

#endif
