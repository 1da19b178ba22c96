// SPDX-License-Identifier: MIT
#include "cases/suite.h"

#include <stdlib.h>
#include <string.h>

static bool append(bench_suite *suite, const bench_suite_entry *entry)
{
    bench_suite_entry *entries = realloc(suite->entries, (suite->count + 1) * sizeof *entries);
    if (!entries)
        return false;
    suite->entries = entries;
    suite->entries[suite->count++] = *entry;
    return true;
}

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
    return append(suite, &(bench_suite_entry){.c = *c, .count = count});
}

bool bench_suite_add_kernel(bench_suite *suite, const bench_case *c, json_t *kernel)
{
    const bool is_added = kernel && append(suite, &(bench_suite_entry){.c = *c, .count = 1, .kernel = kernel});
    if (!is_added)
        json_decref(kernel);
    return is_added;
}

const char *bench_suite_entry_text(const bench_suite_entry *entry)
{
    const char *text = json_string_value(json_object_get(entry->kernel, "text"));
    return text ? text : entry->c.canonical;
}

void bench_suite_free(bench_suite *suite)
{
    for (size_t i = 0; i < suite->count; i++)
        json_decref(suite->entries[i].kernel);
    free(suite->entries);
    memset(suite, 0, sizeof *suite);
}
