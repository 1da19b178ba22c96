// SPDX-License-Identifier: MIT
#include "common/json_schema.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "common/text.h"

// Where the walk is: a member of, or an item in, what is above it.
typedef struct step {
    const struct step *above;
    const char *key; // NULL: an item
    size_t index;
} step;

typedef struct walk {
    const json_t *root; // the whole schema, for $ref
    bench_fault *fault;
} walk;

// ---- what is said ----

static void name_place(const step *at, char *text, size_t size)
{
    if (!at)
        return;
    name_place(at->above, text, size);
    if (at->key)
        bench_append(text, size, "%s%.60s", at->above ? "." : "", at->key);
    else
        bench_append(text, size, "[%zu]", at->index);
}

void bench_describe_json(const json_t *value, char *text, size_t size)
{
    switch (value ? json_typeof(value) : JSON_NULL) {
    case JSON_STRING:
        snprintf(text, size, "\"%.40s\"", json_string_value(value));
        break;
    case JSON_INTEGER:
        snprintf(text, size, "%lld", (long long)json_integer_value(value));
        break;
    case JSON_REAL:
        snprintf(text, size, "%.10g", json_real_value(value));
        break;
    case JSON_TRUE:
        snprintf(text, size, "true");
        break;
    case JSON_FALSE:
        snprintf(text, size, "false");
        break;
    case JSON_OBJECT:
        snprintf(text, size, "an object");
        break;
    case JSON_ARRAY:
        snprintf(text, size, "a list of %zu", json_array_size(value));
        break;
    default:
        snprintf(text, size, "null");
    }
}

static bool refuse(const walk *w, const step *at, const json_t *value, const char *wanted)
{
    char found[64];
    bench_describe_json(value, found, sizeof found);
    w->fault->place[0] = '\0';
    name_place(at, w->fault->place, sizeof w->fault->place);
    return bench_explain(w->fault->rule, sizeof w->fault->rule, "%s is wanted, not %s", wanted, found);
}

// ---- the rules ----

static const char *const type_names[][2] = {
    {"object", "an object"}, {"array", "a list"},          {"string", "a text"}, {"integer", "a whole number"},
    {"number", "a number"},  {"boolean", "true or false"}, {"null", "null"},
};

static const char *words_for(const char *type)
{
    for (size_t i = 0; i < sizeof type_names / sizeof *type_names; i++)
        if (!strcmp(type_names[i][0], type))
            return type_names[i][1];
    return type;
}

static bool is_type(const json_t *value, const char *type)
{
    switch (json_typeof(value)) {
    case JSON_OBJECT:
        return !strcmp(type, "object");
    case JSON_ARRAY:
        return !strcmp(type, "array");
    case JSON_STRING:
        return !strcmp(type, "string");
    case JSON_INTEGER:
        return !strcmp(type, "integer") || !strcmp(type, "number");
    case JSON_REAL:
        return !strcmp(type, "number");
    case JSON_TRUE:
    case JSON_FALSE:
        return !strcmp(type, "boolean");
    case JSON_NULL:
        return !strcmp(type, "null");
    }
    return false;
}

static bool check_type(const walk *w, const json_t *type, const json_t *value, const step *at)
{
    char wanted[160] = "";
    if (json_is_string(type) && is_type(value, json_string_value(type)))
        return true;
    if (json_is_string(type))
        bench_append(wanted, sizeof wanted, "%s", words_for(json_string_value(type)));
    for (size_t i = 0; i < json_array_size(type); i++) {
        const char *name = json_string_value(json_array_get(type, i));
        if (is_type(value, name))
            return true;
        bench_append(wanted, sizeof wanted, "%s%s", i ? " or " : "", words_for(name));
    }
    return refuse(w, at, value, wanted);
}

static bool check_values(const walk *w, const json_t *schema, const json_t *value, const step *at)
{
    const json_t *only = json_object_get(schema, "const"), *some = json_object_get(schema, "enum");
    char wanted[200] = "", one[64];
    if (only && !json_equal(only, value)) {
        bench_describe_json(only, wanted, sizeof wanted);
        return refuse(w, at, value, wanted);
    }
    for (size_t i = 0; i < json_array_size(some); i++) {
        if (json_equal(json_array_get(some, i), value))
            return true;
        bench_describe_json(json_array_get(some, i), one, sizeof one);
        bench_append(wanted, sizeof wanted, "%s%s", i ? ", " : "one of ", one);
    }
    return !some || refuse(w, at, value, wanted);
}

static bool check_range(const walk *w, const json_t *schema, const json_t *value, const step *at)
{
    const json_t *least = json_object_get(schema, "minimum"), *most = json_object_get(schema, "maximum"),
                 *above = json_object_get(schema, "exclusiveMinimum");
    const double number = json_number_value(value);
    char wanted[80];
    if (!json_is_number(value))
        return true;
    if (!isfinite(number))
        return refuse(w, at, value, "a finite number");
    if (least && number < json_number_value(least)) {
        snprintf(wanted, sizeof wanted, "at least %.10g", json_number_value(least));
        return refuse(w, at, value, wanted);
    }
    if (above && number <= json_number_value(above)) {
        snprintf(wanted, sizeof wanted, "more than %.10g", json_number_value(above));
        return refuse(w, at, value, wanted);
    }
    if (most && number > json_number_value(most)) {
        snprintf(wanted, sizeof wanted, "at most %.10g", json_number_value(most));
        return refuse(w, at, value, wanted);
    }
    return true;
}

static bool is_size(const json_t *schema, const char *least, const char *most, size_t size)
{
    const json_t *low = json_object_get(schema, least), *high = json_object_get(schema, most);
    return !(low && (json_int_t)size < json_integer_value(low)) &&
           !(high && (json_int_t)size > json_integer_value(high));
}

static bool check_sizes(const walk *w, const json_t *schema, const json_t *value, const step *at)
{
    if (json_is_array(value) && !is_size(schema, "minItems", "maxItems", json_array_size(value)))
        return refuse(w, at, value, "a list of another length");
    if (json_is_string(value) && !is_size(schema, "minLength", "maxLength", json_string_length(value)))
        return refuse(w, at, value, "a text of another length");
    return true;
}

static const json_t *follow(const walk *w, const json_t *schema)
{
    const char *reference = json_string_value(json_object_get(schema, "$ref"));
    if (!reference || strncmp(reference, "#/$defs/", 8) != 0)
        return schema;
    return json_object_get(json_object_get(w->root, "$defs"), reference + 8);
}

static bool check(const walk *w, const json_t *schema, const json_t *value, const step *at);

static bool check_members(const walk *w, const json_t *schema, const json_t *value, const step *at)
{
    const json_t *required = json_object_get(schema, "required"), *named = json_object_get(schema, "properties"),
                 *others = json_object_get(schema, "additionalProperties");
    for (size_t i = 0; i < json_array_size(required); i++) {
        const char *key = json_string_value(json_array_get(required, i));
        const step below = {at, key, 0};
        if (json_object_get(value, key))
            continue;
        w->fault->place[0] = '\0';
        name_place(&below, w->fault->place, sizeof w->fault->place);
        return bench_explain(w->fault->rule, sizeof w->fault->rule, "it is missing");
    }
    const char *key;
    json_t *member;
    json_object_foreach((json_t *)(uintptr_t)value, key, member)
    {
        const json_t *rule = json_object_get(named, key);
        const step below = {at, key, 0};
        rule = rule ? rule : others;
        if (rule && !check(w, rule, member, &below))
            return false;
    }
    return true;
}

static bool check(const walk *w, const json_t *schema, const json_t *value, const step *at)
{
    const json_t *rule = follow(w, schema), *type = json_object_get(rule, "type"),
                 *items = json_object_get(rule, "items");
    if (!json_is_object(rule)) // true
        return true;
    if ((type && !check_type(w, type, value, at)) || !check_values(w, rule, value, at) ||
        !check_range(w, rule, value, at) || !check_sizes(w, rule, value, at))
        return false;
    if (json_is_object(value))
        return check_members(w, rule, value, at);
    for (size_t i = 0; items && i < json_array_size(value); i++) {
        const step below = {at, NULL, i};
        if (!check(w, items, json_array_get(value, i), &below))
            return false;
    }
    return true;
}

bool bench_schema_check(const json_t *schema, const json_t *value, bench_fault *fault)
{
    const walk w = {schema, fault};
    memset(fault, 0, sizeof *fault);
    return check(&w, schema, value, NULL);
}

// ---- what a schema does not name ----

static bool names_all(const walk *w, const json_t *schema, const json_t *value, const step *at)
{
    const json_t *rule = follow(w, schema), *named = json_object_get(rule, "properties"),
                 *others = json_object_get(rule, "additionalProperties"), *items = json_object_get(rule, "items");
    for (size_t i = 0; items && i < json_array_size(value); i++) {
        const step below = {at, NULL, i};
        if (!names_all(w, items, json_array_get(value, i), &below))
            return false;
    }
    const char *key;
    json_t *member;
    json_object_foreach((json_t *)(uintptr_t)value, key, member)
    {
        const json_t *of_member = json_object_get(named, key);
        const step below = {at, key, 0};
        of_member = of_member ? of_member : others;
        if (named && !of_member) {
            w->fault->place[0] = '\0';
            name_place(&below, w->fault->place, sizeof w->fault->place);
            return bench_explain(w->fault->rule, sizeof w->fault->rule, "the schema does not name it");
        }
        if (of_member && !names_all(w, of_member, member, &below))
            return false;
    }
    return true;
}

bool bench_schema_names_all(const json_t *schema, const json_t *value, bench_fault *fault)
{
    const walk w = {schema, fault};
    memset(fault, 0, sizeof *fault);
    return names_all(&w, schema, value, NULL);
}
