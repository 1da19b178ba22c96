/* SPDX-License-Identifier: MIT */
/*
 * support/device.h: the device that the tests run on, opened once a process, at first use.
 *
 * It is the library's default: HUSK_DEVICE chooses another, HUSK_LIMITS lowers what it may use. Where there
 * is none the process ends with exit code 6 and the library's text, as clbench does.
 */
#ifndef HUSK_TESTS_DEVICE_H
#define HUSK_TESTS_DEVICE_H

#include <stdbool.h>

#include <husk/husk.h>

husk_context *test_context(void);
/*
 * Release everything; does nothing when no device was opened. test_main calls it, while main still runs: at exit
 * some implementations (Oclgrind) have already destroyed what their own release functions need.
 */
void test_close_device(void);
/*
 * Wait, a minute at most, for what the queues still do. test_main calls it: a process that ends while PoCL compiles a
 * kernel for one of its threads crashes in LLVM.
 */
void test_finish_device(void);
/*
 * Whether nothing was written outside the memory of the context since the last check, scratch memory and packed weights
 * included: it has guard bands (husk/guard.h), but where a checker looks. test_fetch asks, and test_main at the end.
 */
bool test_guards_are_intact(husk_error *error);
/* Memory that is made from now on has none: for who counts bytes, or what OpenCL is called for. */
void test_without_guards(void);
/* Whether that is PoCL's CPU, with all that it has: each variant that a test names runs there, but for engines. */
bool test_device_is_home(void);
/* Whether the variant, one for CPUs, keeps panels in private memory, of which this device, a GPU, refuses so much. */
bool test_lacks_panels(const char *variant);
husk_queue *test_queue(void);
/* A queue that keeps its profile: what was enqueued can be counted. For calls that must enqueue nothing. */
husk_queue *test_silent_queue(void);

/* Fail the test, with the queue's text, unless the status is HUSK_OK. */
void test_ok(husk_status status);
/* The same for a call that gives its text in an error. */
void test_ok_error(husk_status status, const husk_error *error);
/*
 * For a call that names a variant: true when it ran. A variant may refuse with HUSK_UNSUPPORTED, which is
 * counted and answered with false; any other failure, or a refusal of the library's own choice (variant
 * NULL), fails the test.
 */
bool test_ran(husk_status status, const char *op, const char *variant);
bool test_ran_error(husk_status status, const husk_error *error, const char *op, const char *variant);

/*
 * A bad call was answered as it must be: with this status, in a text that contains the argument's name; and
 * nothing was enqueued. For a call on test_silent_queue().
 */
void test_refused(husk_status status, husk_status wanted, const char *argument);
/* The same for a call that gives its text in an error, such as the making of a plan. */
void test_refused_error(husk_status status, const husk_error *error, husk_status wanted, const char *argument);

#endif
