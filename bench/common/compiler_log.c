// SPDX-License-Identifier: MIT
#include "common/compiler_log.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

// The number that a text of digits is. 0: it has none, or so many that it is the number of no line.
static int number_of(const char *digits, size_t count)
{
    int number = 0;
    if (count > 9)
        return 0;
    for (size_t i = 0; i < count; i++)
        number = 10 * number + (digits[i] - '0');
    return number;
}

// Of "…:12:5: error: text" the 12, where `at` is at "error"; 0: there is no line before it.
static int line_before(const char *begin, const char *at)
{
    int numbers[2] = {0}, count = 0;
    // Backwards: ": " or ":", a number, ":", a number, ":".
    while (at > begin && (at[-1] == ' ' || at[-1] == ':'))
        at--;
    while (count < 2 && at > begin && isdigit((unsigned char)at[-1])) {
        const char *end = at;
        while (at > begin && isdigit((unsigned char)at[-1]))
            at--;
        numbers[count++] = number_of(at, (size_t)(end - at));
        if (at > begin && at[-1] == ':')
            at--;
    }
    return count == 2 ? numbers[1] : count == 1 ? numbers[0] : 0;
}

// "FILE:12:5: text", as PoCL 3 writes it behind "error: ": its line, and where the text begins. False: it is no place.
static bool takes_place(const char *text, size_t length, int *line, size_t *behind)
{
    const char *colon = memchr(text, ':', length), *end = text + length;
    int numbers[2] = {0};
    for (int i = 0; i < 2; i++) {
        const char *digits = colon ? colon + 1 : end;
        for (colon = digits; colon < end && isdigit((unsigned char)*colon); colon++)
            ;
        numbers[i] = number_of(digits, (size_t)(colon - digits));
        if (colon == digits || colon == end || *colon != ':')
            return false;
    }
    *line = numbers[0];
    *behind = (size_t)(colon + 1 - text);
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
            snprintf(message.text, sizeof message.text, "%.*s",
                     (int)(left < sizeof message.text ? left : sizeof message.text - 1), text);
            bench_clean_line(message.text);
            if (message.line && !is_foreign(line, length))
                return message;
            if (!other.text[0])
                snprintf(other.text, sizeof other.text, "%s", message.text);
        }
        line += length + (line[length] == '\n');
    }
    return other;
}
