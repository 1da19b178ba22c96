/* SPDX-License-Identifier: MIT */
/*
 * bench/system/dynamic_library.h: libraries that a worker opens: a baseline's, or a user's own reference.
 */
#ifndef BENCH_SYSTEM_DYNAMIC_LIBRARY_H
#define BENCH_SYSTEM_DYNAMIC_LIBRARY_H

#include "common/text.h"

/* Open the first of the names that can be; NULL-ended. NULL: reason says what the last attempt met. */
void *bench_library_open(const char *const *names, char reason[BENCH_REASON_TEXT]);
/* Store the function's address, of whatever function pointer type, in *function. False: it has none. */
bool bench_library_function(void *library, const char *name, void *function, char reason[BENCH_REASON_TEXT]);
/* setenv, unless the user has set the variable: a user's own settings count. */
void bench_environment_default(const char *name, const char *value);

#endif
