/* SPDX-License-Identifier: MIT */
/*
 * verify/runner.h: tests of libhusk_verify link it and Check, and nothing else of Husk's.
 */
#ifndef HUSK_TESTS_VERIFY_RUNNER_H
#define HUSK_TESTS_VERIFY_RUNNER_H

#include <stdlib.h>
#include <string.h>

#include <check.h>

#include <husk/verify.h>

static inline int run_suite(Suite *suite)
{
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    const int failures = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failures ? EXIT_FAILURE : EXIT_SUCCESS;
}

static inline void ck_ok(husk_status status, const husk_error *error)
{
    ck_assert_msg(status == HUSK_OK, "%s", error->text);
}

/* A bad call was answered so, by a text that has these words. */
static inline void ck_refused(husk_status status, husk_status wanted, const husk_error *error, const char *words)
{
    ck_assert_int_eq(status, wanted);
    ck_assert_int_eq(error->status, wanted);
    ck_assert_msg(strstr(error->text, words) != NULL, "\"%s\" is not in: %s", words, error->text);
}

#endif
