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

#define HUSK_CONV_LAYER(...) (husk_conv_layer) { .size = sizeof(husk_conv_layer), __VA_ARGS__ }

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

#define HUSK_LINEAR_LAYER(...) (husk_linear_layer) { .size = sizeof(husk_linear_layer), __VA_ARGS__ }

/* y = activation(x weight^T + bias). x [..., inputs], y [..., outputs]; weight [outputs, inputs], bias [outputs]. */
HUSK_API husk_value husk_graph_linear(husk_graph *graph, const char *name, const husk_linear_layer *layer,
                                      husk_value x);

HUSK_END_DECLS

#endif
