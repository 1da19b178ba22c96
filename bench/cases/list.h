/* SPDX-License-Identifier: MIT */
/*
 * bench/cases/list.h: lists and ranges in a case. `gemm m=1,16,256..4096*2 n=4096 k=4096 act=none,relu` is a case
 * for every combination, the last key changing first.
 *
 *     1,16,256    each of them
 *     a..b        a, a + 1, ... b          whole numbers, a not above b
 *     a..b+s      a, a + s, ... at most b
 *     a..b*f      a, a f, ... at most b    a at least 1, f at least 2
 */
#ifndef BENCH_CASES_LIST_H
#define BENCH_CASES_LIST_H

#include "cases/suite.h"

#ifndef BENCH_MOST_CASES
#define BENCH_MOST_CASES 10000 /* that a line may stand for; fewer where millions of lines are tried */
#endif

/* Parse a line and add its cases to a suite. False: reason. */
bool bench_case_list_add(const char *line, bench_suite *suite, int64_t count, char reason[BENCH_REASON_TEXT]);

#endif
