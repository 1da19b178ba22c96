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
