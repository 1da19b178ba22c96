// SPDX-License-Identifier: MIT
#include "common/text.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void bench_append(char *text, size_t size, const char *format, ...)
{
    size_t used = strlen(text);
    if (used + 1 >= size)
        return;
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text + used, size - used, format, arguments);
    va_end(arguments);
}

bool bench_explain(char *reason, size_t size, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(reason, size, format, arguments);
    va_end(arguments);
    return false;
}

#define LONGEST_WORD 63

static size_t lower_copy(const char *text, char copy[LONGEST_WORD + 1])
{
    size_t length = 0;
    for (; text[length] && length < LONGEST_WORD; length++)
        copy[length] = (char)tolower((unsigned char)text[length]);
    copy[length] = '\0';
    return length;
}

static size_t min3(size_t a, size_t b, size_t c)
{
    size_t least = a < b ? a : b;
    return least < c ? least : c;
}

// Optimal string alignment: Levenshtein's table plus the swap of two neighbouring letters.
size_t bench_edit_distance(const char *left, const char *right)
{
    char a[LONGEST_WORD + 1], b[LONGEST_WORD + 1];
    size_t rows = lower_copy(left, a), columns = lower_copy(right, b);
    size_t table[LONGEST_WORD + 1][LONGEST_WORD + 1];
    for (size_t i = 0; i <= rows; i++)
        table[i][0] = i;
    for (size_t j = 0; j <= columns; j++)
        table[0][j] = j;
    for (size_t i = 1; i <= rows; i++) {
        for (size_t j = 1; j <= columns; j++) {
            size_t replaced = table[i - 1][j - 1] + (a[i - 1] != b[j - 1]);
            table[i][j] = min3(table[i - 1][j] + 1, table[i][j - 1] + 1, replaced);
            bool swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
            if (swapped && table[i - 2][j - 2] + 1 < table[i][j])
                table[i][j] = table[i - 2][j - 2] + 1;
        }
    }
    return table[rows][columns];
}

const char *bench_nearest(const char *word, const char *const *candidates, size_t count)
{
    const char *best = NULL;
    size_t best_distance = 0;
    for (size_t i = 0; i < count; i++) {
        size_t distance = bench_edit_distance(word, candidates[i]);
        if (!best || distance < best_distance) {
            best = candidates[i];
            best_distance = distance;
        }
    }
    return best;
}

bool bench_is_integer(const char *text)
{
    const char *digits = text + (*text == '-' || *text == '+');
    return *digits && strspn(digits, "0123456789") == strlen(digits);
}

bool bench_parse_integer(const char *text, int64_t *value)
{
    char *end = NULL;
    errno = 0;
    long long number = strtoll(text, &end, 10);
    if (errno || end == text || *end || isspace((unsigned char)*text))
        return false;
    *value = number;
    return true;
}

bool bench_parse_real(const char *text, double *value)
{
    char *end = NULL;
    double number = strtod(text, &end);
    if (end == text || *end || isspace((unsigned char)*text) || !isfinite(number))
        return false;
    *value = number;
    return true;
}

#define LONGEST_DURATION 1e9 // seconds, thirty years: in nanoseconds still a number of 64 bits

bool bench_parse_duration(const char *text, double *seconds)
{
    static const struct {
        const char *unit;
        double seconds;
    } units[] = {{"", 1}, {"s", 1}, {"ms", 1e-3}, {"us", 1e-6}, {"m", 60}, {"min", 60}, {"h", 3600}};
    char *end = NULL;
    double number = strtod(text, &end);
    if (end == text || !isfinite(number) || number < 0)
        return false;
    for (size_t i = 0; i < sizeof units / sizeof *units; i++) {
        if (!strcmp(end, units[i].unit)) {
            *seconds = number * units[i].seconds;
            return *seconds <= LONGEST_DURATION;
        }
    }
    return false;
}

void bench_format_real(double value, char *text, size_t size)
{
    for (int digits = 1; digits <= 17; digits++) {
        snprintf(text, size, "%.*g", digits, value);
        if (strtod(text, NULL) == value)
            return;
    }
}

// Three significant digits, never in the exponent form that %g falls into at 1000.
static void three_digits(double value, const char *unit, char *text, size_t size)
{
    int decimals = value < 9.995 ? 2 : value < 99.95 ? 1 : 0;
    snprintf(text, size, "%.*f %s", decimals, value, unit);
}

void bench_format_ns(double ns, char *text, size_t size)
{
    if (!isfinite(ns))
        snprintf(text, size, "-");
    else if (ns < 999.5)
        snprintf(text, size, "%.0f ns", ns);
    else if (ns < 999.5e3)
        three_digits(ns / 1e3, "us", text, size);
    else if (ns < 999.5e6)
        three_digits(ns / 1e6, "ms", text, size);
    else
        three_digits(ns / 1e9, "s", text, size);
}

void bench_format_bytes(double bytes, char *text, size_t size)
{
    static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB"};
    size_t unit = 0;
    while (bytes >= 1024 && unit + 1 < sizeof units / sizeof *units) {
        bytes /= 1024;
        unit++;
    }
    snprintf(text, size, bytes == floor(bytes) ? "%.0f %s" : "%.1f %s", bytes, units[unit]);
}

char *bench_copy_text(const char *text)
{
    size_t size = strlen(text) + 1;
    char *copy = malloc(size);
    if (copy)
        memcpy(copy, text, size);
    return copy;
}

// How many bytes the UTF-8 character has that begins here, and its number; 0: there is none.
static size_t read_character(const unsigned char *at, uint32_t *number)
{
    static const struct {
        unsigned char mask, head;
        uint32_t least; // smaller numbers have a shorter form
    } kinds[] = {{0x80, 0x00, 0}, {0xe0, 0xc0, 0x80}, {0xf0, 0xe0, 0x800}, {0xf8, 0xf0, 0x10000}};
    for (size_t kind = 0; kind < sizeof kinds / sizeof *kinds; kind++) {
        if ((at[0] & kinds[kind].mask) != kinds[kind].head)
            continue;
        *number = at[0] & ~(uint32_t)kinds[kind].mask;
        for (size_t i = 1; i <= kind; i++) {
            if ((at[i] & 0xc0) != 0x80)
                return 0;
            *number = *number << 6 | (at[i] & 0x3f);
        }
        const bool is_half = *number >= 0xd800 && *number <= 0xdfff; // of a pair in UTF-16
        return *number < kinds[kind].least || *number > 0x10ffff || is_half ? 0 : kind + 1;
    }
    return 0;
}

void bench_clean_line(char *text)
{
    for (unsigned char *at = (unsigned char *)text; *at;) {
        uint32_t number = *at;
        const size_t length = read_character(at, &number);
        if (!length)
            *at = *at < 0xa0 ? ' ' : '?'; // a terminal of eight bits obeys the first kind
        else if (number < ' ' || (number >= 0x7f && number < 0xa0))
            memset(at, ' ', length);
        at += length ? length : 1;
    }
}

void bench_clean_text(char *text)
{
    for (char *line = text, *end; line; line = end ? end + 1 : NULL) {
        if ((end = strchr(line, '\n')))
            *end = '\0';
        bench_clean_line(line);
        if (end)
            *end = '\n';
    }
}

void bench_shell_word(const char *word, char *text, size_t size)
{
    static const char plain[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789:._-/";
    text[0] = '\0';
    if (*word && strspn(word, plain) == strlen(word)) {
        bench_append(text, size, "%s", word);
        return;
    }
    bench_append(text, size, "'");
    for (; *word; word++)
        bench_append(text, size, "%s%c%s", *word == '\'' ? "'\\" : "", *word, *word == '\'' ? "'" : "");
    bench_append(text, size, "'");
}
