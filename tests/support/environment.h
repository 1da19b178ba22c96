/* SPDX-License-Identifier: MIT */
/*
 * support/environment.h: environment variables for the length of a test.
 */
#ifndef HUSK_TESTS_ENVIRONMENT_H
#define HUSK_TESTS_ENVIRONMENT_H

/* Set a variable (NULL: unset it); at most 16 different ones a test. */
void test_setenv(const char *name, const char *value);
/* Everything that test_setenv changed is again as it was when the program began. */
void test_restore_environment(void);

#endif
