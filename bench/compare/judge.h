/* SPDX-License-Identifier: MIT */
/* bench/compare/judge.h: verdicts of a comparison. */
#ifndef BENCH_COMPARE_JUDGE_H
#define BENCH_COMPARE_JUDGE_H

#include "compare/comparison.h"

/* Judge all pairs and groups of a comparison whose pairs are there. False: memory is short. */
bool bench_comparison_judge(bench_comparison *comparison);

#endif
