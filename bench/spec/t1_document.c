// SPDX-License-Identifier: MIT
#include "spec/t1_document.h"

#include <ctype.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "common/json_place.h"
#include "spec/parse_spec.h"

enum { MOST_MEMBERS = 1000 };

void bench_t1_member(char text[BENCH_T1_MEMBER_TEXT], const char *of, const char *name)
{
    snprintf(text, BENCH_T1_MEMBER_TEXT, "%.120s%s%.70s", of, of[0] && name[0] != '[' ? "." : "", name);
}

bool bench_t1_fail(bench_t1 *t, const char *member, const char *format, ...)
{
    char text[BENCH_REASON_TEXT];
    if (t->reason[0])
        return false;
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    bench_clean_line(text);
    return bench_explain(t->reason, BENCH_REASON_TEXT, "%.200s:%d: %s%s%.600s", t->description->path,
                         bench_json_line(t->text, member), member, member[0] ? ": " : "", text);
}

static bool read_line(bench_t1 *t)
{
    if (bench_scan_take(&t->scan, "kernel"))
        return bench_parse_heading(&t->scan, t->spec, false) && bench_scan_end(&t->scan);
    return bench_parse_line(&t->scan, t->spec);
}

// The mistake that was found: its place is replaced by ours, since a line's column says nothing to somebody who has not
// written it.
static bool fail_line(bench_t1 *t, const char *member, const char *found)
{
    char place[300];
    snprintf(place, sizeof place, "%.200s:%d:", t->description->path, t->scan.line);
    const size_t length = strlen(place);
    const char *message = !strncmp(found, place, length) ? strstr(found + length, ": ") : NULL;
    return bench_t1_fail(t, member, "%s", message ? message + 2 : found);
}

bool bench_t1_line(bench_t1 *t, const char *member, const char *line)
{
    char found[BENCH_REASON_TEXT] = "";
    bench_scan_begin(&t->scan, t->description->path, bench_json_line(t->text, member), line, found);
    return read_line(t) || fail_line(t, member, found);
}

bool bench_t1_check(bench_t1 *t, const char *member)
{
    char found[BENCH_REASON_TEXT] = "";
    bench_scan_begin(&t->scan, t->description->path, t->spec->line, "", found);
    return bench_parse_check(&t->scan, t->spec) || fail_line(t, member, found);
}

const char *bench_t1_string(bench_t1 *t, const char *member, const json_t *value, size_t most)
{
    const char *text = json_string_value(value);
    if (!value) {
        bench_t1_fail(t, member, "it is missing");
        return NULL;
    }
    if (!text) {
        bench_t1_fail(t, member, "a string is wanted");
        return NULL;
    }
    if (strlen(text) > most) {
        bench_t1_fail(t, member, "it has more than %zu bytes", most);
        return NULL;
    }
    for (const char *at = text; *at; at++) {
        if ((unsigned char)*at < ' ' || *at == 0x7f) {
            bench_t1_fail(t, member, "it has control characters");
            return NULL;
        }
    }
    return text;
}

void bench_t1_number(double number, char text[BENCH_T1_NUMBER_TEXT])
{
    if (number == floor(number) && fabs(number) < 0x1p53)
        snprintf(text, BENCH_T1_NUMBER_TEXT, "%.0f", number);
    else
        bench_format_real(number, text, BENCH_T1_NUMBER_TEXT);
}

bool bench_t1_expression(bench_t1 *t, const char *member, const json_t *value, char text[BENCH_T1_EXPRESSION_TEXT])
{
    char why[BENCH_REASON_TEXT];
    enum { LONGEST = 2000 };
    if (json_is_integer(value)) {
        snprintf(text, BENCH_T1_EXPRESSION_TEXT, "%" JSON_INTEGER_FORMAT, json_integer_value(value));
        return true;
    }
    if (json_is_real(value)) {
        // 4096.0 is written 4096: where a whole number is wanted it is one, and elsewhere it is the same number.
        bench_t1_number(json_real_value(value), text);
        return true;
    }
    if (value && !json_is_string(value))
        return bench_t1_fail(t, member, "a number, or an expression in a string, is wanted");
    const char *python = bench_t1_string(t, member, value, LONGEST);
    if (!python)
        return false;
    return bench_python_write(python, &t->scope, text, BENCH_T1_EXPRESSION_TEXT, why) ||
           bench_t1_fail(t, member, "%s", why);
}

bool bench_t1_whole(bench_t1 *t, const char *member, const json_t *value, char text[BENCH_T1_EXPRESSION_TEXT])
{
    char found[BENCH_REASON_TEXT] = "";
    bench_expression expression = {.root = -1};
    if (!bench_t1_expression(t, member, value, text))
        return false;
    bench_scan_begin(&t->scan, t->description->path, bench_json_line(t->text, member), text, found);
    const bool is_read =
        bench_expression_parse_integer(&t->scan, &t->spec->symbols, &expression, "this") && bench_scan_end(&t->scan);
    bench_expression_free(&expression);
    return is_read || fail_line(t, member, found);
}

bool bench_t1_is_name(const char *text)
{
    const char *at = text;
    for (; *at == '_' || isalpha((unsigned char)*at) || (at > text && isdigit((unsigned char)*at)); at++)
        ;
    return at > text && !*at && at - text < BENCH_NAME_TEXT;
}

bool bench_t1_check_members(bench_t1 *t, const char *member, const json_t *object, const char *const *known,
                            size_t count)
{
    const char *name;
    const json_t *value;
    if (!json_is_object(object))
        return bench_t1_fail(t, member, object ? "an object is wanted" : "it is missing");
    if (json_object_size(object) > MOST_MEMBERS) // each of them is compared with every name
        return bench_t1_fail(t, member, "it has more than %d members", MOST_MEMBERS);
    json_object_foreach((json_t *)object, name, value)
    {
        const char *nearest = strlen(name) < BENCH_NAME_TEXT ? bench_nearest(name, known, count) : NULL;
        if (!nearest || !strcmp(name, nearest))
            continue;
        // At most two edits, of a name of some length: short ones are near to each other. Case is no edit.
        const size_t edits = bench_edit_distance(name, nearest);
        if (edits <= 2 && 3 * edits <= strlen(nearest))
            return bench_t1_fail(t, member, "it has a member %s; the nearest that T1 knows is %s", name, nearest);
    }
    return true;
}

void bench_t1_quote(char *line, size_t size, const char *text)
{
    bench_append(line, size, "\"");
    for (; *text; text++)
        bench_append(line, size, "%s%c", *text == '"' || *text == '\\' ? "\\" : "", *text);
    bench_append(line, size, "\"");
}
