/* SPDX-License-Identifier: MIT */
/*
 * bench/run/sentinel.h: a fixed piece of work beside each round of a row, which says how fast the machine is just
 * then.
 */
#ifndef BENCH_RUN_SENTINEL_H
#define BENCH_RUN_SENTINEL_H

#include "run/state.h"

#define BENCH_SENTINEL_DISTURBED 0.07 /* slower than the device's best rate by so much: something else ran */

/*
 * Measure a round of the row with the sentinel before and behind it, and keep what both said. A reading is believed
 * when a second one agrees with it: a single one may have been interrupted.
 */
void bench_sentinel_round(bench_run *r, bench_row *row, const bench_measure_options *options);

/* Whether something else ran beside the round that was measured last. */
bool bench_sentinel_was_disturbed(const bench_run *r, const bench_row *row);

#endif
