/* SPDX-License-Identifier: MIT */
/*
 * train/swept_networks.h: small networks that together have every kind of node.
 */
#ifndef HUSK_TESTS_SWEPT_NETWORKS_H
#define HUSK_TESTS_SWEPT_NETWORKS_H

#include <stdbool.h>

#include <husk/train.h>

typedef struct swept_input {
    const char *name;
    husk_dtype dtype;
    int32_t rank;
    int64_t shape[4];
    int32_t first, past; /* of integers */
} swept_input;

typedef struct swept_network {
    const char *name;
    swept_input inputs[5]; /* up to the one without a name */
    const char *outputs[5];
    /* The network on these inputs; the loss, or HUSK_NO_VALUE. */
    husk_value (*build)(husk_graph *graph, const husk_value *inputs);
    /* All batches of an update, up to the first failure. */
    husk_status (*train)(husk_graph *graph);
    husk_graph_options options;
    husk_loss_scale_params scale; /* of f16; size 0: the default */
} swept_network;

enum { SWEPT_NETWORKS = 4 };
extern const swept_network swept_networks[SWEPT_NETWORKS];

/* A graph with its inputs, nodes and outputs. NULL: it could not be created; else husk_graph_error says more. */
husk_graph *swept_build(const swept_network *network, husk_dtype dtype, husk_value *loss);
/* Writes every input, of each micro-batch. */
husk_status swept_write(const swept_network *network, husk_graph *graph);

#endif
