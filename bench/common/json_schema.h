/* SPDX-License-Identifier: MIT */
/*
 * bench/common/json_schema.h: whether a JSON value is what a JSON Schema asks for, in as much of the language (draft
 * 2020-12) as bench/schema uses: type, const, enum, required, properties, additionalProperties, items, minItems,
 * maxItems, minLength, maxLength, minimum, exclusiveMinimum, maximum, and $ref into the schema's own $defs.
 */
#ifndef BENCH_COMMON_JSON_SCHEMA_H
#define BENCH_COMMON_JSON_SCHEMA_H

#include <stdbool.h>

#include <jansson.h>

typedef struct bench_fault {
    char place[200]; /* "results[3].time.median_ns"; "" is the document itself */
    char rule[300];  /* "a number of at least 0 is wanted, not -1" */
} bench_fault;

/* False: fault says what is wrong first, and where. */
bool bench_schema_check(const json_t *schema, const json_t *value, bench_fault *fault);

/*
 * Readers pass over members that a schema does not name. Whether the value has none of those, where the schema names
 * any; false: fault says where the first one is.
 */
bool bench_schema_names_all(const json_t *schema, const json_t *value, bench_fault *fault);

/* A value in a few words for a message: its text, cut short, or what kind of thing it is. */
void bench_describe_json(const json_t *value, char *text, size_t size);

#endif
