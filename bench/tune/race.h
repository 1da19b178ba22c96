/* SPDX-License-Identifier: MIT */
/*
 * bench/tune/race.h: one case's race. The predicted variant and its challengers take turns in shuffled order; a round
 * is a turn of each, and what counts is a challenger's time over the predicted one's in the same round, so that what
 * happens to the machine happens to both. Losers leave early; who wins has to win again, and to be right.
 */
#ifndef BENCH_TUNE_RACE_H
#define BENCH_TUNE_RACE_H

#include "cases/case.h"
#include "measure/runner_process.h"
#include "tune/race_result.h"

void bench_race_run(bench_runner_process *husk, const bench_case *c, const bench_race_options *options,
                    bench_race *race);
void bench_race_free(bench_race *race);

/* What a challenger must reach: this much of the predicted one's time, at most. */
#define BENCH_RACE_THRESHOLD 0.97

typedef enum bench_race_verdict { BENCH_RACE_OPEN, BENCH_RACE_FASTER, BENCH_RACE_NOT_FASTER } bench_race_verdict;

/*
 * A verdict from the ratios of paired rounds: faster where the 95% confidence interval of their median lies below the
 * threshold; not faster where four or more rounds, all of them or by that interval, lie above it.
 */
bench_race_verdict bench_race_judge(const double *ratios, size_t count);

#endif
