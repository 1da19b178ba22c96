// SPDX-License-Identifier: MIT
// A suite file, with its lists and ranges: no case is there twice, and written out it is read back as the same suite.
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cases/suite.h"
#include "cases/suites.h"
#include "fuzz.h"

static char *print(const bench_suite *suite)
{
    const size_t line = BENCH_CASE_TEXT + 40;
    char *text = malloc(suite->count * line + 1), *at = text;
    fuzz_expect(text != NULL, "memory is short");
    *at = '\0';
    for (size_t i = 0; i < suite->count; i++)
        at += snprintf(at, line, "%s * %" PRId64 "\n", suite->entries[i].c.canonical, suite->entries[i].count);
    return text;
}

static void expect_same_again(const bench_suite *suite)
{
    char reason[BENCH_REASON_TEXT] = "", *text = print(suite);
    bench_suite again;
    fuzz_expect(bench_suite_parse(text, "again", &again, reason), "what was read is refused: %s\n%s", reason, text);
    fuzz_expect(again.count == suite->count, "%zu cases become %zu", suite->count, again.count);
    for (size_t i = 0; i < suite->count; i++) {
        const bench_suite_entry *a = &suite->entries[i], *b = &again.entries[i];
        fuzz_expect(a->count > 0, "%s occurs %" PRId64 " times", a->c.canonical, a->count);
        fuzz_expect(a->count == b->count && !strcmp(a->c.canonical, b->c.canonical), "%s * %" PRId64 " becomes %s",
                    a->c.canonical, a->count, b->c.canonical);
    }
    bench_suite_free(&again);
    free(text);
}

static void expect_distinct(const bench_suite *suite)
{
    for (size_t i = 0; i < suite->count; i++)
        for (size_t k = 0; k < i; k++)
            fuzz_expect(strcmp(suite->entries[i].c.canonical, suite->entries[k].c.canonical) != 0, "%s is there twice",
                        suite->entries[i].c.canonical);
}

void fuzz_target(const char *text, size_t size)
{
    char reason[BENCH_REASON_TEXT] = "";
    bench_suite suite;
    (void)size;
    if (!bench_suite_parse(text, "a suite", &suite, reason)) {
        fuzz_expect_reason(reason, sizeof reason);
        fuzz_expect(suite.count == 0 && !suite.entries, "a refused suite has %zu cases", suite.count);
        return;
    }
    fuzz_expect(memchr(suite.title, 0, sizeof suite.title) != NULL, "the title does not end");
    expect_distinct(&suite);
    expect_same_again(&suite);
    bench_suite_free(&suite);
}
