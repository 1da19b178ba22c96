/* SPDX-License-Identifier: MIT */
/*
 * bench/spec/python.h: expressions in Python, as tuning files have them, written as our own (spec/expression.h).
 *
 *     a if c else b    or and not == != < <= > >= (also a < b < c) | ^ & << >> + - * / // % ** - + ~
 *     min(a, b) max(a, b) abs(a) int(a) round(a) ceil(a) floor(a) math.ceil(a) math.floor(a)    True False
 *     ProblemSize[0]   max(NAME), min(NAME): of a parameter's values
 *
 * Of powers there are those of the number 2, and those with an exponent of 0 to 8. "/" is the quotient, as in Python;
 * a % (b / c) is computed with whole numbers, so that no rounding is in it. Whole numbers have 64 bits.
 */
#ifndef BENCH_SPEC_PYTHON_H
#define BENCH_SPEC_PYTHON_H

#include "spec/spec.h"

/* What names may stand for beside themselves. */
typedef struct bench_python_scope {
    const bench_spec *spec; /* its parameters; NULL: there are none */
    int64_t problem[3]; /* ProblemSize */
    int problem_count;
} bench_python_scope;

/*
 * Writes all of text as our own expression. Names are taken over as they are: whether they mean something shows when it
 * is parsed. False: reason, which begins with "character 5: ".
 */
bool bench_python_write(const char *text, const bench_python_scope *scope, char *written, size_t size,
                        char reason[BENCH_REASON_TEXT]);
/* The same from a scan, as far as the expression goes. False: the scan has the mistake. */
bool bench_python_read(bench_scan *scan, const bench_python_scope *scope, char *written, size_t size);

/* What a scan of a text without a file has found: "character 5: ..." in place of ":0:5: ...". */
void bench_python_explain(const char *found, char reason[BENCH_REASON_TEXT]);

#endif
