// SPDX-License-Identifier: MIT
// Greedy: of all words the first that can be left out or made smaller, again and again. What the language refuses is
// no step, so sizes that hang together stay right.
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cases/parse.h"
#include "common/text.h"
#include "random_calls.h"

enum { MOST_STEPS = 400 };

static bool is_worth(const call *smaller, call_fails_fn fails, void *user)
{
    bench_case c;
    return call_parse(smaller, &c) && fails(user, &c);
}

static void remove_word(call *k, size_t at)
{
    memmove(k->words[at], k->words[at + 1], (k->count - at - 1) * sizeof *k->words);
    k->count--;
}

// Every whole number of the word, towards 1 (or 0) by halves, then by one.
static bool lower_number(call *k, size_t at, call_fails_fn fails, void *user)
{
    char *value = strchr(k->words[at], '=');
    for (char *number = value ? value + 1 : NULL; number && *number;) {
        const size_t digits = strspn(number, "0123456789");
        const int64_t now = digits ? strtoll(number, NULL, 10) : 0;
        const int64_t tries[] = {1, now / 2, now - 1};
        for (size_t i = 0; i < sizeof tries / sizeof *tries && now > 0; i++) {
            call smaller = *k;
            if (tries[i] >= now)
                continue;
            snprintf(smaller.words[at], CALL_WORD, "%.*s%" PRId64 "%.32s", (int)(number - k->words[at]), k->words[at],
                     tries[i], number + digits);
            if (is_worth(&smaller, fails, user)) {
                *k = smaller;
                return true;
            }
        }
        number += digits;
        number += strcspn(number, "0123456789");
    }
    return false;
}

static bool take_step(call *k, call_fails_fn fails, void *user)
{
    for (size_t i = k->count; i-- > 1;) {
        call smaller = *k;
        remove_word(&smaller, i);
        if (is_worth(&smaller, fails, user)) {
            *k = smaller;
            return true;
        }
    }
    for (size_t i = 1; i < k->count; i++)
        if (lower_number(k, i, fails, user))
            return true;
    return false;
}

int call_shrink(call *k, call_fails_fn fails, void *user)
{
    int steps = 0;
    while (steps < MOST_STEPS && take_step(k, fails, user))
        steps++;
    return steps;
}

bool call_parse(const call *k, bench_case *c)
{
    char line[2 * BENCH_CASE_TEXT] = "", reason[BENCH_REASON_TEXT];
    for (size_t i = 0; i < k->count; i++)
        bench_append(line, sizeof line, "%s%s", i ? " " : "", k->words[i]);
    return bench_case_parse(line, c, reason);
}

void call_from_line(const char *line, call *k)
{
    k->count = 0;
    while (*line && k->count < CALL_WORDS) {
        const size_t length = strcspn(line, " ");
        if (length)
            snprintf(k->words[k->count++], CALL_WORD, "%.*s", (int)(length < CALL_WORD ? length : CALL_WORD - 1), line);
        line += length + strspn(line + length, " ");
    }
}
