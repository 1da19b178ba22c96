// SPDX-License-Identifier: MIT
// A reader for JSON documents of one known form: an object with a schema and an array of flat entries. What it does
// not know it checks and steps over, so that a later version may add to entries. Strings are unescaped in place.
#include "select/tuning_file.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_DEPTH = 16 };

typedef struct reader {
    char *start, *at;  // zero-terminated
    const char *wrong; // NULL: all right so far
} reader;

static bool fail(reader *r, const char *what)
{
    if (!r->wrong)
        r->wrong = what;
    return false;
}

static char next(reader *r)
{
    while (*r->at == ' ' || *r->at == '\n' || *r->at == '\t' || *r->at == '\r')
        ++r->at;
    return *r->at;
}

static bool take(reader *r, char wanted)
{
    if (next(r) != wanted)
        return false;
    ++r->at;
    return true;
}

// ---- strings ----

static bool read_hex(reader *r, unsigned *value)
{
    *value = 0;
    for (int i = 0; i < 4; ++i, ++r->at) {
        char c = *r->at;
        unsigned digit = c >= '0' && c <= '9'   ? (unsigned)(c - '0')
                         : c >= 'a' && c <= 'f' ? (unsigned)(c - 'a') + 10
                         : c >= 'A' && c <= 'F' ? (unsigned)(c - 'A') + 10
                                                : 16;
        if (digit == 16)
            return fail(r, "a character's number has four hexadecimal digits");
        *value = *value * 16 + digit;
    }
    return true;
}

static char *put_utf8(char *to, unsigned value)
{
    if (value < 0x80) {
        *to++ = (char)value;
    } else if (value < 0x800) {
        *to++ = (char)(0xc0 | value >> 6);
        *to++ = (char)(0x80 | (value & 0x3f));
    } else {
        *to++ = (char)(0xe0 | value >> 12);
        *to++ = (char)(0x80 | (value >> 6 & 0x3f));
        *to++ = (char)(0x80 | (value & 0x3f));
    }
    return to;
}

// Behind a backslash. What is written is never longer than what was read.
static bool read_escape(reader *r, char **to)
{
    static const char names[] = "\"\\/bfnrt", values[] = "\"\\/\b\f\n\r\t";
    const char *found = *r->at ? strchr(names, *r->at) : NULL;
    unsigned number;
    if (found) {
        *(*to)++ = values[found - names];
        ++r->at;
        return true;
    }
    if (*r->at != 'u')
        return fail(r, "an unknown escape in a string");
    ++r->at;
    if (!read_hex(r, &number))
        return false;
    if (number == 0 || (number >= 0xd800 && number < 0xe000))
        return fail(r, "a character that has no place in a database");
    *to = put_utf8(*to, number);
    return true;
}

static bool read_string(reader *r, const char **string)
{
    if (!take(r, '"'))
        return fail(r, "a string is wanted");
    char *to = r->at;
    *string = to;
    while (*r->at != '"') {
        if ((unsigned char)*r->at < 0x20)
            return fail(r, *r->at ? "a control character in a string" : "a string does not end");
        if (*r->at != '\\') {
            *to++ = *r->at++;
            continue;
        }
        ++r->at;
        if (!read_escape(r, &to))
            return false;
    }
    ++r->at; // first: the zero may take the quote's place
    *to = 0;
    return true;
}

// ---- everything else ----

static bool skip_scalar(reader *r)
{
    static const char *const words[] = {"true", "false", "null"};
    for (size_t i = 0; i < sizeof words / sizeof *words; ++i) {
        if (strncmp(r->at, words[i], strlen(words[i])) == 0) {
            r->at += strlen(words[i]);
            return true;
        }
    }
    size_t length = strspn(r->at, "+-.0123456789eE");
    r->at += length;
    return length > 0 || fail(r, "a value is wanted");
}

typedef bool (*member_fn)(reader *r, const char *key, int depth, void *user);

// { "key": value, ... }, each value read by the function.
static bool read_object(reader *r, int depth, member_fn member, void *user)
{
    if (!take(r, '{'))
        return fail(r, "an object is wanted");
    if (take(r, '}'))
        return true;
    for (;;) {
        const char *key;
        if (!read_string(r, &key))
            return false;
        if (!take(r, ':'))
            return fail(r, "':' is wanted");
        if (!member(r, key, depth + 1, user))
            return false;
        if (take(r, '}'))
            return true;
        if (!take(r, ','))
            return fail(r, "',' or '}' is wanted");
    }
}

static bool read_array(reader *r, int depth, member_fn element, void *user)
{
    if (!take(r, '['))
        return fail(r, "an array is wanted");
    if (take(r, ']'))
        return true;
    for (;;) {
        if (!element(r, NULL, depth + 1, user))
            return false;
        if (take(r, ']'))
            return true;
        if (!take(r, ','))
            return fail(r, "',' or ']' is wanted");
    }
}

static bool skip_value(reader *r, const char *key, int depth, void *user)
{
    (void)key, (void)user;
    const char *string;
    if (depth > MAX_DEPTH)
        return fail(r, "too deep");
    switch (next(r)) {
    case '"':
        return read_string(r, &string);
    case '{':
        return read_object(r, depth, skip_value, NULL);
    case '[':
        return read_array(r, depth, skip_value, NULL);
    default:
        return skip_scalar(r);
    }
}

// ---- the document ----

typedef struct field {
    const char *key;
    size_t offset;
} field;

#define FIELD(key, member)                        \
    {                                             \
        key, offsetof(husk__tuning_entry, member) \
    }
static const field fields[] = {
    FIELD("device", device), FIELD("platform", platform), FIELD("driver", driver),     FIELD("family", family),
    FIELD("op", op),         FIELD("problem", problem),   FIELD("class", shape_class), FIELD("kernels", kernels),
    FIELD("state", state),   FIELD("variant", variant),
};
enum { FIELD_COUNT = sizeof fields / sizeof *fields };

static const char **text_of(husk__tuning_entry *entry, size_t number)
{
    return (const char **)(void *)((char *)entry + fields[number].offset);
}

static bool read_field(reader *r, const char *key, int depth, void *user)
{
    for (size_t i = 0; i < FIELD_COUNT; ++i) {
        if (strcmp(key, fields[i].key) == 0 && next(r) == '"')
            return read_string(r, text_of(user, i));
    }
    return skip_value(r, key, depth, NULL);
}

static bool is_whole(husk__tuning_entry *entry)
{
    for (size_t i = 0; i < FIELD_COUNT; ++i)
        if (!*text_of(entry, i))
            return false;
    return true;
}

static bool read_entry(reader *r, const char *key, int depth, void *user)
{
    (void)key;
    husk__tuning_file *file = user;
    husk__tuning_entry entry = {0};
    if (!read_object(r, depth, read_field, &entry))
        return false;
    if (!is_whole(&entry))
        return true;
    if ((file->count & (file->count - 1)) == 0) { // full: a power of two, or nothing
        size_t capacity = file->count ? 2 * file->count : 1;
        husk__tuning_entry *entries = realloc(file->entries, capacity * sizeof *entries);
        file->lacks_memory = !entries;
        if (!entries)
            return fail(r, "no memory for the entries");
        file->entries = entries;
    }
    file->entries[file->count++] = entry;
    return true;
}

typedef struct document {
    husk__tuning_file *file;
    const char *schema;
    bool has_entries;
} document;

static bool read_part(reader *r, const char *key, int depth, void *user)
{
    document *whole = user;
    if (strcmp(key, "schema") == 0)
        return read_string(r, &whole->schema);
    if (strcmp(key, "entries") != 0)
        return skip_value(r, key, depth, NULL);
    whole->has_entries = true;
    return read_array(r, depth, read_entry, whole->file);
}

static int line_of(const reader *r)
{
    int line = 1;
    for (const char *at = r->start; at < r->at; ++at)
        line += *at == '\n';
    return line;
}

bool husk__tuning_file_parse(const char *text, size_t size, husk__tuning_file *file, char reason[HUSK__TUNING_REASON])
{
    document whole = {.file = file};
    *file = (husk__tuning_file){.text = malloc(size + 1)};
    reader r = {file->text, file->text, NULL};
    if (!file->text) {
        file->lacks_memory = true;
        snprintf(reason, HUSK__TUNING_REASON, "no memory for it");
        return false;
    }
    memcpy(file->text, text, size);
    file->text[size] = 0;
    bool good = read_object(&r, 0, read_part, &whole);
    if (good && (next(&r) || r.at != file->text + size))
        good = fail(&r, "something follows the document");
    if (good && (!whole.schema || strcmp(whole.schema, HUSK__TUNING_SCHEMA) != 0))
        good = fail(&r, "the schema is not \"" HUSK__TUNING_SCHEMA "\"");
    if (good && !whole.has_entries)
        good = fail(&r, "there are no entries");
    if (!good) {
        const bool lacks_memory = file->lacks_memory;
        snprintf(reason, HUSK__TUNING_REASON, "line %d: %s", line_of(&r), r.wrong);
        husk__tuning_file_free(file);
        file->lacks_memory = lacks_memory;
    }
    return good;
}

void husk__tuning_file_free(husk__tuning_file *file)
{
    free(file->text);
    free(file->entries);
    *file = (husk__tuning_file){0};
}
