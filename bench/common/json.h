/* SPDX-License-Identifier: MIT */
/* bench/common/json.h: members of a JSON object. */
#ifndef BENCH_COMMON_JSON_H
#define BENCH_COMMON_JSON_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

/* "" and NaN where there is none. */
const char *bench_text_of(const json_t *object, const char *key);
double bench_number_of(const json_t *object, const char *key);

/* An array of whole numbers, a new reference. */
json_t *bench_json_integers(const int64_t *values, int count);

bool bench_has_text(const json_t *object, const char *key, const char *text);

#endif
