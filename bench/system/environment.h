/* SPDX-License-Identifier: MIT */
/* bench/system/environment.h: the variables that change what is measured. */
#ifndef BENCH_SYSTEM_ENVIRONMENT_H
#define BENCH_SYSTEM_ENVIRONMENT_H

#include <jansson.h>

#include "common/text.h"

/* does stands behind "VARIABLE=value". */
typedef struct bench_variable {
    const char *name, *does;
} bench_variable;

/* NULL past the last. */
const bench_variable *bench_variable_at(size_t index);

/* The names by which versions of PoCL are told how many threads to start. NULL past the last. */
const char *bench_environment_pocl_threads(size_t index);

/* Those that are set, with their values. */
json_t *bench_environment_json(void);
/* Whether the same are set now; else reason names one. */
bool bench_environment_is_same(const json_t *before, char reason[BENCH_REASON_TEXT]);

#endif
