/* SPDX-License-Identifier: MIT */
/*
 * husk/train/layers.h: operators together with the parameters that they are used with.
 *
 * A layer called "conv1" makes the parameters "conv1.weight" and "conv1.bias"; its value is "conv1". Names are
 * PyTorch's where it has the layer. Zeros mean defaults throughout; initialisers are NULL for the default, which is
 * HE_NORMAL for weights of convolutions and linear layers, and zeros for biases.
 */
#ifndef HUSK_TRAIN_LAYERS_H
#define HUSK_TRAIN_LAYERS_H

#include <husk/train/graph.h>

HUSK_BEGIN_DECLS

typedef struct husk_conv_layer {
    uint32_t size;                   /* sizeof this struct: HUSK_CONV_LAYER sets it */
    int64_t filters;                 /* the result's channels; required */
    int64_t window[HUSK_MAX_SPACE];  /* the filters' extents, one a space dimension; required */
    const husk_conv_params *params;  /* activation, stride, pad, dilation, groups; NULL for the defaults */
    uint32_t no_bias;                /* not 0: without "NAME.bias" */
    const husk_initializer *weight, *bias;
} husk_conv_layer;

#define HUSK_CONV_LAYER(...) HUSK_MAKE(husk_conv_layer, __VA_ARGS__)

/* x [N, C, space...]; weight [filters, C / groups, window...], bias [filters]. */
HUSK_API husk_value husk_graph_conv_layer(husk_graph *graph, const char *name, const husk_conv_layer *layer,
                                          husk_value x);

typedef struct husk_linear_layer {
    uint32_t size;          /* sizeof this struct: HUSK_LINEAR_LAYER sets it */
    int64_t outputs;        /* required */
    husk_act activation;
    float activation_slope;
    uint32_t no_bias;
    const husk_initializer *weight, *bias;
} husk_linear_layer;

#define HUSK_LINEAR_LAYER(...) HUSK_MAKE(husk_linear_layer, __VA_ARGS__)

/* y = activation(x weight^T + bias). x [..., inputs], y [..., outputs]; weight [outputs, inputs], bias [outputs]. */
HUSK_API husk_value husk_graph_linear(husk_graph *graph, const char *name, const husk_linear_layer *layer,
                                      husk_value x);

typedef struct husk_norm_layer {
    uint32_t size;                  /* sizeof this struct: HUSK_NORM_LAYER sets it */
    const husk_norm_params *params; /* the kind and the rest; NULL: LAYER */
    uint32_t no_scale, no_bias;     /* not 0: without "NAME.weight", "NAME.bias"; RMS has no bias anyway */
} husk_norm_layer;

#define HUSK_NORM_LAYER(...) HUSK_MAKE(husk_norm_layer, __VA_ARGS__)

/* weight of ones, bias of zeros; BATCH has the statistics "NAME.running_mean" of zeros, "NAME.running_var" of ones. */
HUSK_API husk_value husk_graph_norm_layer(husk_graph *graph, const char *name, const husk_norm_layer *layer,
                                          husk_value x);

typedef struct husk_embedding_layer {
    uint32_t size;                       /* sizeof this struct: HUSK_EMBEDDING_LAYER sets it */
    int64_t rows, columns;               /* required */
    const husk_embedding_params *params; /* NULL for the defaults */
    const husk_initializer *weight;      /* NULL: NORMAL of deviation 1 */
} husk_embedding_layer;

#define HUSK_EMBEDDING_LAYER(...) HUSK_MAKE(husk_embedding_layer, __VA_ARGS__)

/* weight [rows, columns]. */
HUSK_API husk_value husk_graph_embedding_layer(husk_graph *graph, const char *name, const husk_embedding_layer *layer,
                                               husk_value indices);

typedef struct husk_rnn_layer {
    uint32_t size;                  /* sizeof this struct: HUSK_RNN_LAYER sets it */
    const husk_rnn_params *params;  /* cell, hidden_size, layers, bidirectional; required */
    uint32_t no_bias;
    const husk_initializer *weight, *bias; /* NULL: UNIFORM, spread 1 / sqrt hidden_size, as PyTorch */
} husk_rnn_layer;

#define HUSK_RNN_LAYER(...) HUSK_MAKE(husk_rnn_layer, __VA_ARGS__)

/*
 * weight_ih_l0, weight_hh_l0, bias_ih_l0, bias_hh_l0, with the layer's number, and with _reverse behind it for the
 * other direction. The initial states are zeros; h_n and c_n as husk_graph_rnn.
 */
HUSK_API husk_value husk_graph_rnn_layer(husk_graph *graph, const char *name, const husk_rnn_layer *layer,
                                         husk_value x, husk_value lengths, husk_value *h_n, husk_value *c_n);

HUSK_END_DECLS

#endif
