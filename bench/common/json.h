/* SPDX-License-Identifier: MIT */
/* bench/common/json.h: members of a JSON object. */
#ifndef BENCH_COMMON_JSON_H
#define BENCH_COMMON_JSON_H

#include <jansson.h>
#include <stdbool.h>

/* "" and NaN where there is none. */
const char *bench_text_of(const json_t *object, const char *key);
double bench_number_of(const json_t *object, const char *key);

bool bench_has_text(const json_t *object, const char *key, const char *text);

#endif
