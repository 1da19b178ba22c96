/* SPDX-License-Identifier: MIT */
/* bench/cases/operands.h: a case's operands and results in host memory. */
#ifndef BENCH_CASES_OPERANDS_H
#define BENCH_CASES_OPERANDS_H

#include <stdint.h>

#include <husk/husk.h>

/* Host memory of one operand: a tensor of rank dimensions with strides in elements. */
typedef struct bench_array {
    void *data; /* float, f16 or bf16, or int32_t for lengths; NULL: the case has no such operand */
    husk_dtype dtype;
    int32_t rank;
    int64_t shape[HUSK_MAX_RANK];
    int64_t strides[HUSK_MAX_RANK];
    int64_t count; /* elements the memory holds, gaps of strides included */
} bench_array;

/* An rnn's weights, one layer, one direction: [G H, I_l], [G H, H], [G H], [G H]; gates i f g o, r z n. */
typedef struct bench_rnn_weights {
    bench_array input, hidden, input_bias, hidden_bias;
} bench_rnn_weights;

enum { BENCH_SAVED = 4, BENCH_GRADIENTS = 4 };

/*
 * A case's operands, the same numbers in every process: they are made from the case's canonical form. They
 * belong to the worker, are 64-byte aligned, live until after release(), and are never written by a
 * runner.
 */
typedef struct bench_data {
    bench_array x;       /* gemm: A as stored; rnn: [t, b, input]; pool, conv: N, C, space in case.layout */
    bench_array w;       /* gemm: B as stored; conv: [k, c / groups, filter...], packed */
    bench_array bias;    /* gemm, conv */
    bench_array y;       /* what the output holds before a run: C where beta is not 0, else NaN throughout */
    bench_array dy; /* other directions than fwd: the gradient of forward's output; y is then the first gradient */
    bench_array saved[BENCH_SAVED]; /* ... and what forward has saved beside x: y, indices (i32), statistics */
    bench_array lengths; /* rnn: i32 [b] */
    bench_array h0, c0; /* rnn: [layers * directions, b, hidden] */
    bench_rnn_weights *layers; /* rnn: layer first, then direction */
    int64_t layer_count; /* layers * directions */
} bench_data;

/* A result read back; the arrays are allocated by the caller with the shapes and strides of the operands. */
typedef struct bench_output {
    bench_array y;
    bench_array indices; /* pool with indices=1: i32; data NULL otherwise */
    bench_array h_n, c_n; /* rnn; c_n for lstm alone; a runner that has none leaves them untouched */
    bench_array gradients[BENCH_GRADIENTS]; /* further ones than y, in the order of the call */
    bench_array saved[BENCH_SAVED]; /* what the run has made of data.saved, where the operator changes it */
} bench_output;

#endif
