/* SPDX-License-Identifier: MIT */
/** @file
 * A network as a graph of operators, built once.
 *
 * | call | purpose |
 * | --- | --- |
 * | husk_graph_create() | makes an empty graph |
 * | husk_graph_input(), husk_graph_parameter() | values from outside, and values that are learnt |
 * | husk_graph_conv(), husk_graph_gemm(), husk_graph_pool() and so on | a call for each operator; returns its result |
 * | husk_graph_reshape(), husk_graph_permute(), husk_graph_slice() | views: other ways to read a value's memory |
 * | husk_graph_output() | a value that is to be read |
 * | husk_graph_compile() of husk/train/step.h | gradients, memory, plans |
 *
 * husk/train/layers.h has the same operators together with their parameters: husk_graph_conv_layer(),
 * husk_graph_linear() and so on.
 *
 * ## Errors
 *
 * Nothing is computed while a graph is built. Shapes are inferred and checked at once. The first error is kept: later
 * calls do nothing and return #HUSK_NO_VALUE, and husk_graph_compile() returns the first error. Its text names the
 * call, the node, the argument and the rule ("husk_graph_conv: conv1: w: ..."). So a program needs only one check.
 *
 * ## Names
 *
 * Every node has a name. Its value is read by this name, and errors mention it. NULL makes a name of the operator's
 * name and a number ("conv_3"). Names have 1 to 200 characters, and no two values have the same. Texts are copied,
 * except a params' `variant`, whose pointer is kept.
 *
 * ## Tensors
 *
 * - Tensors are packed, row-major, unless they are views. No dimension is 0.
 * - All values except integers (labels, indices, lengths) have the graph's dtype.
 * - The params of the operators are those of husk/ops/. Their `accumulate` is ignored.
 * - A graph belongs to one thread at a time.
 *
 * ## Mixed precision
 *
 * In a graph of f16 or bf16, values are stored in that dtype on any device. Operators compute as they specify for these
 * dtypes, most of them in f32. The following are f32:
 *
 * | what | remark |
 * | --- | --- |
 * | parameters | as they are learnt, read, written and saved; forward reads a copy in the graph's dtype |
 * | gradients | those of parameters, and the optimizer's states |
 * | statistics | running ones, and those that normalisation, attention and recurrent layers keep for backward |
 * | losses | husk_graph_loss() casts what it reads |
 * | outputs | husk_graph_output() casts |
 * | inputs | if they are made so; also what husk_graph_cast() gives |
 *
 * Convolutions, products, normalisation, embedding, recurrent layers and attention cast f32 arguments to the graph's
 * dtype. Other operators need arguments of one dtype, and give a result of the same.
 */
#ifndef HUSK_TRAIN_GRAPH_H
#define HUSK_TRAIN_GRAPH_H

#include <husk/husk.h>
#include <husk/train/initializer.h>

HUSK_BEGIN_DECLS

/** A network. */
typedef struct husk_graph husk_graph;

/** A tensor in a graph: a result, an input, a parameter, or a view of one. It belongs to the graph. */
typedef int32_t husk_value;
/** No value: an argument that is absent, or the result of a call that failed. */
#define HUSK_NO_VALUE 0

/** Options of a graph. */
typedef struct husk_graph_params {
    uint32_t size;      /**< sizeof this struct; HUSK_GRAPH_PARAMS() sets it. */
    husk_dtype dtype;   /**< HUSK_F32, HUSK_F16, HUSK_BF16 or, if the device has it, HUSK_F64. */
    uint64_t seed;      /**< Of parameters and of dropout. */
    husk_queue *queue;  /**< NULL: the graph makes its own. */
} husk_graph_params;

/** Makes a husk_graph_params; see husk/export.h. */
#define HUSK_GRAPH_PARAMS(...) HUSK_MAKE(husk_graph_params, __VA_ARGS__)

/** Create an empty graph. */
HUSK_API husk_status husk_graph_create(husk_context *context, const husk_graph_params *params, husk_graph **graph,
                                       husk_error *error);
/** Release the graph. */
HUSK_API void husk_graph_release(husk_graph *graph);
/** The first error in building or, once the graph is compiled, the last error. Never NULL. */
HUSK_API const husk_error *husk_graph_error(const husk_graph *graph);
/** The queue on which the graph enqueues its work. */
HUSK_API husk_queue *husk_graph_queue(const husk_graph *graph);

/**
 * Add a value from outside.
 *
 * @param dtype the graph's; HUSK_F32 beside f16 and bf16; or HUSK_I32, HUSK_I64, HUSK_U8
 */
HUSK_API husk_value husk_graph_input(husk_graph *graph, const char *name, husk_dtype dtype, int32_t rank,
                                     const int64_t *shape);
/**
 * Add a value that is learnt.
 *
 * @param initializer NULL for zeros
 */
HUSK_API husk_value husk_graph_parameter(husk_graph *graph, const char *name, int32_t rank, const int64_t *shape,
                                         const husk_initializer *initializer);
/**
 * Add numbers that training keeps but does not learn: the running statistics of batch normalisation. They are `count`
 * elements, initialised to `value`.
 */
HUSK_API husk_value husk_graph_statistic(husk_graph *graph, const char *name, int64_t count, float value);
/**
 * Stop learning the parameters whose name is `name`, or begins with it and a dot. They get no gradient and no optimizer
 * state, and do not change. Statistics are frozen, too: batch normalisation then uses them also in training. At least
 * one parameter or statistic must match.
 */
HUSK_API husk_status husk_graph_freeze(husk_graph *graph, const char *name);
/**
 * Make a value readable by this name after every step and evaluation. Its memory is not shared with other values. For
 * f16 and bf16 the output is a copy in f32.
 */
HUSK_API void husk_graph_output(husk_graph *graph, const char *name, husk_value value);
/**
 * Also compute the gradient of the loss by an input. This is for graphs that are parts of a network, such as the stages
 * of a pipeline.
 *
 * - The input must have the graph's dtype. The gradient has the same shape, and can be read by `name` after backward,
 *   as an output can.
 * - With `accumulate` it is the gradient of the last batch, not a sum.
 * - The loss, or what husk_graph_output_gradient() names, must depend on the input.
 */
HUSK_API void husk_graph_input_gradient(husk_graph *graph, const char *name, husk_value input);
/**
 * Provide the gradient by a result from outside. This, too, is for parts of a network.
 *
 * - A graph with such a gradient needs no loss. If there is one that depends on the result, both gradients are added.
 * - The result's memory is not shared with other values, as an output's is not.
 *
 * @return an input called `name`, of the result's shape, to be written before backward
 */
HUSK_API husk_value husk_graph_output_gradient(husk_graph *graph, const char *name, husk_value result);
/**
 * The rank of a value.
 *
 * @param shape receives as many numbers; may be NULL
 * @return -1 for #HUSK_NO_VALUE and for any other number that is no value of the graph
 */
HUSK_API int32_t husk_graph_shape(const husk_graph *graph, husk_value value, int64_t shape[HUSK_MAX_RANK]);

/* ---- views ----------------------------------------------------------------------------------------------- */

/** As husk_tensor_reshape(); one dimension may be -1. A value that is not packed is copied first. */
HUSK_API husk_value husk_graph_reshape(husk_graph *graph, const char *name, husk_value x, int32_t rank,
                                       const int64_t *shape);
/** As husk_tensor_permute(), with order[rank]. */
HUSK_API husk_value husk_graph_permute(husk_graph *graph, const char *name, husk_value x, const int32_t *order);
/** As husk_tensor_slice() with a step of 1. */
HUSK_API husk_value husk_graph_slice(husk_graph *graph, const char *name, husk_value x, int32_t axis, int64_t first,
                                     int64_t count);
/** A packed copy. */
HUSK_API husk_value husk_graph_copy(husk_graph *graph, const char *name, husk_value x);
/**
 * A packed copy in another dtype, rounded as husk_copy() does.
 *
 * @param x of one of these dtypes; or integers, but not to f64
 * @param dtype the graph's or, beside f16 and bf16, HUSK_F32
 */
HUSK_API husk_value husk_graph_cast(husk_graph *graph, const char *name, husk_value x, husk_dtype dtype);

/* ---- operators ------------------------------------------------------------------------------------------- */

/**
 * Convolution; see husk_conv().
 *
 * @par All operators
 * - If bias or another argument may be absent, pass #HUSK_NO_VALUE.
 * - params may be NULL for the operator's defaults, if it has any.
 * - An activation, given in params or by a call of its own, becomes part of conv and gemm if that is possible: nothing
 *   else reads the value before it, and its gradient can be computed from the value after it.
 */
HUSK_API husk_value husk_graph_conv(husk_graph *graph, const char *name, const husk_conv_params *params, husk_value x,
                                    husk_value w, husk_value bias);
/** alpha op(a) op(b) + bias, with a bias of [n] or [m, 1]; see husk_gemm(). */
HUSK_API husk_value husk_graph_gemm(husk_graph *graph, const char *name, const husk_gemm_params *params, float alpha,
                                    husk_value a, husk_value b, husk_value bias);
/** Pooling; see husk_pool(). */
HUSK_API husk_value husk_graph_pool(husk_graph *graph, const char *name, const husk_pool_params *params, husk_value x);
/** An activation; see husk_activation(). */
HUSK_API husk_value husk_graph_activation(husk_graph *graph, const char *name, const husk_activation_params *params,
                                          husk_value x);
/** A function of two values; see husk_binary(). Comparisons have no gradient. */
HUSK_API husk_value husk_graph_binary(husk_graph *graph, const char *name, const husk_binary_params *params,
                                      husk_value a, husk_value b);
/** A function of one value; see husk_unary(). */
HUSK_API husk_value husk_graph_unary(husk_graph *graph, const char *name, const husk_unary_params *params,
                                     husk_value x);
/** Softmax; see husk_softmax(). */
HUSK_API husk_value husk_graph_softmax(husk_graph *graph, const char *name, const husk_softmax_params *params,
                                       husk_value x);
/**
 * A reduction; see husk_reduce(). The result's shape lacks the reduced dimensions. ARGMAX and ARGMIN give i32 and have
 * no gradient.
 */
HUSK_API husk_value husk_graph_reduce(husk_graph *graph, const char *name, const husk_reduce_params *params,
                                      husk_value x);
/** Concatenation; see husk_concat(). */
HUSK_API husk_value husk_graph_concat(husk_graph *graph, const char *name, const husk_concat_params *params,
                                      const husk_value *inputs, size_t count);
/**
 * Dropout in training; in evaluation y = x. See husk_dropout(). The params' seed and offset are ignored: the seed is
 * the graph's, and the offset counts nodes and batches, so each batch has its own masks.
 */
HUSK_API husk_value husk_graph_dropout(husk_graph *graph, const char *name, const husk_dropout_params *params,
                                       husk_value x);
/**
 * A loss; see husk_loss(). In a graph of f16 or bf16 it is computed in f32, and so is the result.
 *
 * @param target labels, or values of the graph's dtype. It gets no gradient; neither do the weights.
 */
HUSK_API husk_value husk_graph_loss(husk_graph *graph, const char *name, const husk_loss_params *params, husk_value x,
                                    husk_value target, husk_value weight, husk_value positive_weight);

/**
 * Normalisation; see husk_norm(). The params' `training` is ignored: BATCH uses the batch's statistics in training, and
 * the running ones in evaluation.
 *
 * @param running_mean for BATCH a statistic of C elements, otherwise #HUSK_NO_VALUE
 * @param running_variance likewise
 */
HUSK_API husk_value husk_graph_norm(husk_graph *graph, const char *name, const husk_norm_params *params, husk_value x,
                                    husk_value scale, husk_value bias, husk_value running_mean,
                                    husk_value running_variance);
/** Embedding; see husk_embedding(). */
HUSK_API husk_value husk_graph_embedding(husk_graph *graph, const char *name, const husk_embedding_params *params,
                                         husk_value table, husk_value indices);
/**
 * Attention; see husk_attention().
 *
 * The result [batch, heads, queries, width] lies in memory as [batch, queries, heads, width]. So husk_graph_permute()
 * by {0, 2, 1, 3} and husk_graph_reshape() join the heads without a copy. Dropout, seed and offset are as for
 * husk_graph_dropout(). The mask gets no gradient.
 */
HUSK_API husk_value husk_graph_attention(husk_graph *graph, const char *name, const husk_attention_params *params,
                                         husk_value q, husk_value k, husk_value v, husk_value mask);

/** The arguments of husk_graph_rnn(). */
typedef struct husk_rnn_values {
    uint32_t size;             /**< sizeof this struct; HUSK_RNN_VALUES() sets it. */
    husk_value x;              /**< [steps, batch, features]. */
    husk_value lengths;        /**< [batch] of i32, or #HUSK_NO_VALUE. */
    husk_value h0,             /**< The initial state, or #HUSK_NO_VALUE. */
        c0;                    /**< An LSTM's initial cell state, or #HUSK_NO_VALUE. */
    const husk_value *weights; /**< Four for each direction of a layer: input, hidden, input_bias, hidden_bias. */
} husk_rnn_values;

/** Makes a husk_rnn_values; see husk/export.h. */
#define HUSK_RNN_VALUES(...) HUSK_MAKE(husk_rnn_values, __VA_ARGS__)

/**
 * Recurrent layers, at most 8; see husk_rnn().
 *
 * @param h_n receives the last states; NULL if not wanted
 * @param c_n likewise; only together with h_n
 * @return y
 */
HUSK_API husk_value husk_graph_rnn(husk_graph *graph, const char *name, const husk_rnn_params *params,
                                   const husk_rnn_values *values, husk_value *h_n, husk_value *c_n);

HUSK_END_DECLS

#endif
