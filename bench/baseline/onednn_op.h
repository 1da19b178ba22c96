/* SPDX-License-Identifier: MIT */
/*
 * baseline/onednn_op.h: what oneDNN can do for one operator, and in which ways. Each has a file of its own,
 * baseline/onednn_<op>.c, found by its name, with a const onednn_op onednn_op_<op>.
 *
 * Every way that applies is built and timed once when a case is prepared; the fastest is measured. That is
 * what makes oneDNN the best that a user could get, without knowing which of its ways suits which shape.
 */
#ifndef BENCH_BASELINE_ONEDNN_OP_H
#define BENCH_BASELINE_ONEDNN_OP_H

#include "baseline/onednn_program.h"

/*
 * One set of operands in the layouts of bench_data; outputs belong to the set. Those not there are NULL. What is typed
 * float has the dtype of bench_data's: bytes, in products of bytes.
 */
typedef struct onednn_operands {
    float *x, *w, *bias, *y;
    float *dy, *saved[BENCH_SAVED];     /* for gradients: bench_data's */
    float *gradients[BENCH_GRADIENTS]; /* bench_output's: those beyond y, which the others hold */
    float *h0, *c0, *h_n, *c_n;
    /* rnn: all layers' weights and summed biases, gates in oneDNN's order; see onednn_rnn.c */
    float *input_weights, *hidden_weights, *gate_bias;
    /* products of bytes: by channel, as oneDNN wants them; see onednn_quantized.h */
    float *scales, *scaled_bias;
    const bench_data *data; /* for shapes and strides */
} onednn_operands;

typedef struct onednn_way {
    const char *name; /* NULL ends a list */
    const char *form; /* bench_runner.form's name that asks for it */
    unsigned flags;   /* for build */
    bool (*applies)(const bench_case *c, unsigned flags);
    void (*build)(onednn_program *program, const bench_case *c, const onednn_operands *operands, unsigned flags);
} onednn_way;

typedef struct onednn_op {
    const onednn_way *ways;
    bool has_backward; /* the operator's gradients as well as fwd: build asks */
    bool has_bf16;     /* the operator's fwd of bf16 as well as of f32 */
    bool reference_is_fast; /* what oneDNN calls ref for this operator multiplies with its GEMM all the same */
    /* False: reason says what oneDNN lacks. */
    bool (*supports)(const bench_case *c, char reason[BENCH_REASON_TEXT]);
    /* Operands beyond those of bench_data, allocated with malloc; NULL: there are none. */
    bool (*make_operands)(const bench_case *c, onednn_operands *operands);
} onednn_op;

/* Bring the operand into layout `to` once where weights are packed, and in every run where they are not. */
static inline onednn_stage onednn_packing_stage(const bench_case *c)
{
    return c->packed ? ONEDNN_SETUP : ONEDNN_RUN;
}

#endif
