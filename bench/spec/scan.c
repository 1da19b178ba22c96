// SPDX-License-Identifier: MIT
#include "spec/scan.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static int column_of(const bench_scan *scan, const char *at)
{
    return (int)(at - scan->text) + 1;
}

bool bench_scan_fail(bench_scan *scan, int column, const char *format, ...)
{
    char text[BENCH_REASON_TEXT];
    if (scan->has_failed)
        return false;
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    scan->has_failed = true;
    scan->word.kind = BENCH_WORD_END;
    bench_explain(scan->reason, BENCH_REASON_TEXT, "%.200s:%d:%d: %.700s", scan->file, scan->line, column, text);
    bench_clean_line(scan->reason);
    return false;
}

// "1", "0x1f", "1.5e-3f": the f of C is taken, too.
static void read_number(bench_scan *scan, bench_word *word)
{
    const char *at = scan->at;
    const bool is_hexadecimal = at[0] == '0' && (at[1] == 'x' || at[1] == 'X');
    const char *end = is_hexadecimal ? at + 2 : at;
    bool is_real = false;
    if (is_hexadecimal) {
        while (is_digit(*end) || (*end >= 'a' && *end <= 'f') || (*end >= 'A' && *end <= 'F'))
            end++;
    } else {
        while (is_digit(*end))
            end++;
        // Two dots are a range: 1..4.
        if (*end == '.' && end[1] != '.') {
            is_real = true;
            for (end++; is_digit(*end); end++)
                ;
        }
        const char *exponent = *end == 'e' || *end == 'E' ? end + 1 + (end[1] == '-' || end[1] == '+') : NULL;
        if (exponent && is_digit(*exponent)) {
            is_real = true;
            for (end = exponent; is_digit(*end); end++)
                ;
        }
    }
    const size_t length = (size_t)(end - at);
    if (length >= sizeof word->text || (is_hexadecimal && length == 2)) {
        bench_scan_fail(scan, word->column, "this is no number");
        return;
    }
    memcpy(word->text, at, length);
    word->text[length] = '\0';
    if (*end == 'f' && !is_hexadecimal && is_real)
        end++;
    if (is_letter(*end)) {
        bench_scan_fail(scan, word->column, "a number ends where a letter begins: %.20s%c", word->text, *end);
        return;
    }
    if (is_real) {
        word->kind = BENCH_WORD_REAL;
        if (!bench_parse_real(word->text, &word->real))
            bench_scan_fail(scan, word->column, "%.40s is not a finite number", word->text);
    } else {
        errno = 0;
        char *last = NULL;
        word->kind = BENCH_WORD_INTEGER;
        word->integer = strtoll(word->text, &last, is_hexadecimal ? 16 : 10);
        word->real = (double)word->integer;
        if (errno || *last)
            bench_scan_fail(scan, word->column, "%.40s does not fit into 64 bits", word->text);
    }
    scan->at = end;
}

static void read_string(bench_scan *scan, bench_word *word)
{
    size_t length = 0;
    const char *at = scan->at + 1;
    for (; *at && *at != '"'; at++) {
        if (*at == '\\' && (at[1] == '"' || at[1] == '\\'))
            at++;
        if (length + 1 >= sizeof word->text) {
            bench_scan_fail(scan, word->column, "a text has at most %d characters", BENCH_LONGEST_WORD - 1);
            return;
        }
        word->text[length++] = *at;
    }
    word->text[length] = '\0';
    word->kind = BENCH_WORD_STRING;
    if (*at != '"')
        bench_scan_fail(scan, word->column, "the text that begins here does not end");
    else
        scan->at = at + 1;
}

static void read_sign(bench_scan *scan, bench_word *word)
{
    static const char *const pairs[] = {"<<", ">>", "<=", ">=", "==", "!=", "&&", "||", "//", ".."};
    size_t length = 1;
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
        if (!strncmp(scan->at, pairs[i], 2))
            length = 2;
    }
    if (!strchr("+-*/%<>=!?:,()[]&|^~@.;", *scan->at)) {
        // All bytes of a character of UTF-8, whose first says how many they are.
        const unsigned char first = (unsigned char)*scan->at;
        bench_scan_fail(scan, word->column, "unexpected character '%.*s'",
                        first < 0xc0   ? 1
                        : first < 0xe0 ? 2
                        : first < 0xf0 ? 3
                                       : 4,
                        scan->at);
        return;
    }
    memcpy(word->text, scan->at, length);
    word->text[length] = '\0';
    word->kind = BENCH_WORD_SIGN;
    scan->at += length;
}

void bench_scan_next(bench_scan *scan)
{
    if (scan->has_failed)
        return;
    while (*scan->at == ' ' || *scan->at == '\t' || *scan->at == '\r')
        scan->at++;
    bench_word *word = &scan->word;
    const char c = *scan->at;
    *word = (bench_word){.kind = BENCH_WORD_END, .column = column_of(scan, scan->at), .begin = scan->at};
    if (!c || c == '#')
        return;
    if (is_letter(c)) {
        const char *end = scan->at;
        while (is_letter(*end) || is_digit(*end))
            end++;
        const size_t length = (size_t)(end - scan->at);
        if (length >= BENCH_NAME_TEXT) {
            bench_scan_fail(scan, word->column, "a name has at most %d characters", BENCH_NAME_TEXT - 1);
            return;
        }
        memcpy(word->text, scan->at, length);
        word->kind = BENCH_WORD_NAME;
        scan->at = end;
    } else if (is_digit(c) || (c == '.' && is_digit(scan->at[1]))) {
        read_number(scan, word);
    } else if (c == '"') {
        read_string(scan, word);
    } else {
        read_sign(scan, word);
    }
}

void bench_scan_begin(bench_scan *scan, const char *file, int line, const char *text, char *reason)
{
    *scan = (bench_scan){.file = file, .line = line, .text = text, .at = text, .reason = reason};
    bench_scan_next(scan);
}

bool bench_scan_is(const bench_scan *scan, const char *sign_or_name)
{
    return (scan->word.kind == BENCH_WORD_NAME || scan->word.kind == BENCH_WORD_SIGN) &&
           !strcmp(scan->word.text, sign_or_name);
}

bool bench_scan_take(bench_scan *scan, const char *sign_or_name)
{
    if (!bench_scan_is(scan, sign_or_name))
        return false;
    bench_scan_next(scan);
    return !scan->has_failed;
}

// What stands there, for a message.
static const char *found(const bench_scan *scan, char text[80])
{
    const bench_word *word = &scan->word;
    if (word->kind == BENCH_WORD_END)
        snprintf(text, 80, "the line ends");
    else
        snprintf(text, 80, "%s'%.40s' stands there", word->kind == BENCH_WORD_STRING ? "the text " : "", word->text);
    return text;
}

bool bench_scan_expect(bench_scan *scan, const char *sign_or_name, const char *what)
{
    char text[80];
    if (bench_scan_take(scan, sign_or_name))
        return true;
    return bench_scan_fail(scan, scan->word.column, "'%s' is wanted %s, and %s", sign_or_name, what, found(scan, text));
}

bool bench_scan_name(bench_scan *scan, char *text, const char *what)
{
    char there[80];
    if (scan->word.kind != BENCH_WORD_NAME)
        return bench_scan_fail(scan, scan->word.column, "%s is wanted, and %s", what, found(scan, there));
    snprintf(text, BENCH_NAME_TEXT, "%.63s", scan->word.text);
    bench_scan_next(scan);
    return !scan->has_failed;
}

bool bench_scan_integer(bench_scan *scan, int64_t *value, const char *what)
{
    char there[80];
    const bool is_negative = bench_scan_take(scan, "-");
    if (scan->word.kind != BENCH_WORD_INTEGER)
        return bench_scan_fail(scan, scan->word.column, "%s, a whole number, is wanted, and %s", what,
                               found(scan, there));
    *value = is_negative ? -scan->word.integer : scan->word.integer;
    bench_scan_next(scan);
    return !scan->has_failed;
}

bool bench_scan_real(bench_scan *scan, double *value, const char *what)
{
    char there[80];
    const bool is_negative = bench_scan_take(scan, "-");
    if (scan->word.kind != BENCH_WORD_INTEGER && scan->word.kind != BENCH_WORD_REAL)
        return bench_scan_fail(scan, scan->word.column, "%s, a number, is wanted, and %s", what, found(scan, there));
    *value = is_negative ? -scan->word.real : scan->word.real;
    bench_scan_next(scan);
    return !scan->has_failed;
}

bool bench_scan_end(bench_scan *scan)
{
    if (scan->has_failed)
        return false;
    if (scan->word.kind == BENCH_WORD_END)
        return true;
    return bench_scan_fail(scan, scan->word.column, "nothing is wanted here: '%.60s'", scan->word.begin);
}

bool bench_scan_string(bench_scan *scan, char *text, size_t size, const char *what)
{
    char there[80];
    if (scan->word.kind != BENCH_WORD_STRING)
        return bench_scan_fail(scan, scan->word.column, "%s is wanted in quotes, and %s", what, found(scan, there));
    if (strlen(scan->word.text) >= size)
        return bench_scan_fail(scan, scan->word.column, "%s is too long", what);
    snprintf(text, size, "%s", scan->word.text);
    bench_scan_next(scan);
    return !scan->has_failed;
}

// It is read from the text: what is taken apart into words may be none, as in file=2d.cl.
bool bench_scan_argument(bench_scan *scan, const char *behind, char *text, size_t size, const char *what)
{
    char there[80];
    if (!bench_scan_is(scan, behind))
        return bench_scan_fail(scan, scan->word.column, "'%s' is wanted before %s, and %s", behind, what,
                               found(scan, there));
    const char *begin = scan->at;
    while (*begin == ' ' || *begin == '\t')
        begin++;
    if (*begin == '"') {
        bench_scan_next(scan);
        return !scan->has_failed && bench_scan_string(scan, text, size, what);
    }
    const size_t length = strcspn(begin, " \t\r");
    if (!length || *begin == '#')
        return bench_scan_fail(scan, column_of(scan, begin), "%s is wanted, and the line ends", what);
    if (length >= size)
        return bench_scan_fail(scan, column_of(scan, begin), "%s is too long", what);
    memcpy(text, begin, length);
    text[length] = '\0';
    scan->at = begin + length;
    bench_scan_next(scan);
    return !scan->has_failed;
}
