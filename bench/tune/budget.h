/* SPDX-License-Identifier: MIT */
/* bench/tune/budget.h: the time that tuning has on each device. */
#ifndef BENCH_TUNE_BUDGET_H
#define BENCH_TUNE_BUDGET_H

#include "cli/options.h"

#define BENCH_TUNE_NO_LIMIT 1e9 /* seconds */

/* Seconds: --budget's, a minute where it was not given, BENCH_TUNE_NO_LIMIT for 0. */
double bench_tune_budget(const bench_options *options);

#endif
