// SPDX-License-Identifier: MIT
#include "verify/kernel_log.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// Of "…:12:5: error: text" the 12, where `at` is at "error"; 0: there is no line before it.
static int line_before(const char *begin, const char *at)
{
    int numbers[2] = {0}, count = 0;
    // Backwards: ": " or ":", a number, ":", a number, ":".
    while (at > begin && (at[-1] == ' ' || at[-1] == ':'))
        at--;
    while (count < 2 && at > begin && isdigit((unsigned char)at[-1])) {
        while (at > begin && isdigit((unsigned char)at[-1]))
            at--;
        numbers[count++] = (int)strtol(at, NULL, 10);
        if (at > begin && at[-1] == ':')
            at--;
    }
    return count == 2 ? numbers[1] : count == 1 ? numbers[0] : 0;
}

// "FILE:12:5: text", as PoCL 3 writes it behind "error: ". False: it is no place.
static bool takes_place(const char *text, size_t length, int *line, size_t *behind)
{
    int column = 0, used = 0;
    const char *colon = memchr(text, ':', length);
    if (!colon || sscanf(colon, ":%d:%d:%n", line, &column, &used) != 2 || !used)
        return false;
    *behind = (size_t)(colon - text) + (size_t)used;
    return true;
}

// Headers of the compiler's own: what is wrong there is wrong in the source before, or in the options.
static bool is_foreign(const char *text, size_t length)
{
    static const char name[] = "opencl-c";
    for (size_t i = 0; i + sizeof name - 1 <= length; i++) {
        if (!memcmp(text + i, name, sizeof name - 1))
            return true;
    }
    return false;
}

bench_log_message bench_log_first_error(const char *log)
{
    bench_log_message message = {0}, other = {0};
    for (const char *line = log ? log : ""; *line;) {
        const size_t length = strcspn(line, "\n");
        const char *error = strstr(line, "error: ");
        if (error && error < line + length) {
            const char *text = error + strlen("error: ");
            size_t left = length - (size_t)(text - line), behind = 0;
            message.line = line_before(line, error);
            if (!message.line && takes_place(text, left, &message.line, &behind)) {
                while (behind < left && text[behind] == ' ')
                    behind++;
                text += behind;
                left -= behind;
            }
            snprintf(message.text, sizeof message.text, "%.*s", (int)left, text);
            if (message.line && !is_foreign(line, length))
                return message;
            if (!other.text[0])
                snprintf(other.text, sizeof other.text, "%s", message.text);
        }
        line += length + (line[length] == '\n');
    }
    return other;
}

void bench_log_print(const char *log, int most_lines)
{
    int lines = 0;
    for (const char *line = log ? log : ""; *line; lines++) {
        const size_t length = strcspn(line, "\n");
        if (lines == most_lines) {
            printf("    ...\n");
            return;
        }
        printf("    %.*s\n", (int)length, line);
        line += length + (line[length] == '\n');
    }
}

// What a workflow command reads otherwise: GitHub's escapes.
static void put_escaped(const char *text, bool is_property)
{
    for (; *text; text++) {
        if (*text == '%')
            fputs("%25", stdout);
        else if (*text == '\n')
            fputs("%0A", stdout);
        else if (*text == '\r')
            fputs("%0D", stdout);
        else if (is_property && *text == ':')
            fputs("%3A", stdout);
        else if (is_property && *text == ',')
            fputs("%2C", stdout);
        else
            putchar(*text);
    }
}

void bench_annotate_github(const char *file, int line, const char *text)
{
    fputs("::error file=", stdout);
    put_escaped(file, true);
    if (line)
        printf(",line=%d", line);
    fputs("::", stdout);
    put_escaped(text, false);
    putchar('\n');
}
