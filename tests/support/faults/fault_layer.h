/* SPDX-License-Identifier: MIT */
/*
 * fault_layer.h: between the library and the OpenCL loader, inside the test's program alone. The nth call
 * that may fail answers with an error instead of being made.
 *
 * Calls that release or ask for information the caller has no use for failing are passed through.
 */
#ifndef HUSK_TESTS_FAULT_LAYER_H
#define HUSK_TESTS_FAULT_LAYER_H

#include <stdbool.h>

#include <husk/opencl.h>

/* Fail call number (from 1 on), with this code; for_good: and every one after it. 0: none. */
void fault_plan(long number, cl_int code, bool for_good);
/* The next calls of this name, so many of them, fail with this code, until there is another plan. */
void fault_fail(const char *name, long count, cl_int code);
/* Calls of this name are counted, and never fail; NULL: none. */
void fault_spare(const char *name);
/* The next that is asked how far an event has come answers that it has ended so (a number below 0). */
void fault_end_event(cl_int status);
/* Calls that could have failed since the plan was made. */
long fault_calls(void);
/* Name of the call that was the first to fail; NULL when none has. */
const char *fault_name(void);
/* References to OpenCL objects that have been made or retained, and not released, since the program began. */
long fault_objects(void);

#endif
