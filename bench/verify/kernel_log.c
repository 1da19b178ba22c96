// SPDX-License-Identifier: MIT
#include "verify/kernel_log.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

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
