/* SPDX-License-Identifier: MIT */
/** @file
 * Recurrent layers over whole sequences (vanilla tanh and ReLU, LSTM, GRU), and their gradients.
 *
 * ## Cells
 *
 * W are the input weights, R the hidden weights, b and d their biases, h' and c' the previous states, and . is the
 * elementwise product:
 *
 *     TANH  h = tanh(W x + b + R h' + d)
 *     RELU  h = max(W x + b + R h' + d, 0)
 *     LSTM  i, f, g, o = W x + b + R h' + d
 *           c = sigmoid(f) . c' + sigmoid(i) . tanh(g)
 *           h = sigmoid(o) . tanh(c)                      Hochreiter 1997, Gers 2000; no peepholes
 *     GRU   r, z = sigmoid(W x + b + R h' + d)            arXiv 1406.1078
 *           RESET_AFTER   n = tanh(Wn x + bn + r . (Rn h' + dn))   PyTorch, cuDNN, ONNX linear_before_reset=1
 *           RESET_BEFORE  n = tanh(Wn x + bn + Rn (r . h') + dn)   the paper, ONNX linear_before_reset=0
 *           h = (1 - z) . n + z . h'
 *
 * The gates lie along the rows of the weights, as in PyTorch:
 *
 * | cell | number of gates G | order | ONNX's order |
 * | --- | --- | --- | --- |
 * | TANH, RELU | 1 | | |
 * | LSTM | 4 | i, f, g, o | i, o, f, g |
 * | GRU | 3 | r, z, n | z, r, n |
 *
 * ## Tensors
 *
 * T are time steps, B the batch, I input features, H hidden features, L layers, and D directions: 2 if bidirectional,
 * else 1. Time is the first dimension.
 *
 * | tensor | shape | remark |
 * | --- | --- | --- |
 * | x | [T, B, I] | any strides |
 * | lengths | [B], i32; or NULL | in device memory |
 * | h0, c0 | [L * D, B, H]; or NULL for zeros | layer first, then direction; c0 for LSTM only |
 * | weights | L * D structs | layer first, then direction |
 * | input weights | [G H, I_l] | I_l is I in the first layer, D H above it |
 * | hidden weights | [G H, H] | |
 * | input_bias, hidden_bias | [G H]; or NULL | |
 * | y | [T, B, D H] | the forward direction's features first |
 * | h_n, c_n | [L * D, B, H]; or NULL | the states after each sequence's last step |
 * | reserve | [R]; or NULL | for training: what husk_rnn_backward() reads |
 *
 * - x has f32, f16, bf16 or f64. All other tensors have x's dtype, except lengths and reserve. reserve has f32, or f64
 *   beside f64.
 * - Weights, states and y are packed row-major, or strided with a last stride of 1; otherwise HUSK_UNSUPPORTED.
 * - The reserve receives the gates of all steps and the outputs of lower layers. R is at least husk_rnn_reserve_size().
 *   Without a reserve a run is as fast as inference can be.
 * - Outputs must not overlap inputs or each other.
 * - With T or B of 0, y is empty, h_n = h0 and c_n = c0.
 *
 * ## Lengths
 *
 * Sequence b has lengths[b] steps, between 0 and T; other values are clamped. Past its end y is 0, and h_n and c_n are
 * the states after its last step. The backward direction begins at each sequence's own last step. These are PyTorch's
 * packed sequences.
 *
 * ## Precision and error
 *
 * - f16 and bf16 are only storage. They become f32 in scratch memory, and everything is computed in f32. The states are
 *   f32 from step to step, too; they are rounded only in y, h_n and c_n.
 * - Packed weights are f32, and serve f32, f16 and bf16.
 * - f64 is computed in f64 if the device has it. Its packed weights are f64.
 * - The bound of one step is that of GEMM with k = I_l + H on the gates' sums, times the slopes of the activations,
 *   which are at most 1; see docs/operators.md. In f64, 2^-53 replaces 2^-24.
 * - A matrix engine may compute W x + b (::husk_precision). Then husk_plan_error_factor() is not 0, and
 *   husk_plan_error_factor() * 2^-24 * (sum |W x| + |b|) is added to the bound.
 *
 * ## Scratch memory
 *
 * It holds:
 *
 * - the products of a layer's inputs [T, B, G H];
 * - the layer's states;
 * - room for the layer's weights in packed form, even if they are given packed;
 * - without a reserve, the outputs of two inner layers [T, B, D H];
 * - for f16 and bf16, x, y, all states and all weights in f32.
 *
 * The limit is params.workspace_limit. Its default is that of husk_plan_workspace() plus the f32 for f16 and bf16. If
 * the scratch memory exceeds the limit, or what one buffer may have:
 *
 * 1. The products are made for as many time steps at once as fit.
 * 2. If one step's products are too large, the batch is computed in halves, quarters and so on. This is possible only
 *    without a reserve. Plain weights are packed again for each part and, for f16 and bf16, converted. With few time
 *    steps that is most of the work.
 * 3. The minimum is one step's products for one sequence, and the other items above for that sequence. Below that the
 *    result is HUSK_UNSUPPORTED.
 *
 * If the params name a variant and no limit is given, the variant takes what it needs. The bits of the result may
 * depend on the limit.
 */
#ifndef HUSK_OPS_RNN_H
#define HUSK_OPS_RNN_H

#include <husk/gradient.h>
#include <husk/plan.h>

HUSK_BEGIN_DECLS

/** The cells. The file's description has their formulas. */
typedef enum husk_rnn_cell { HUSK_RNN_TANH = 0, HUSK_RNN_RELU = 1, HUSK_RNN_LSTM = 2, HUSK_RNN_GRU = 3 } husk_rnn_cell;

/** Whether a GRU's reset gate is applied after or before the multiplication with the hidden weights. */
typedef enum husk_gru_reset { HUSK_GRU_RESET_AFTER = 0, HUSK_GRU_RESET_BEFORE = 1 } husk_gru_reset;

/** Options of husk_rnn() and its gradient. */
typedef struct husk_rnn_params {
    uint32_t size;            /**< sizeof this struct; HUSK_RNN_PARAMS() sets it. */
    husk_rnn_cell cell;
    int64_t hidden_size;      /**< H; required. */
    int64_t layers;           /**< L; 0 means 1. */
    uint32_t bidirectional;   /**< Not 0: both directions. */
    husk_gru_reset reset;     /**< GRU only. */
    husk_precision precision;
    uint64_t workspace_limit; /**< Most bytes of scratch memory; 0: the default. */
    const char *variant;      /**< NULL: the library chooses. */
    uint32_t accumulate;      /**< Gradients only: bits of husk_accumulate. */
} husk_rnn_params;

/** Makes a husk_rnn_params; see husk/export.h. */
#define HUSK_RNN_PARAMS(...) HUSK_MAKE(husk_rnn_params, __VA_ARGS__)

/** One layer's weights in one direction. */
typedef struct husk_rnn_weights {
    const husk_tensor *input;
    const husk_tensor *hidden;
    const husk_tensor *input_bias;  /**< NULL: zeros. Either all weights of a call have it, or none. */
    const husk_tensor *hidden_bias; /**< Likewise. */
} husk_rnn_weights;

/** What forward reads. Set either weights or packed. */
typedef struct husk_rnn_inputs {
    uint32_t size;                   /**< sizeof this struct; HUSK_RNN_INPUTS() sets it. */
    const husk_tensor *x;
    const husk_tensor *lengths;      /**< May be NULL. */
    const husk_tensor *h0;           /**< May be NULL. */
    const husk_tensor *c0;           /**< May be NULL. */
    const husk_rnn_weights *weights; /**< layers * directions of them; NULL if packed is set. */
    const husk_packed *packed;       /**< From husk_rnn_plan_pack(); NULL if weights is set. */
} husk_rnn_inputs;

/** What forward writes. */
typedef struct husk_rnn_outputs {
    uint32_t size;                   /**< sizeof this struct; HUSK_RNN_OUTPUTS() sets it. */
    const husk_tensor *y;
    const husk_tensor *h_n;          /**< May be NULL. */
    const husk_tensor *c_n;          /**< May be NULL. */
    const husk_tensor *reserve;      /**< May be NULL. Only with plain weights. */
} husk_rnn_outputs;

/** Makes a husk_rnn_inputs; see husk/export.h. */
#define HUSK_RNN_INPUTS(...)  HUSK_MAKE(husk_rnn_inputs, __VA_ARGS__)
/** Makes a husk_rnn_outputs; see husk/export.h. */
#define HUSK_RNN_OUTPUTS(...) HUSK_MAKE(husk_rnn_outputs, __VA_ARGS__)

/** Enqueue the whole sequence. Plain weights are packed again in every call. */
HUSK_API husk_status husk_rnn(husk_queue *queue, const husk_rnn_params *params, const husk_rnn_inputs *inputs,
                              const husk_rnn_outputs *outputs);

/**
 * Create a plan for these shapes, strides, options and optional tensors. Buffers and offsets are ignored. For packed
 * weights, create the plan from the descriptions of the plain weights; their buffers may be NULL.
 */
HUSK_API husk_status husk_rnn_plan_create(husk_context *context, const husk_rnn_params *params,
                                          const husk_rnn_inputs *inputs, const husk_rnn_outputs *outputs,
                                          husk_plan **plan, husk_error *error);
/** Enqueue a run of the plan. */
HUSK_API husk_status husk_rnn_plan_run(husk_plan *plan, husk_queue *queue, const husk_rnn_inputs *inputs,
                                       const husk_rnn_outputs *outputs);
/**
 * Pack all weights and biases for the plan. Uses on other queues must be ordered after the packing. The packed weights
 * fit every plan on this context with the same options, input size, variant and configuration, whatever T and B are.
 */
HUSK_API husk_status husk_rnn_plan_pack(husk_plan *plan, husk_queue *queue, const husk_rnn_weights *weights,
                                        husk_packed **packed);

/**
 * The number of elements of the reserve for this x. x needs no memory.
 *
 * It is about
 *
 *     L * D * T * B * H * s + (L - 1) * T * B * D * H
 *
 * with s = 5 for an LSTM, 4 for a GRU with RESET_AFTER, 3 for a GRU with RESET_BEFORE, and 1 for the other cells.
 *
 * @return -1 if husk_rnn() would refuse the params, or if x is no [T, B, I]
 */
HUSK_API int64_t husk_rnn_reserve_size(const husk_rnn_params *params, const husk_tensor *x);

/** The gradients that husk_rnn_backward() writes. Each may be NULL if it is not wanted. */
typedef struct husk_rnn_gradients {
    uint32_t size;                   /**< sizeof this struct; HUSK_RNN_GRADIENTS() sets it. */
    const husk_tensor *x;
    const husk_tensor *h0;
    const husk_tensor *c0;
    const husk_rnn_weights *weights; /**< layers * directions of them. */
} husk_rnn_gradients;

/** Makes a husk_rnn_gradients; see husk/export.h. */
#define HUSK_RNN_GRADIENTS(...) HUSK_MAKE(husk_rnn_gradients, __VA_ARGS__)

/**
 * Enqueue the gradients through time: from those of y, h_n and c_n to those of x, of the initial states and of every
 * weight. PyTorch's autograd through RNN, LSTM, GRU and packed sequences gives the same.
 *
 * @par Options
 * params are those of forward; the variant is one of rnn_backward. HUSK_ACCUMULATE_INPUTS adds to the gradients of x,
 * h0 and c0, HUSK_ACCUMULATE_PARAMETERS adds to those of weights and biases.
 *
 * @par Sequences and special cases
 * - Past a sequence's end, x has a gradient of 0, and y's gradient is not read. If gradients of input weights are
 *   wanted, x must be finite even there, since it is multiplied with those zeros.
 * - A sequence without steps passes h_n's gradient to h0.
 * - ReLU's slope at 0 is 0.
 * - With T or B of 0, the gradients of weights are 0.
 * - No gradient may overlap anything else.
 *
 * @par Precision and error
 * - Gradients have x's dtype. Those of f16 and bf16 are computed in f32, and with accumulate the sum is rounded once.
 * - The states before each step are read from y, with its rounding.
 * - The rounding of reserve and y adds to the error. One step's bound is that of GEMM with k = G H on the state's
 *   gradient, and 16 * 2^-24 of each gate's terms. Gradients of weights add the bound of GEMM with k = T B. The
 *   formulas are in src/ref/rnn/rnn.h.
 * - If a matrix engine makes the gradients of x and of weights, husk_plan_error_factor() * 2^-24 of their products is
 *   added.
 *
 * @par Scratch memory
 * It holds one layer's gates and states of all steps, which is less than the reserve has. If that exceeds the limit
 * (params.workspace_limit, or the default of husk_plan_workspace()), one direction is computed after the other, and as
 * many time steps at once as fit. The minimum is that of one step.
 *
 * @par
 * It also always holds:
 * - the hidden weights of a direction; not for the variant `tile`, which a CPU uses if they do not fit, and which is
 *   slow there;
 * - two steps' gates, and one step's states;
 * - with more than one layer, a layer's outputs [T, B, D H]; with more than two layers, twice that;
 * - for f16 and bf16, all tensors of the call in f32;
 * - within a given limit, sums of the biases' gradients: the biases of a direction for each 32 rows of a chunk, at most
 *   128 times.
 *
 * @par
 * Below that the result is HUSK_UNSUPPORTED. If params.workspace_limit is given, the scratch memory of the
 * multiplications, as in husk_gemm_backward(), must fit into what is left of it.
 *
 * @par Determinism
 * The same call gives the same bits: only shapes, strides and options decide how sums are divided. The limit is one of
 * these options. Sums of weights' and biases' gradients go from chunk to chunk, so the bits may depend on how many
 * steps fit.
 *
 * @param inputs as forward read them, with plain weights. x is read only for the gradients of the input weights.
 * @param outputs y and reserve as forward wrote them; other members are ignored. The reserve is not changed, and any
 *   variant of forward may have written it.
 * @param output_gradients y [T, B, D H], h_n and c_n [L * D, B, H]. NULL means zeros; at least one is needed. Strides
 *   are as for forward's y and states, but elements may coincide (a stride of 0). reserve is ignored.
 * @param gradients x [T, B, I] with any strides; h0 and c0 [L * D, B, H], which may be wanted even if forward had
 *   zeros; weights as in inputs.weights, with NULL for those that are not wanted. Gradients of biases may be wanted
 *   even if forward had none. PyTorch's two biases have gradients of their own, which differ only for a GRU's n.
 */
HUSK_API husk_status husk_rnn_backward(husk_queue *queue, const husk_rnn_params *params, const husk_rnn_inputs *inputs,
                                       const husk_rnn_outputs *outputs, const husk_rnn_outputs *output_gradients,
                                       const husk_rnn_gradients *gradients);

/**
 * Create a plan for the gradients, as husk_rnn_plan_create() does. Every run has the same tensors, and wants the same
 * gradients, with the same shapes and strides. Buffers and offsets are ignored.
 *
 * Weights are never packed, since they change in each step of training. Each run packs the hidden ones itself.
 */
HUSK_API husk_status husk_rnn_backward_plan_create(husk_context *context, const husk_rnn_params *params,
                                                   const husk_rnn_inputs *inputs, const husk_rnn_outputs *outputs,
                                                   const husk_rnn_outputs *output_gradients,
                                                   const husk_rnn_gradients *gradients, husk_plan **plan,
                                                   husk_error *error);
/** Enqueue a run of the plan. */
HUSK_API husk_status husk_rnn_backward_plan_run(husk_plan *plan, husk_queue *queue, const husk_rnn_inputs *inputs,
                                                const husk_rnn_outputs *outputs,
                                                const husk_rnn_outputs *output_gradients,
                                                const husk_rnn_gradients *gradients);

HUSK_END_DECLS

#endif
