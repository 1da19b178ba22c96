// SPDX-License-Identifier: MIT
#include "cases/suite.h"

#include <stdlib.h>
#include <string.h>

bool bench_suite_add(bench_suite *suite, const bench_case *c, int64_t count)
{
    count = count < BENCH_MOST_COUNT ? count : BENCH_MOST_COUNT;
    for (size_t i = 0; i < suite->count; i++) {
        if (!strcmp(suite->entries[i].c.canonical, c->canonical)) {
            bench_suite_entry *e = &suite->entries[i];
            e->count = e->count < BENCH_MOST_COUNT - count ? e->count + count : BENCH_MOST_COUNT;
            return true;
        }
    }
    bench_suite_entry *entries = realloc(suite->entries, (suite->count + 1) * sizeof *entries);
    if (!entries)
        return false;
    suite->entries = entries;
    suite->entries[suite->count++] = (bench_suite_entry){.c = *c, .count = count};
    return true;
}

void bench_suite_free(bench_suite *suite)
{
    free(suite->entries);
    memset(suite, 0, sizeof *suite);
}
