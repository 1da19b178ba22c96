/* SPDX-License-Identifier: MIT */
/*
 * bench/common/rank_test.h: whether two sets of samples differ, without assuming how they are distributed; and what
 * several such questions together allow to be said.
 */
#ifndef BENCH_COMMON_RANK_TEST_H
#define BENCH_COMMON_RANK_TEST_H

#include <stdbool.h>
#include <stddef.h>

/*
 * The two-sided p-value of the rank sum test (Wilcoxon, Individual Comparisons by Ranking Methods, 1945; Mann and
 * Whitney, On a Test of Whether one of Two Random Variables is Stochastically Larger, 1947), ties at their mean rank.
 * Up to BENCH_EXACT_SAMPLES samples together it is exact, ties or not: the share of all ways to choose so many of the
 * ranks whose sum is as far from its mean. Beyond, the normal approximation with a correction for ties and for
 * continuity (Lehmann, Nonparametrics, 1.4 and 1.5). NaN when one is empty or memory is short.
 */
#define BENCH_EXACT_SAMPLES 50
double bench_rank_test(const double *a, size_t a_count, const double *b, size_t b_count);

/*
 * p-values made comparable with one level for all of them together: Holm, A Simple Sequentially Rejective Multiple Test
 * Procedure, 1979, as adjusted p-values. NaNs stay, and do not count. False when memory is short.
 */
bool bench_holm(double *p, size_t count);

/* The 97.5% quantile of Student's t with so many degrees of freedom; infinite for none. */
double bench_student(size_t freedom);

/*
 * The two-sided p-value of Student's t: the regularised incomplete beta function I(freedom / 2, 1 / 2) at
 * freedom / (freedom + t^2) (DLMF 8.17). freedom need not be whole. NaN for none.
 */
double bench_student_p(double t, double freedom);
/* The t whose two-sided p-value that is. */
double bench_student_limit(double p, double freedom);

#endif
