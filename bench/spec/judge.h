/* SPDX-License-Identifier: MIT */
/*
 * bench/spec/judge.h: whether a buffer holds what a formula expects of it, and nothing else was written.
 *
 * Every element is compared where that takes no more operations than HUSK_REF_COMPLETE_COST's multiply-adds; of more,
 * elements at the corners, beside multiples of the configuration's numbers and of powers of 2, and 256 to 4,096 random
 * ones, as many as are evaluated in a moment and as point->most_operations allow. Then no element anywhere may be NaN
 * unless one of these should be; whole numbers that are as they were before the run are compared, too.
 */
#ifndef BENCH_SPEC_JUDGE_H
#define BENCH_SPEC_JUDGE_H

#include "spec/point.h"

/* A buffer before and behind a run, in host memory. */
typedef struct bench_contents {
    const void *before, *after;
} bench_contents;

typedef struct bench_judgement {
    bool is_right;
    bool is_mistake;      /* nothing can be judged: the description asks for what is not there, and text says so */
    bool is_beside;       /* memory beside a buffer was written, which is not judged here */
    bool is_inconclusive; /* right, which proves nothing: the bound is as large as the numbers */
    int64_t checked, wrong, of; /* elements */
    double max_ratio; /* the largest |error| / bound; infinity where exactness is missed */
    double max_error, bound; /* there */
    char text[BENCH_REASON_TEXT]; /* the first wrong one, or why nothing could be judged */
    char by[80]; /* the bound that was used: "derived for float", "within 2 ulp" */
} bench_judgement;

/* How far a result may be from an expected value, by the expectation's tolerance; error: where it is derived. */
double bench_tolerance_of(const bench_expectation *expectation, bench_element element, double value, double error);
/* The tolerance's name, for a row. */
void bench_tolerance_text(const bench_expectation *expectation, bench_element element, char text[80]);

/* Whether a result is right; counts it. name: how the text calls it, "y[3]". */
bool bench_judge_real(bench_judgement *judgement, const char *name, double expected, double bound, double actual);
bool bench_judge_integer(bench_judgement *judgement, const char *name, int64_t expected, int64_t most_off,
                         int64_t actual);

/*
 * Of one expectation by formula. The point's bindings have the buffers' data before the run. touched: a byte for each
 * element of the buffer, which is set where the expectation is of it; *all: it is of all of them.
 */
void bench_judge_formula(bench_point *point, const bench_expectation *expectation, const bench_contents *contents,
                         uint64_t seed, unsigned char *touched, bool *all, bench_judgement *judgement);
/* Elements that no expectation is of hold what they held. */
void bench_judge_untouched(bench_point *point, int buffer, const bench_contents *contents, const unsigned char *touched,
                           bench_judgement *judgement);
/* An array of expected elements, such as a function's of a shared object. */
void bench_judge_array(bench_point *point, const bench_expectation *expectation, const void *expected,
                       const bench_contents *contents, bench_judgement *judgement);

void bench_judgement_begin(bench_judgement *judgement);
/* When all expectations of a buffer are judged. */
void bench_judgement_end(bench_judgement *judgement);

#endif
