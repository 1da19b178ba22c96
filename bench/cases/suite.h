/* SPDX-License-Identifier: MIT */
/*
 * bench/cases/suite.h: named lists of cases. A suite is a text file: a case a line; `#` begins a comment; the first
 * comment line is the suite's title; `* 4` after a case, behind a blank, says how often the network has that layer.
 * Values may be lists and ranges (bench/cases/list.h), for a case each.
 */
#ifndef BENCH_CASES_SUITE_H
#define BENCH_CASES_SUITE_H

#include "cases/case.h"

#define BENCH_MOST_COUNT ((int64_t)1 << 40) /* of one case in a suite; more than that is as many */

typedef struct bench_suite_entry {
    bench_case c;
    int64_t count; /* from 1 to BENCH_MOST_COUNT */
} bench_suite_entry;

typedef struct bench_suite {
    char name[64];
    char title[256];
    bench_suite_entry *entries;
    size_t count;
} bench_suite;

/* The index-th suite that is compiled in; NULL past the end. */
const char *bench_suite_name(size_t index);

/* Its text; NULL: there is none. */
const char *bench_suite_text(const char *name);

/* One that is compiled in. False: reason says which name is the nearest. */
bool bench_suite_load(const char *name, bench_suite *suite, char reason[BENCH_REASON_TEXT]);
/* Whether a suite's name is a file's: it has a '/' or ".txt". */
bool bench_suite_is_path(const char *name);
/* A file of text, without zero bytes; reason names file and line. */
bool bench_suite_load_file(const char *path, bench_suite *suite, char reason[BENCH_REASON_TEXT]);
/* Text of the same form, a byte order mark before it or not; source is what reason calls it. */
bool bench_suite_parse(const char *text, const char *source, bench_suite *suite,
                       char reason[BENCH_REASON_TEXT]);
/*
 * Add a case at the end, unless its canonical form is there already: then it occurs more often. False when memory is
 * short.
 */
bool bench_suite_add(bench_suite *suite, const bench_case *c, int64_t count);
void bench_suite_free(bench_suite *suite);

#endif
