// SPDX-License-Identifier: MIT
#include "common/json.h"

#include <math.h>
#include <string.h>

const char *bench_text_of(const json_t *object, const char *key)
{
    const char *text = json_string_value(json_object_get(object, key));
    return text ? text : "";
}

double bench_number_of(const json_t *object, const char *key)
{
    const json_t *value = json_object_get(object, key);
    return json_is_number(value) ? json_number_value(value) : NAN;
}

bool bench_has_text(const json_t *object, const char *key, const char *text)
{
    return !strcmp(bench_text_of(object, key), text);
}

json_t *bench_json_integers(const int64_t *values, int count)
{
    json_t *array = json_array();
    for (int i = 0; i < count; i++)
        json_array_append_new(array, json_integer((json_int_t)values[i]));
    return array;
}
