/* SPDX-License-Identifier: MIT */
/* bench/cases/rnn/verify.h: results and gradients against the reference. */
#ifndef BENCH_CASES_RNN_VERIFY_H
#define BENCH_CASES_RNN_VERIFY_H

#include "cases/verdict.h"

void bench_rnn_verify(const bench_case *c, const bench_data *data, const bench_output *output,
                      const bench_verify_options *options, bench_verdict *verdict);

#endif
