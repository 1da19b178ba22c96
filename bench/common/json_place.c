// SPDX-License-Identifier: MIT
#include "common/json_place.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

static const char *skip_blanks(const char *at)
{
    return at + strspn(at, " \t\r\n");
}

// Behind a string's closing quote.
static const char *skip_string(const char *at)
{
    for (at++; *at && *at != '"'; at++) {
        if (*at == '\\' && at[1])
            at++;
    }
    return *at ? at + 1 : at;
}

// Behind a value: a loop, since texts may be nested as deeply as jansson lets them.
static const char *skip_value(const char *at)
{
    int depth = 0;
    do {
        at = skip_blanks(at);
        if (*at == '"') {
            at = skip_string(at);
        } else if (*at == '{' || *at == '[') {
            depth++;
            at++;
        } else if (*at == '}' || *at == ']') {
            depth--;
            at++;
        } else if (*at == ',' || *at == ':') {
            at++;
        } else {
            at += strcspn(at, " \t\r\n,:]}\"");
        }
    } while (depth > 0 && *at);
    return at;
}

// The value of the object's key; NULL: it has none. Keys are compared as they are written.
static const char *find_key(const char *at, const char *key, size_t length)
{
    for (at = skip_blanks(at + 1); *at == '"'; at = skip_blanks(at)) {
        const char *end = skip_string(at);
        const bool is_it = (size_t)(end - at) == length + 2 && !strncmp(at + 1, key, length);
        at = skip_blanks(end);
        at = skip_blanks(*at == ':' ? at + 1 : at);
        if (is_it)
            return at;
        at = skip_blanks(skip_value(at));
        at += *at == ',';
    }
    return NULL;
}

static const char *find_item(const char *at, long index)
{
    for (at = skip_blanks(at + 1); *at && *at != ']'; at = skip_blanks(at)) {
        if (index-- == 0)
            return at;
        at = skip_blanks(skip_value(at));
        at += *at == ',';
    }
    return NULL;
}

int bench_json_line(const char *text, const char *path)
{
    const char *at = skip_blanks(text), *next = at;
    while (*path && next) {
        if (*path == '[') {
            char *end = NULL;
            const long index = strtol(path + 1, &end, 10);
            next = *at == '[' ? find_item(at, index) : NULL;
            path = *end == ']' ? end + 1 : end;
        } else {
            path += *path == '.';
            const size_t length = strcspn(path, ".[");
            next = *at == '{' ? find_key(at, path, length) : NULL;
            path += length;
        }
        at = next ? next : at;
    }
    int line = 1;
    for (const char *c = text; c < at; c++)
        line += *c == '\n';
    return line;
}
