/* SPDX-License-Identifier: MIT */
/*
 * bench/cases/verdict.h: what comparing a result with the reference found.
 */
#ifndef BENCH_CASES_VERDICT_H
#define BENCH_CASES_VERDICT_H

#include <stdbool.h>
#include <stdint.h>

#include "ref/check.h"

#include "cases/array.h"

typedef struct bench_verify_options {
    uint64_t seed;       /* of the sample of outputs that is checked */
    double error_factor; /* the variant's own bound, as husk_plan_error_factor; 0: the operator's */
    double widening;     /* what the bounds of rnn's gradients are multiplied with; 0: nothing */
} bench_verify_options;

typedef struct bench_verdict {
    bool pass;
    bool unchecked;  /* not passed for want of host memory alone: of right and wrong nothing is known */
    bool inconclusive; /* husk_ref_report_inconclusive of an output: it proves nothing */
    bool unscanned;  /* an output of integers was compared by samples alone: see bench_verdict_unwritten */
    int64_t checked;
    double max_error; /* the largest difference, and the bound where error / bound was largest */
    double bound;
    double max_ratio; /* the largest error / bound */
    char text[512];   /* what failed first, or how near the bound it came */
} bench_verdict;

/* Add a report to a verdict that began as bench_verdict_begin left it; name says which output it was. */
void bench_verdict_begin(bench_verdict *verdict);
void bench_verdict_add(bench_verdict *verdict, const char *name, const husk_ref_report *report);
/* It is wrong, and text says how. */
void bench_verdict_fail(bench_verdict *verdict, const char *text);
/* Host memory does not suffice for the reference. What was found to be wrong before stays so. */
void bench_verdict_unchecked(bench_verdict *verdict);

/* Poison that differs from what it was in every byte; the second time it is that again. */
void bench_poison_flip(bench_array *poison);
/*
 * y of two runs, before the second of which its poison was flipped, as it still is: what was not written is poison
 * after both, whatever its dtype, and fails. Gaps between strided rows are nobody's.
 */
void bench_verdict_unwritten(bench_verdict *verdict, const bench_array *flipped, const bench_array *first,
                             const bench_array *second);

#endif
