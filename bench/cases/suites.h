/* SPDX-License-Identifier: MIT */
/*
 * bench/cases/suites.h: named lists of cases. A suite is a text file: a case a line; `#` begins a comment; the first
 * comment line is the suite's title; `* 4` after a case, behind a blank, says how often the network has that layer.
 * Values may be lists and ranges (bench/cases/list.h), for a case each. Cases that operators' own files have under the
 * suite's name (bench/cases/op_lists.h) come behind.
 */
#ifndef BENCH_CASES_SUITES_H
#define BENCH_CASES_SUITES_H

#include "cases/suite.h"
#include "common/text.h"

/* The index-th suite that is compiled in; NULL past the end. */
const char *bench_suite_name(size_t index);

/* Its file's text, without what operators' own files add to it (cases/op_lists.h); NULL: there is none. */
const char *bench_suite_text(const char *name);

/* One that is compiled in. False: reason says which name is the nearest. */
bool bench_suite_load(const char *name, bench_suite *suite, char reason[BENCH_REASON_TEXT]);
/* Whether a suite's name is a file's: it has a '/' or ".txt". */
bool bench_suite_is_path(const char *name);
/* A file of text, without zero bytes; reason names file and line. */
bool bench_suite_load_file(const char *path, bench_suite *suite, char reason[BENCH_REASON_TEXT]);
/* Text of the same form, a byte order mark before it or not; source is what reason calls it. */
bool bench_suite_parse(const char *text, const char *source, bench_suite *suite, char reason[BENCH_REASON_TEXT]);

#endif
