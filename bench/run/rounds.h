/* SPDX-License-Identifier: MIT */
/*
 * bench/run/rounds.h: the rows of a run on one device, measured round after round.
 */
#ifndef BENCH_RUN_ROUNDS_H
#define BENCH_RUN_ROUNDS_H

#include "run/state.h"

/* One row a case, or a case and variant, without those that a resumed document has. False: memory is short. */
bool bench_make_rows(bench_run *r);
/* Measure, print and record them all. */
void bench_measure_rounds(bench_run *r);
/* What a resumed document's device had reached counts, too. */
void bench_keep_peaks(bench_run *r);
/* The peaks may have turned out higher than when the first rows were printed: the document has one figure. */
void bench_settle_peaks(bench_run *r);

#endif
