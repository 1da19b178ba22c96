// SPDX-License-Identifier: MIT
#include "cases/list.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cases/parse.h"
#include "common/text.h"

#define MOST_WORDS 64

// A word of the line: "m=" and the values that stand behind it, each zero-terminated; a word without values has none.
typedef struct word {
    char key[64];
    char *values;
    size_t size, count;
} word;

typedef struct case_list {
    word words[MOST_WORDS];
    size_t count;
    char *reason;
} case_list;

static bool add_value(case_list *l, word *w, const char *value, size_t length)
{
    char *larger = realloc(w->values, w->size + length + 1);
    if (!larger)
        return bench_explain(l->reason, BENCH_REASON_TEXT, "memory is short");
    memcpy(larger + w->size, value, length);
    larger[w->size + length] = '\0';
    w->values = larger;
    w->size += length + 1;
    w->count++;
    if (w->count > BENCH_MOST_CASES)
        return bench_explain(l->reason, BENCH_REASON_TEXT, "%.60s stands for more than %d values", w->key,
                             BENCH_MOST_CASES);
    return true;
}

static bool is_number(const char *text, size_t length, int64_t *value)
{
    char copy[32];
    snprintf(copy, sizeof copy, "%.*s", (int)(length < sizeof copy ? length : 0), text);
    return length > 0 && length < sizeof copy && bench_parse_integer(copy, value);
}

// The text behind "..": where the range ends, and how it steps.
static bool read_step(case_list *l, const word *w, const char *item, const char *end, int64_t *last, char *kind,
                      int64_t *step)
{
    const size_t length = strcspn(end, "+*");
    *kind = end[length] ? end[length] : '+';
    *step = 1;
    if (!is_number(end, length, last) || (end[length] && !is_number(end + length + 1, strlen(end + length + 1), step)))
        return bench_explain(l->reason, BENCH_REASON_TEXT,
                             "%.60s%.100s: a range is of whole numbers, as in 1..8, 64..512+64 or 256..4096*2", w->key,
                             item);
    if (*kind == '+' && *step < 1)
        return bench_explain(l->reason, BENCH_REASON_TEXT, "%.60s%.100s: a step of at least 1 is wanted", w->key, item);
    if (*kind == '*' && *step < 2)
        return bench_explain(l->reason, BENCH_REASON_TEXT, "%.60s%.100s: a factor of at least 2 is wanted", w->key,
                             item);
    return true;
}

static bool add_range(case_list *l, word *w, const char *item)
{
    const char *dots = strstr(item, "..");
    int64_t first = 0, last = 0, step = 1;
    char kind = '+';
    if (!read_step(l, w, item, dots + 2, &last, &kind, &step))
        return false;
    if (!is_number(item, (size_t)(dots - item), &first))
        return bench_explain(l->reason, BENCH_REASON_TEXT, "%.60s%.100s: a range begins with a whole number", w->key,
                             item);
    if (first > last)
        return bench_explain(l->reason, BENCH_REASON_TEXT, "%.60s%.100s: the range ends before it begins", w->key,
                             item);
    if (kind == '*' && first < 1)
        return bench_explain(l->reason, BENCH_REASON_TEXT, "%.60s%.100s: multiplying begins at 1 or above", w->key,
                             item);
    for (int64_t value = first; value <= last;) {
        char text[32];
        const int length = snprintf(text, sizeof text, "%" PRId64, value);
        if (!add_value(l, w, text, (size_t)length))
            return false;
        if (kind == '*' ? value > last / step : (uint64_t)last - (uint64_t)value < (uint64_t)step)
            break;
        value = kind == '*' ? value * step : value + step;
    }
    return true;
}

static bool add_item(case_list *l, word *w, char *item)
{
    if (!*item)
        return bench_explain(l->reason, BENCH_REASON_TEXT, "%.60s: an item of its list is empty", w->key);
    return strstr(item, "..") ? add_range(l, w, item) : add_value(l, w, item, strlen(item));
}

// "m=1,2": the key with its sign, and the values. What has no sign is its own key.
static bool read_word(case_list *l, char *text)
{
    char *equals = strchr(text, '=');
    if (l->count == MOST_WORDS)
        return bench_explain(l->reason, BENCH_REASON_TEXT, "the line has too many words for a case");
    word *w = &l->words[l->count++];
    const size_t length = equals ? (size_t)(equals - text) + 1 : strlen(text);
    if (length >= sizeof w->key)
        return bench_explain(l->reason, BENCH_REASON_TEXT, "'%.80s...' is no key", text);
    snprintf(w->key, sizeof w->key, "%.*s", (int)length, text);
    if (!equals || !equals[1])
        return true;
    for (char *item = equals + 1; item;) {
        char *comma = strchr(item, ',');
        if (comma)
            *comma++ = '\0';
        if (!add_item(l, w, item))
            return false;
        item = comma;
    }
    return true;
}

// How many cases the line stands for; 0: too many, and said.
static size_t product(const case_list *l)
{
    double all = 1;
    for (size_t i = 0; i < l->count; i++)
        all *= l->words[i].count ? (double)l->words[i].count : 1;
    if (all <= BENCH_MOST_CASES)
        return (size_t)all;
    bench_explain(l->reason, BENCH_REASON_TEXT, "these lists stand for %.0f cases, and at most %d are taken at once",
                  all, BENCH_MOST_CASES);
    return 0;
}

// The index-th combination as a line; the last key changes first.
static bool write_line(const case_list *l, size_t index, char *line, size_t size)
{
    size_t chosen[MOST_WORDS];
    for (size_t i = l->count; i-- > 0;) {
        const size_t count = l->words[i].count ? l->words[i].count : 1;
        chosen[i] = index % count;
        index /= count;
    }
    line[0] = '\0';
    for (size_t i = 0; i < l->count; i++) {
        const char *value = l->words[i].count ? l->words[i].values : "";
        while (chosen[i]--)
            value += strlen(value) + 1;
        bench_append(line, size, "%s%s%s", i ? " " : "", l->words[i].key, value);
    }
    return strlen(line) + 1 < size;
}

static bool add_cases(const case_list *l, bench_suite *suite, int64_t count)
{
    const size_t all = product(l);
    char line[2 * BENCH_CASE_TEXT], why[BENCH_REASON_TEXT];
    for (size_t i = 0; i < all; i++) {
        bench_case c;
        if (!write_line(l, i, line, sizeof line))
            return bench_explain(l->reason, BENCH_REASON_TEXT, "the line is too long for a case");
        if (!bench_case_parse(line, &c, why))
            return all == 1 ? bench_explain(l->reason, BENCH_REASON_TEXT, "%s", why)
                            : bench_explain(l->reason, BENCH_REASON_TEXT, "%.600s (in %.300s)", why, line);
        if (!bench_suite_add(suite, &c, count))
            return bench_explain(l->reason, BENCH_REASON_TEXT, "memory is short");
    }
    return all > 0;
}

bool bench_case_list_add(const char *line, bench_suite *suite, int64_t count, char reason[BENCH_REASON_TEXT])
{
    case_list *l = calloc(1, sizeof *l);
    char *copy = bench_copy_text(line), *position = NULL;
    bool good = l && copy;
    if (!good)
        bench_explain(reason, BENCH_REASON_TEXT, "memory is short");
    if (l)
        l->reason = reason;
    for (char *text = good ? strtok_r(copy, " \t\r\n", &position) : NULL; good && text;
         text = strtok_r(NULL, " \t\r\n", &position))
        good = read_word(l, text);
    good = good && add_cases(l, suite, count);
    for (size_t i = 0; l && i < l->count; i++)
        free(l->words[i].values);
    free(l);
    free(copy);
    return good;
}
