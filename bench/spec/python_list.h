/* SPDX-License-Identifier: MIT */
/*
 * bench/spec/python_list.h: lists of whole numbers in Python, as tuning files have them:
 *
 *     [16, 32, 64]    list(range(1, 9))    [2**i for i in range(6)]    [1] + [2*i for i in range(1, 11)]
 */
#ifndef BENCH_SPEC_PYTHON_LIST_H
#define BENCH_SPEC_PYTHON_LIST_H

#include "common/text.h"

/* Values for the caller to free, NULL of an empty list. False: reason, "character 5: ...". */
bool bench_python_list(const char *text, int64_t **values, int *count, char reason[BENCH_REASON_TEXT]);

#endif
