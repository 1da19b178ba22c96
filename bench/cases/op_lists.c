// SPDX-License-Identifier: MIT
#include "cases/op_lists.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "common/embedded.h"

#define FOLDER "cases/"

// Whether a heading, of so many bytes with its brackets, names the list.
static bool names(const char *heading, size_t length, const char *list)
{
    const size_t wanted = strlen(list);
    for (const char *at = heading + 1, *end = heading + length; at < end;) {
        const size_t word = strcspn(at, " ]");
        if (word == wanted && !strncmp(at, list, wanted))
            return true;
        at += word + 1;
    }
    return false;
}

// Copies the lines of a list to the end of a text that has room for them; the new end.
static char *copy_lines(const char *text, const char *list, char *to)
{
    bool is_inside = false;
    for (const char *line = text; *line;) {
        const size_t length = strcspn(line, "\n"), whole = length + (line[length] == '\n');
        if (line[0] == '[') {
            is_inside = names(line, length, list);
        } else if (is_inside && length && line[0] != '#') {
            memcpy(to, line, length);
            to += length;
            *to++ = '\n';
        }
        line += whole;
    }
    *to = '\0';
    return to;
}

char *bench_op_lists(const char *list)
{
    size_t size = 1;
    for (const bench_embedded_file *file = bench_embedded_files; file->name; file++)
        size += strlen(file->text) + 1;
    char *text = calloc(1, size), *end = text;
    for (const bench_embedded_file *file = bench_embedded_files; text && file->name; file++)
        if (!strncmp(file->name, FOLDER, strlen(FOLDER)))
            end = copy_lines(file->text, list, end);
    return text;
}
