/* SPDX-License-Identifier: MIT */
/* bench/cases/rnn/sequences.h: sequences that repeat others. */
#ifndef BENCH_CASES_RNN_SEQUENCES_H
#define BENCH_CASES_RNN_SEQUENCES_H

#include "cases/case.h"

/*
 * Gradients whose reference would take more than seconds have a few sequences, and the others of the batch repeat
 * them in drawn order: what a kernel makes of each is compared, and the weights' gradients, which all sequences add
 * to. dy changes its sign from one to another, so that it matters which of them is where.
 */
int64_t bench_rnn_distinct(const bench_case *c);

/* What draws which sequences repeat which, and their lengths. */
uint64_t bench_rnn_sequences_seed(const bench_case *c);

/* Of them count are distinct. Where they have lengths, nobody repeats the longest. */
int64_t bench_rnn_like(const bench_case *c, uint64_t seed, int64_t count, int64_t sequence);

/* Three of four are positive, so that what is alike does not add up to nothing. */
float bench_rnn_sign(int64_t count, int64_t sequence);

/*
 * The first sequence is the longest; the others are drawn, or where few are distinct, evenly spread, so that they
 * have as many steps on average.
 */
int64_t bench_rnn_length(const bench_case *c, uint64_t seed, int64_t count, int64_t sequence);

/* What outer times all sequences have in rows of that width: those that repeat others become theirs. */
void bench_rnn_repeat_rows(const bench_case *c, float *data, int64_t outer, int64_t width, bool is_signed);

#endif
