/* SPDX-License-Identifier: MIT */
/* bench/cases/parse.h: a case from its line. */
#ifndef BENCH_CASES_PARSE_H
#define BENCH_CASES_PARSE_H

#include "cases/case.h"
#include "common/text.h"

/*
 * Parse one line. False: reason says what is wrong and, for an unknown operator, key or value, which valid
 * spelling is the nearest.
 */
bool bench_case_parse(const char *line, bench_case *out, char reason[BENCH_REASON_TEXT]);

#endif
