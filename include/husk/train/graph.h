/* SPDX-License-Identifier: MIT */
/*
 * husk/train/graph.h: a network as a graph of operators, built once.
 *
 *     husk_graph_create                                       an empty graph
 *     husk_graph_input, _parameter                            values that come from outside, and those that are learnt
 *     husk_graph_conv, _gemm, _pool ...                       a call an operator: it gives the value of the result
 *     husk_graph_reshape, _permute, _slice                    views: other ways to read a value's memory
 *     husk_graph_output                                       a value that is to be read
 *     husk_graph_compile (husk/train/step.h)                  gradients, memory, plans
 *
 * husk/train/layers.h has the same operators with their parameters: husk_graph_conv_layer, husk_graph_linear ...
 *
 * Nothing is computed while a graph is built. Shapes are inferred and checked at once. The first error stays: later
 * calls do nothing and give HUSK_NO_VALUE, and husk_graph_compile answers the first one, whose text names the call, the
 * node, the argument and the rule ("husk_graph_conv: conv1: w: ..."). So a program checks once.
 *
 * Every node has a name of its own, by which its value is read, and by which errors speak of it; NULL makes one of the
 * operator's name and a number ("conv_3"). Names are texts of 1 to 200 characters; no two values have the same. Texts
 * are copied; but a params' `variant` is kept as the pointer that it is.
 *
 * Tensors are packed, row-major, unless they are views. Operators' params are those of husk/ops/; their `accumulate` is
 * not looked at. All values but integers (labels, indices, lengths) have the graph's dtype. No dimension is 0. A graph
 * belongs to one thread at a time.
 *
 * Mixed precision: in a graph of f16 or bf16 values are stored so, on any device, and operators compute as they say of
 * these dtypes, most of them in f32. Beside them are f32:
 *     parameters     as they are learnt, read, written and saved; a copy in the graph's dtype is what forward reads
 *     gradients      of parameters, and the optimizer's states
 *     statistics     running ones, and those that normalisation, attention and recurrent layers keep for backward
 *     losses         husk_graph_loss casts what it reads
 *     outputs        husk_graph_output casts
 *     inputs         where they are made so, and what husk_graph_cast gives
 * Convolutions, products, normalisation, embedding, recurrent layers and attention cast f32 arguments to the graph's
 * dtype; other operators want arguments alike and give what they were given.
 */
#ifndef HUSK_TRAIN_GRAPH_H
#define HUSK_TRAIN_GRAPH_H

#include <husk/husk.h>
#include <husk/train/initializer.h>

HUSK_BEGIN_DECLS

typedef struct husk_graph husk_graph;

/* A tensor in a graph: a result, an input, a parameter, or a view of one. It is the graph's. */
typedef int32_t husk_value;
#define HUSK_NO_VALUE 0

typedef struct husk_graph_params {
    uint32_t size;      /* sizeof this struct: HUSK_GRAPH_PARAMS sets it */
    husk_dtype dtype;   /* HUSK_F32, HUSK_F16, HUSK_BF16 or, where the device has it, HUSK_F64 */
    uint64_t seed;      /* of parameters and of dropout */
    husk_queue *queue;  /* NULL: one of its own */
} husk_graph_params;

#define HUSK_GRAPH_PARAMS(...) HUSK_MAKE(husk_graph_params, __VA_ARGS__)

HUSK_API husk_status husk_graph_create(husk_context *context, const husk_graph_params *params, husk_graph **graph,
                                       husk_error *error);
HUSK_API void husk_graph_release(husk_graph *graph);
/* The first error in building, or the last one since it was compiled. Never NULL. */
HUSK_API const husk_error *husk_graph_error(const husk_graph *graph);
/* The queue that the graph's work goes to. */
HUSK_API husk_queue *husk_graph_queue(const husk_graph *graph);

/* A value from outside. dtype: the graph's, HUSK_F32 beside f16 and bf16, or HUSK_I32, HUSK_I64, HUSK_U8. */
HUSK_API husk_value husk_graph_input(husk_graph *graph, const char *name, husk_dtype dtype, int32_t rank,
                                     const int64_t *shape);
/* A value that is learnt. initializer: NULL for zeros. */
HUSK_API husk_value husk_graph_parameter(husk_graph *graph, const char *name, int32_t rank, const int64_t *shape,
                                         const husk_initializer *initializer);
/*
 * Numbers that training keeps without learning them: the running statistics of batch normalisation. count elements of
 * this value.
 */
HUSK_API husk_value husk_graph_statistic(husk_graph *graph, const char *name, int64_t count, float value);
/*
 * Parameters whose name is `name`, or begins with it and a dot, are learnt no more: they get no gradient, no optimizer
 * state, and stay as they are; so do statistics, which batch normalisation then uses in training, too. One at least
 * must be there.
 */
HUSK_API husk_status husk_graph_freeze(husk_graph *graph, const char *name);
/*
 * The value can be read by this name after every step and evaluation, since its memory is not used for others; of f16
 * and bf16 it is a copy in f32.
 */
HUSK_API void husk_graph_output(husk_graph *graph, const char *name, husk_value value);
/*
 * For graphs that are parts of a network, as the stages of a pipeline are. The gradient of the loss by an input of the
 * graph's dtype is computed, too, in the same shape; it can be read by `name` after backward, as an output can. With
 * `accumulate` it is that of the last batch, not a sum. The loss, or what husk_graph_output_gradient names, has to
 * depend on the input.
 */
HUSK_API void husk_graph_input_gradient(husk_graph *graph, const char *name, husk_value input);
/*
 * Likewise: the gradient by a result is given from outside. The value that comes back is an input called `name`, of the
 * result's shape, to be written before backward; it is added to what comes from the loss, if that depends on the
 * result, too. A graph with such a gradient needs no loss. The result's memory is not used for others, as an output's.
 */
HUSK_API husk_value husk_graph_output_gradient(husk_graph *graph, const char *name, husk_value result);
/* The rank; `shape` has as many numbers, or is NULL. -1 for HUSK_NO_VALUE and for what is no value of the graph. */
HUSK_API int32_t husk_graph_shape(const husk_graph *graph, husk_value value, int64_t shape[HUSK_MAX_RANK]);

/* ---- views ----------------------------------------------------------------------------------------------- */

/* As husk_tensor_reshape; one dimension may be -1. A value that is not packed is copied first. */
HUSK_API husk_value husk_graph_reshape(husk_graph *graph, const char *name, husk_value x, int32_t rank,
                                       const int64_t *shape);
/* As husk_tensor_permute, order[rank]. */
HUSK_API husk_value husk_graph_permute(husk_graph *graph, const char *name, husk_value x, const int32_t *order);
/* As husk_tensor_slice with a step of 1. */
HUSK_API husk_value husk_graph_slice(husk_graph *graph, const char *name, husk_value x, int32_t axis,
                                     int64_t first, int64_t count);
/* A packed copy. */
HUSK_API husk_value husk_graph_copy(husk_graph *graph, const char *name, husk_value x);
/*
 * A packed copy in the graph's dtype or, beside f16 and bf16, in HUSK_F32, rounded as husk_copy says. x: of these, or
 * integers (not to f64).
 */
HUSK_API husk_value husk_graph_cast(husk_graph *graph, const char *name, husk_value x, husk_dtype dtype);

/* ---- operators ------------------------------------------------------------------------------------------- */

/*
 * Where bias or another argument may be absent it is HUSK_NO_VALUE. params: NULL for the operator's defaults, where it
 * has them. An activation, given in params or as a call of its own, becomes part of conv and gemm where that is
 * possible: nothing else reads what is before it, and its gradient can be had from what is behind it.
 */

HUSK_API husk_value husk_graph_conv(husk_graph *graph, const char *name, const husk_conv_params *params, husk_value x,
                                    husk_value w, husk_value bias);
/* alpha op(a) op(b) + bias. bias: [n] or [m, 1]. */
HUSK_API husk_value husk_graph_gemm(husk_graph *graph, const char *name, const husk_gemm_params *params, float alpha,
                                    husk_value a, husk_value b, husk_value bias);
HUSK_API husk_value husk_graph_pool(husk_graph *graph, const char *name, const husk_pool_params *params, husk_value x);
HUSK_API husk_value husk_graph_activation(husk_graph *graph, const char *name, const husk_activation_params *params,
                                          husk_value x);
/* Comparisons have no gradient. */
HUSK_API husk_value husk_graph_binary(husk_graph *graph, const char *name, const husk_binary_params *params,
                                      husk_value a, husk_value b);
HUSK_API husk_value husk_graph_unary(husk_graph *graph, const char *name, const husk_unary_params *params,
                                     husk_value x);
HUSK_API husk_value husk_graph_softmax(husk_graph *graph, const char *name, const husk_softmax_params *params,
                                       husk_value x);
/* The reduced dimensions are left out of the result's shape. ARGMAX and ARGMIN give i32 and have no gradient. */
HUSK_API husk_value husk_graph_reduce(husk_graph *graph, const char *name, const husk_reduce_params *params,
                                      husk_value x);
HUSK_API husk_value husk_graph_concat(husk_graph *graph, const char *name, const husk_concat_params *params,
                                      const husk_value *inputs, size_t count);
/*
 * In training alone; in evaluation y = x. seed and offset are not looked at: the seed is the graph's, the offset counts
 * nodes and batches, so that each batch has masks of its own.
 */
HUSK_API husk_value husk_graph_dropout(husk_graph *graph, const char *name, const husk_dropout_params *params,
                                       husk_value x);
/*
 * target: labels, or of the graph's dtype; it gets no gradient, nor do the weights. Beside f16 and bf16 all of this is
 * computed in f32, and so is the result.
 */
HUSK_API husk_value husk_graph_loss(husk_graph *graph, const char *name, const husk_loss_params *params, husk_value x,
                                    husk_value target, husk_value weight, husk_value positive_weight);

/*
 * running_mean and running_variance: statistics of C elements each, for BATCH, which uses the batch's in training and
 * these in evaluation; elsewhere HUSK_NO_VALUE. params' training is not looked at.
 */
HUSK_API husk_value husk_graph_norm(husk_graph *graph, const char *name, const husk_norm_params *params, husk_value x,
                                    husk_value scale, husk_value bias, husk_value running_mean,
                                    husk_value running_variance);
HUSK_API husk_value husk_graph_embedding(husk_graph *graph, const char *name, const husk_embedding_params *params,
                                         husk_value table, husk_value indices);
/*
 * The result [batch, heads, queries, width] lies in memory as [batch, queries, heads, width], so that
 * husk_graph_permute by {0, 2, 1, 3} and husk_graph_reshape put the heads together without a copy. Dropout,
 * seed and offset as husk_graph_dropout says. The mask gets no gradient.
 */
HUSK_API husk_value husk_graph_attention(husk_graph *graph, const char *name, const husk_attention_params *params,
                                         husk_value q, husk_value k, husk_value v, husk_value mask);

typedef struct husk_rnn_values {
    uint32_t size;             /* sizeof this struct: HUSK_RNN_VALUES sets it */
    husk_value x;              /* [steps, batch, features] */
    husk_value lengths;        /* [batch] of i32, or HUSK_NO_VALUE, as h0 and c0 may be */
    husk_value h0, c0;
    const husk_value *weights; /* four a direction of a layer: input, hidden, input_bias, hidden_bias */
} husk_rnn_values;

#define HUSK_RNN_VALUES(...) HUSK_MAKE(husk_rnn_values, __VA_ARGS__)

/* y. h_n and c_n receive the last states; NULL where they are not wanted, and c_n only beside h_n. At most 8 layers. */
HUSK_API husk_value husk_graph_rnn(husk_graph *graph, const char *name, const husk_rnn_params *params,
                                   const husk_rnn_values *values, husk_value *h_n, husk_value *c_n);

HUSK_END_DECLS

#endif
