/* SPDX-License-Identifier: MIT */
/* bench/cases/rnn/saved.h: what forward has saved. */
#ifndef BENCH_CASES_RNN_SAVED_H
#define BENCH_CASES_RNN_SAVED_H

#include "cases/case.h"
#include "cases/operands.h"

/* In f32 on the host, and the gradients of the last states. False: memory is short. */
bool bench_rnn_make_saved(const bench_case *c, bench_data *data, uint64_t seed);

#endif
