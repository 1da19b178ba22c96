/* SPDX-License-Identifier: MIT */
/* bench/cases/rnn/shape.h: sizes and places that the files of rnn share. */
#ifndef BENCH_CASES_RNN_SHAPE_H
#define BENCH_CASES_RNN_SHAPE_H

#include <husk/husk.h>

#include "cases/case.h"

/*
 * dir=bwd: x's gradient is y; the weights' lie in a row in gradients[0], layer by layer, input before hidden weights,
 * the biases' in gradients[1]. Forward has saved y and the reserve, and state=1 gives gradients of the last states
 * too.
 */
enum { BENCH_RNN_MATRICES, BENCH_RNN_BIASES, BENCH_RNN_H0, BENCH_RNN_C0 };
enum { BENCH_RNN_SAVED_Y, BENCH_RNN_SAVED_RESERVE, BENCH_RNN_SAVED_DH_N, BENCH_RNN_SAVED_DC_N };

static inline bool bench_rnn_is_backward(const bench_case *c)
{
    return c->dir != BENCH_FWD;
}

/* Features of a layer's input. */
int64_t bench_rnn_layer_input(const bench_rnn *r, int64_t layer);

/* Elements of all matrices of weights. */
double bench_rnn_weight_count(const bench_rnn *r);

husk_rnn_params bench_rnn_params(const bench_case *c, const char *variant);

/* Where one weight's gradients begin in the rows of all: rows first, and of biases. */
void bench_rnn_place_gradients(const bench_rnn *r, int64_t index, int64_t *input, int64_t *hidden, int64_t *bias);

#endif
