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
 *     x        [T, B, I]        f32, f16, bf16 or f64, any strides; time is the first dimension. All others but
 *                               lengths and reserve have its dtype
 *     lengths  [B]              i32, or NULL; see below
 *     h0, c0   [L * D, B, H]    or NULL for zeros; layer first, then direction; c0 LSTM alone
 *     weights  L * D of them, layer first, then direction: input [G H, I_l], hidden [G H, H], input_bias and
 *              hidden_bias [G H] or NULL; I_l is I in the first layer and D H above it
 *     y        [T, B, D H]      forward direction's features first
 *     h_n, c_n [L * D, B, H]    or NULL; the states after each sequence's last step
 *     reserve  [R]              f32, or f64 beside f64, or NULL; for training: receives what husk_rnn_backward reads,
 *                               the gates of all steps and lower layers' outputs; R of husk_rnn_reserve_size at least.
 *                               Without it a run is as fast as inference can be
 *   Weights, states and y are packed row-major, or strided with a last stride of 1 (UNSUPPORTED otherwise).
 *
 * lengths lie in device memory, between 0 and T (others are clamped); sequence b takes lengths[b] steps. Past
 * its end y is 0, and h_n, c_n are the states after its last step. The backward direction begins at each
 * sequence's own last step (PyTorch's packed sequences).
 *
 * T, B of 0: y is empty, h_n = h0, c_n = c0. Outputs must not overlap inputs or each other.
 * Scratch memory is the products of a layer's inputs [T, B, G H], its states, room for its weights in packed form, also
 * where they are given packed, and, without a reserve, the outputs of two inner layers [T, B, D H]; with f16 and bf16
 * x, y, all states and all weights in f32 as well. Where that is more than the limit (params.workspace_limit, or
 * husk_plan_workspace's default, to which f32 for f16 and bf16 is added) or than one buffer may have, the products are
 * made for as many time steps at once as fit; where one step's are too much, the batch is computed in halves, quarters
 * and so on, without a reserve, for each of which plain weights are packed anew, and, with f16 and bf16, converted:
 * with few time steps that is most of the work. The least is one step's products for one sequence, and all else above
 * for that one; below that it is UNSUPPORTED. A variant that is asked for by name, without a limit, takes what it
 * needs. The bits may depend on the limit.
 * f16 and bf16 are storage: they become f32 in scratch memory and everything is computed in f32, the states from step
 * to step too, which are rounded in y, h_n and c_n alone. Packed weights are f32 and serve all three. f64 is computed
 * in f64, where the device has it, and its packed weights are f64.
 * Error: one step's bound is that of GEMM with k = I_l + H on the gates' sums, times the slopes of the
 * activations (at most 1); see docs/operators.md. In f64 with 2^-53 instead of 2^-24. W x + b may be a matrix engine's
 * (husk_precision of husk/context.h): then husk_plan_error_factor, not 0, times 2^-24 sum |W x| + |b| comes on top.
 */
#ifndef HUSK_OPS_RNN_H
#define HUSK_OPS_RNN_H

#include <husk/gradient.h>
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
    uint32_t accumulate;      /* husk_accumulate's bits, for the gradients alone */
} husk_rnn_params;

#define HUSK_RNN_PARAMS(...) HUSK_MAKE(husk_rnn_params, __VA_ARGS__)

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
    const husk_tensor *reserve;      /* or NULL; with plain weights alone */
} husk_rnn_outputs;

#define HUSK_RNN_INPUTS(...)  HUSK_MAKE(husk_rnn_inputs, __VA_ARGS__)
#define HUSK_RNN_OUTPUTS(...) HUSK_MAKE(husk_rnn_outputs, __VA_ARGS__)

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

/*
 * Elements of the reserve for this x: about L * D * T * B * H times 5 for an LSTM, 4 for a GRU (3 with
 * RESET_BEFORE), 1 for others, and T * B * D * H for each layer but the top one. -1 where husk_rnn would refuse the
 * params, or x is no [T, B, I]. x needs no memory.
 */
HUSK_API int64_t husk_rnn_reserve_size(const husk_rnn_params *params, const husk_tensor *x);

/*
 * The gradients through time, from those of y, h_n and c_n: of x, of the initial states and of every weight.
 *
 *     inputs            as forward read them, weights plain: x is read for the input weights' gradients alone
 *     outputs           y and reserve as forward left them; its other members are not looked at. The reserve is not
 *                       changed, and any variant of forward may have written it
 *     output_gradients  y [T, B, D H], h_n and c_n [L * D, B, H]: what is NULL is zeros; one at least is there. Strides
 *                       as forward's y and states, but elements may coincide (a stride of 0). reserve is not looked at
 *     gradients         x [T, B, I] of any strides; h0, c0 [L * D, B, H], which may be wanted though forward had zeros;
 *                       weights as inputs.weights, with NULL for those that are not wanted, biases that forward had not
 *                       among them: PyTorch's two biases have gradients of their own, the same but for a GRU's n
 *
 * params: forward's; accumulate: HUSK_ACCUMULATE_INPUTS adds to the gradients of x, h0 and c0,
 * HUSK_ACCUMULATE_PARAMETERS to those of weights and biases. Its variant names one of rnn_backward.
 *
 * Past a sequence's end x has a gradient of 0, and y's gradient is not read there; x must be finite even there if
 * input weights' gradients are wanted, as it is multiplied by those zeros. A sequence of no steps hands h_n's gradient
 * to h0. ReLU's slope at 0 is 0. PyTorch's autograd through RNN, LSTM, GRU and packed sequences gives the same.
 *
 * No gradient may overlap anything else. T, B of 0: weights' gradients are 0.
 *
 * Scratch memory is one layer's gates and states of all steps, less than the reserve has. Where that is more than the
 * limit (params.workspace_limit, or husk_plan_workspace's default), one direction is done after the other, and as many
 * time steps at once as fit; the least is one step's. Besides there are, always: the hidden weights of a direction (not
 * of `tile`, which a CPU takes where they do not fit, and is slow there), two steps' gates and one's states; with more
 * than one layer a layer's outputs [T, B, D H], with more than two twice that;
 * of f16 and bf16 all tensors of the call in f32; and, within a limit that is given, sums of biases' gradients: for
 * each 32 of a chunk's rows, 128 times at most, the biases of a direction. Below that it is UNSUPPORTED. What the
 * multiplications take, as husk_gemm_backward does, comes out of what is left of params.workspace_limit, where it is
 * given. Sums of weights' and biases' gradients go from chunk to chunk: the bits may depend on how many steps fit, and
 * so on the limit. Nothing else but shapes, strides and options decides how sums are cut up: the same call gives the
 * same bits.
 *
 * Gradients have x's dtype; those of f16 and bf16 are computed in f32, and with accumulate the sum is rounded once. The
 * states before each step are read from y, as it was rounded.
 * Error, beside what the reserve's and y's own rounding bring: one step's bound is that of GEMM with k = G H on the
 * state's gradient and 16 * 2^-24 of each gate's terms; weights' gradients add GEMM's with k = T B. See ref/rnn/rnn.h.
 * Where a matrix engine makes those of x and of weights, husk_plan_error_factor times 2^-24 of their products comes on
 * top.
 */
typedef struct husk_rnn_gradients {
    uint32_t size;                   /* sizeof this struct: HUSK_RNN_GRADIENTS sets it */
    const husk_tensor *x;            /* or NULL, as all of these */
    const husk_tensor *h0;
    const husk_tensor *c0;
    const husk_rnn_weights *weights; /* layers * directions of them */
} husk_rnn_gradients;

#define HUSK_RNN_GRADIENTS(...) HUSK_MAKE(husk_rnn_gradients, __VA_ARGS__)

HUSK_API husk_status husk_rnn_backward(husk_queue *queue, const husk_rnn_params *params, const husk_rnn_inputs *inputs,
                                       const husk_rnn_outputs *outputs, const husk_rnn_outputs *output_gradients,
                                       const husk_rnn_gradients *gradients);

/*
 * Plans, as for husk_rnn: in every run the same tensors are there, and wanted, with the same shapes and strides;
 * buffers and offsets do not count. Weights are never packed: they change from step to step of training, and each run
 * packs the hidden ones itself.
 */
HUSK_API husk_status husk_rnn_backward_plan_create(husk_context *context, const husk_rnn_params *params,
                                                   const husk_rnn_inputs *inputs, const husk_rnn_outputs *outputs,
                                                   const husk_rnn_outputs *output_gradients,
                                                   const husk_rnn_gradients *gradients, husk_plan **plan,
                                                   husk_error *error);
HUSK_API husk_status husk_rnn_backward_plan_run(husk_plan *plan, husk_queue *queue, const husk_rnn_inputs *inputs,
                                                const husk_rnn_outputs *outputs,
                                                const husk_rnn_outputs *output_gradients,
                                                const husk_rnn_gradients *gradients);

HUSK_END_DECLS

#endif
