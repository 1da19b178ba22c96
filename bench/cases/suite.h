/* SPDX-License-Identifier: MIT */
/* bench/cases/suite.h: a list of cases, each of which may occur several times. */
#ifndef BENCH_CASES_SUITE_H
#define BENCH_CASES_SUITE_H

#include <jansson.h>

#include "cases/case.h"

#define BENCH_MOST_COUNT ((int64_t)1 << 40) /* of one case in a suite; more than that is as many */

typedef struct bench_suite_entry {
    bench_case c;
    int64_t count; /* from 1 to BENCH_MOST_COUNT */
    json_t *kernel; /* of a described kernel: worker/kernel_runner.h; NULL: c is computed by Husk */
} bench_suite_entry;

typedef struct bench_suite {
    char name[64];
    char title[256];
    bench_suite_entry *entries;
    size_t count;
} bench_suite;

/*
 * Add a case at the end, unless its canonical form is there already: then it occurs more often. False when memory is
 * short.
 */
bool bench_suite_add(bench_suite *suite, const bench_case *c, int64_t count);
/* The same, of a described kernel, whose c may be another one's too. kernel is taken over. */
bool bench_suite_add_kernel(bench_suite *suite, const bench_case *c, json_t *kernel);
void bench_suite_free(bench_suite *suite);

/* What the entry is called: the case's canonical form, or the kernel's text. */
const char *bench_suite_entry_text(const bench_suite_entry *entry);

#endif
