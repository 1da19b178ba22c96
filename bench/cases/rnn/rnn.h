/* SPDX-License-Identifier: MIT */
/* bench/cases/rnn/rnn.h: the fields of an rnn case, resolved. */
#ifndef BENCH_CASES_RNN_RNN_H
#define BENCH_CASES_RNN_RNN_H

#include <stdint.h>

typedef struct bench_rnn {
    int64_t cell; /* husk_rnn_cell */
    int64_t t, b, input, hidden;
    int64_t layers, bidir;
    int64_t reset;   /* husk_gru_reset */
    int64_t lengths; /* 1: sequences of different length, see bench_data */
    int64_t bias;    /* 1 (default): input and hidden bias */
    int64_t state;   /* 1: h0 (and c0) are given, otherwise they are absent and zero */
    /* derived */
    int64_t gates, directions;
} bench_rnn;

#endif
