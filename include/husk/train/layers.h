/* SPDX-License-Identifier: MIT */
/** @file
 * Operators together with their parameters.
 *
 * A layer called "conv1" makes the parameters "conv1.weight" and "conv1.bias"; its value is "conv1". The names are
 * PyTorch's if it has the layer.
 *
 * Zeros mean defaults for every member. An initializer of NULL means the default: HE_NORMAL for weights of convolutions
 * and linear layers, zeros for biases.
 */
#ifndef HUSK_TRAIN_LAYERS_H
#define HUSK_TRAIN_LAYERS_H

#include <husk/train/graph.h>

HUSK_BEGIN_DECLS

/** A convolution layer. */
typedef struct husk_conv_layer {
    uint32_t size;                   /**< sizeof this struct; HUSK_CONV_LAYER() sets it. */
    int64_t filters;                 /**< The result's channels; required. */
    int64_t window[HUSK_MAX_SPACE];  /**< The filters' extents, one for each space dimension; required. */
    const husk_conv_params *params;  /**< Activation, stride, pad, dilation, groups; NULL for the defaults. */
    uint32_t no_bias;                /**< Not 0: there is no "NAME.bias". */
    const husk_initializer *weight,  /**< NULL: HE_NORMAL. */
        *bias;                       /**< NULL: zeros. */
} husk_conv_layer;

/** Makes a husk_conv_layer; see husk/export.h. */
#define HUSK_CONV_LAYER(...) HUSK_MAKE(husk_conv_layer, __VA_ARGS__)

/** A convolution of x [N, C, space...]. weight is [filters, C / groups, window...], bias is [filters]. */
HUSK_API husk_value husk_graph_conv_layer(husk_graph *graph, const char *name, const husk_conv_layer *layer,
                                          husk_value x);

/** A linear layer. */
typedef struct husk_linear_layer {
    uint32_t size;          /**< sizeof this struct; HUSK_LINEAR_LAYER() sets it. */
    int64_t outputs;        /**< Required. */
    husk_act activation;
    float activation_slope; /**< LEAKY_RELU only, as in husk_activation_params. */
    uint32_t no_bias;       /**< Not 0: there is no "NAME.bias". */
    const husk_initializer *weight, /**< NULL: HE_NORMAL. */
        *bias;                      /**< NULL: zeros. */
} husk_linear_layer;

/** Makes a husk_linear_layer; see husk/export.h. */
#define HUSK_LINEAR_LAYER(...) HUSK_MAKE(husk_linear_layer, __VA_ARGS__)

/**
 * y = activation(x weight^T + bias). x is [..., inputs], y is [..., outputs], weight is [outputs, inputs], bias is
 * [outputs].
 */
HUSK_API husk_value husk_graph_linear(husk_graph *graph, const char *name, const husk_linear_layer *layer,
                                      husk_value x);

/** A normalisation layer. */
typedef struct husk_norm_layer {
    uint32_t size;                  /**< sizeof this struct; HUSK_NORM_LAYER() sets it. */
    const husk_norm_params *params; /**< The kind and the rest; NULL: LAYER. */
    uint32_t no_scale,              /**< Not 0: there is no "NAME.weight". */
        no_bias;                    /**< Not 0: there is no "NAME.bias". RMS never has one. */
} husk_norm_layer;

/** Makes a husk_norm_layer; see husk/export.h. */
#define HUSK_NORM_LAYER(...) HUSK_MAKE(husk_norm_layer, __VA_ARGS__)

/**
 * Normalisation, with a weight of ones and a bias of zeros. BATCH has the statistics "NAME.running_mean" of zeros and
 * "NAME.running_var" of ones.
 */
HUSK_API husk_value husk_graph_norm_layer(husk_graph *graph, const char *name, const husk_norm_layer *layer,
                                          husk_value x);

/** An embedding layer. */
typedef struct husk_embedding_layer {
    uint32_t size;                       /**< sizeof this struct; HUSK_EMBEDDING_LAYER() sets it. */
    int64_t rows,                        /**< Required. */
        columns;                         /**< Required. */
    const husk_embedding_params *params; /**< NULL for the defaults. */
    const husk_initializer *weight;      /**< NULL: NORMAL with a deviation of 1. */
} husk_embedding_layer;

/** Makes a husk_embedding_layer; see husk/export.h. */
#define HUSK_EMBEDDING_LAYER(...) HUSK_MAKE(husk_embedding_layer, __VA_ARGS__)

/** Embedding. weight is [rows, columns]. */
HUSK_API husk_value husk_graph_embedding_layer(husk_graph *graph, const char *name, const husk_embedding_layer *layer,
                                               husk_value indices);

/** Recurrent layers. */
typedef struct husk_rnn_layer {
    uint32_t size;                  /**< sizeof this struct; HUSK_RNN_LAYER() sets it. */
    const husk_rnn_params *params;  /**< cell, hidden_size, layers, bidirectional; required. */
    uint32_t no_bias;               /**< Not 0: there are no biases. */
    const husk_initializer *weight, /**< NULL: UNIFORM with the spread 1 / sqrt hidden_size, as in PyTorch. */
        *bias;                      /**< NULL: the same. */
} husk_rnn_layer;

/** Makes a husk_rnn_layer; see husk/export.h. */
#define HUSK_RNN_LAYER(...) HUSK_MAKE(husk_rnn_layer, __VA_ARGS__)

/**
 * Recurrent layers. The parameters are weight_ih_l0, weight_hh_l0, bias_ih_l0 and bias_hh_l0, with the number of the
 * layer; the other direction's have _reverse at their end. The initial states are zeros. h_n and c_n are as for
 * husk_graph_rnn().
 */
HUSK_API husk_value husk_graph_rnn_layer(husk_graph *graph, const char *name, const husk_rnn_layer *layer, husk_value x,
                                         husk_value lengths, husk_value *h_n, husk_value *c_n);

HUSK_END_DECLS

#endif
