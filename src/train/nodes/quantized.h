/* SPDX-License-Identifier: MIT */
/*
 * train/nodes/quantized.h: convolutions and products of eight bits.
 */
#ifndef HUSK_TRAIN_NODES_QUANTIZED_H
#define HUSK_TRAIN_NODES_QUANTIZED_H

#include "train/graph/graph.h"

/*
 * Convolutions and products whose weights can have eight bits: f32, weights that are a parameter of nobody else's, and
 * of a product two dimensions, alpha of 1 and a bias by columns.
 */
bool husk__can_quantize(const husk_graph *graph, const husk__node *node);
/* Of such a node: its weights, and in which of their dimensions the outputs lie. */
int32_t husk__quantizable_weights(const husk__node *node, int32_t *axis);

/* Beside a parameter NAME of eight bits, "NAME_scale"; beside its node NODE, "NODE.input_scale", "NODE.input_zero". */
typedef struct husk__quantized_names {
    char weight_scale[HUSK__GRAPH_NAME + 16], input_scale[HUSK__GRAPH_NAME + 16], input_zero[HUSK__GRAPH_NAME + 16];
} husk__quantized_names;
void husk__quantized_names_make(husk__quantized_names *names, const husk_graph *graph, const husk__node *node);

/*
 * Whether host, the bytes of a parameter, is another input_scale or input_zero than the graph was quantized with, which
 * its products keep; then what they keep and what host has. host NULL: whether the parameter is one of these.
 */
bool husk__quantized_differs(const husk_graph *graph, int32_t parameter, const void *host, double *kept, double *given);

extern const husk__node_kind husk__quantized_conv_kind, husk__quantized_gemm_kind;

#endif
