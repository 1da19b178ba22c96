/* SPDX-License-Identifier: MIT */
/*
 * bench/baseline/onednn_rnn_backward.h: the gradients of recurrent layers, and the flags of the ways to compute both.
 */
#ifndef BENCH_BASELINE_ONEDNN_RNN_BACKWARD_H
#define BENCH_BASELINE_ONEDNN_RNN_BACKWARD_H

#include "baseline/onednn_op.h"

enum { ONEDNN_RNN_OWN_WEIGHTS = 1, ONEDNN_RNN_ALL_LAYERS = 2, ONEDNN_RNN_TWO_STEPS = 4 };

/* What is compared of gradients: NULL, or what is not. */
const char *onednn_rnn_backward_lacks(const bench_case *c);
void onednn_rnn_backward_build(onednn_program *program, const bench_case *c, const onednn_operands *operands,
                               unsigned flags);

#endif
