/* SPDX-License-Identifier: MIT */
/*
 * husk/ops/rnn.h: recurrent layers over whole sequences: vanilla tanh and ReLU, LSTM, GRU.
 *
 *   With W the input weights, R the hidden weights, b and d their biases, . the elementwise product:
 *     TANH  h = tanh(W x + b + R h' + d)                 RELU likewise
 *     LSTM  i, f, g, o = W x + b + R h' + d; c = sigmoid(f) . c' + sigmoid(i) . tanh(g);
 *           h = sigmoid(o) . tanh(c)                      (Hochreiter 1997, Gers 2000; no peepholes)
 *     GRU   r, z = sigmoid(W x + b + R h' + d)            (arXiv 1406.1078)
 *           RESET_AFTER   n = tanh(Wn x + bn + r . (Rn h' + dn))   PyTorch, cuDNN, ONNX linear_before_reset=1
 *           RESET_BEFORE  n = tanh(Wn x + bn + Rn (r . h') + dn)   the paper, ONNX linear_before_reset=0
 *           h = (1 - z) . n + z . h'
 *   Gates lie in the order i, f, g, o and r, z, n along the weights' rows, as in PyTorch (ONNX has i, o, f, g
 *   and z, r, n). The number of gates G is 1, 4 (LSTM) or 3 (GRU).
 *
 *   T time steps, B batch, I input features, H hidden features, L layers, D directions (2 if bidirectional)
 *     x        [T, B, I]        f32, any strides; time is the first dimension
 *     lengths  [B]              i32, or NULL; see below
 *     h0, c0   [L * D, B, H]    f32, or NULL for zeros; layer first, then direction; c0 LSTM alone
 *     weights  L * D of them, layer first, then direction: input [G H, I_l], hidden [G H, H], input_bias and
 *              hidden_bias [G H] or NULL; I_l is I in the first layer and D H above it
 *     y        [T, B, D H]      forward direction's features first
 *     h_n, c_n [L * D, B, H]    or NULL; the states after each sequence's last step
 *   Weights and states are packed row-major, or strided with a last stride of 1.
 *
 * lengths lie in device memory, between 0 and T (others are clamped); sequence b takes lengths[b] steps. Past
 * its end y is 0, and h_n, c_n are the states after its last step. The backward direction begins at each
 * sequence's own last step (PyTorch's packed sequences).
 *
 * T, B of 0: y is empty, h_n = h0, c_n = c0. Outputs must not overlap inputs or each other.
 * Error: one step's bound is that of GEMM with k = I_l + H on the gates' sums, times the slopes of the
 * activations (at most 1); see docs/operators.md.
 */
#ifndef HUSK_OPS_RNN_H
#define HUSK_OPS_RNN_H

#include <husk/plan.h>

HUSK_BEGIN_DECLS

typedef enum husk_rnn_cell {
    HUSK_RNN_TANH = 0,
    HUSK_RNN_RELU = 1,
    HUSK_RNN_LSTM = 2,
    HUSK_RNN_GRU = 3
} husk_rnn_cell;

typedef enum husk_gru_reset {
    HUSK_GRU_RESET_AFTER = 0,
    HUSK_GRU_RESET_BEFORE = 1
} husk_gru_reset;

typedef struct husk_rnn_params {
    uint32_t size;            /* sizeof this struct: HUSK_RNN_PARAMS sets it */
    husk_rnn_cell cell;
    int64_t hidden_size;      /* H; required */
    int64_t layers;           /* 0 means 1 */
    uint32_t bidirectional;   /* not 0: both directions */
    husk_gru_reset reset;     /* GRU alone */
    husk_precision precision;
    uint64_t workspace_limit; /* most bytes of scratch; 0: the default, see husk_plan_workspace */
    const char *variant;      /* NULL: chosen */
} husk_rnn_params;

#define HUSK_RNN_PARAMS(...) (husk_rnn_params) { .size = sizeof(husk_rnn_params), __VA_ARGS__ }

/* One layer's weights in one direction. */
typedef struct husk_rnn_weights {
    const husk_tensor *input;
    const husk_tensor *hidden;
    const husk_tensor *input_bias;  /* NULL: zeros; all of a call's weights have it or none has */
    const husk_tensor *hidden_bias; /* likewise */
} husk_rnn_weights;

typedef struct husk_rnn_inputs {
    uint32_t size;                   /* sizeof this struct: HUSK_RNN_INPUTS sets it */
    const husk_tensor *x;
    const husk_tensor *lengths;      /* or NULL */
    const husk_tensor *h0;           /* or NULL */
    const husk_tensor *c0;           /* or NULL */
    const husk_rnn_weights *weights; /* layers * directions of them; NULL when packed is set */
    const husk_packed *packed;       /* from husk_rnn_plan_pack; NULL when weights is set */
} husk_rnn_inputs;

typedef struct husk_rnn_outputs {
    uint32_t size;                   /* sizeof this struct: HUSK_RNN_OUTPUTS sets it */
    const husk_tensor *y;
    const husk_tensor *h_n;          /* or NULL */
    const husk_tensor *c_n;          /* or NULL */
} husk_rnn_outputs;

#define HUSK_RNN_INPUTS(...) (husk_rnn_inputs) { .size = sizeof(husk_rnn_inputs), __VA_ARGS__ }
#define HUSK_RNN_OUTPUTS(...) (husk_rnn_outputs) { .size = sizeof(husk_rnn_outputs), __VA_ARGS__ }

/* Enqueue the whole sequence. Plain weights are packed anew in every call. */
HUSK_API husk_status husk_rnn(husk_queue *queue, const husk_rnn_params *params, const husk_rnn_inputs *inputs,
                              const husk_rnn_outputs *outputs);

/*
 * A plan for these shapes, strides, options and optional tensors; buffers and offsets do not count. Plans
 * meant for packed weights are created from the plain weights' descriptions (buffer NULL will do).
 */
HUSK_API husk_status husk_rnn_plan_create(husk_context *context, const husk_rnn_params *params,
                                          const husk_rnn_inputs *inputs, const husk_rnn_outputs *outputs,
                                          husk_plan **plan, husk_error *error);
HUSK_API husk_status husk_rnn_plan_run(husk_plan *plan, husk_queue *queue, const husk_rnn_inputs *inputs,
                                       const husk_rnn_outputs *outputs);
/*
 * Pack all weights and biases for the plan; uses on other queues must be ordered after it. They fit every
 * plan of the same options, input size, variant and configuration on this context, whatever T and B.
 */
HUSK_API husk_status husk_rnn_plan_pack(husk_plan *plan, husk_queue *queue, const husk_rnn_weights *weights,
                                        husk_packed **packed);

HUSK_END_DECLS

#endif
