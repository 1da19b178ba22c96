/* SPDX-License-Identifier: MIT */
/*
 * train/graph/graph.h: values and nodes of a graph, and how the operators' files (train/nodes) add theirs.
 *
 * A value has memory of its own (a root), or is a view of a root's. A node reads values and makes roots. What a node
 * does in a step its kind says: kind->forward and kind->backward add calls to a schedule (train/graph/schedule.h).
 */
#ifndef HUSK_TRAIN_GRAPH_GRAPH_H
#define HUSK_TRAIN_GRAPH_GRAPH_H

#include <stdbool.h>
#include <stddef.h>

#include <husk/train/graph.h>
#include <husk/train/layers.h>
#include <husk/train/step.h>

#include "train/error.h"

#define HUSK__GRAPH_NAME 200
#define HUSK__NODE_OUTPUTS 4
#define HUSK__RNN_DIRECTIONS 16 /* layers times directions */

/* Of a convolution or a product of eight bits, train/nodes/quantized.c. */
typedef struct husk__quantized_params {
    husk_quantized_conv_params conv;
    husk_quantized_gemm_params gemm;
    bool transpose_b;
    husk_quantization x;
} husk__quantized_params;

typedef union husk__node_params {
    husk_conv_params conv;
    husk_gemm_params gemm;
    husk_pool_params pool;
    husk_activation_params activation;
    husk_binary_params binary;
    husk_unary_params unary;
    husk_softmax_params softmax;
    husk_reduce_params reduce;
    husk_concat_params concat;
    husk_dropout_params dropout;
    husk_loss_params loss;
    husk_norm_params norm;
    husk_embedding_params embedding;
    husk_rnn_params rnn;
    husk_attention_params attention;
    husk__quantized_params quantized;
} husk__node_params;

typedef struct husk__node husk__node;
typedef struct husk__schedule husk__schedule;

typedef struct husk__node_kind {
    const char *name; /* "conv" */
    bool takes_activation; /* an activation may be part of its call */
    bool is_activation;
    /* Add the calls of one direction. backward runs only where one of the outputs has a gradient. */
    husk_status (*forward)(husk__schedule *schedule, husk__node *node);
    husk_status (*backward)(husk__schedule *schedule, husk__node *node); /* NULL: no input has a gradient */
    /* Whether there is a gradient by this input; NULL: by all of them. */
    bool (*has_gradient)(const husk__node *node, int32_t input);
} husk__node_kind;

struct husk__node {
    const husk__node_kind *kind;
    char *name;
    husk__node_params params;
    float alpha; /* gemm */
    int32_t *inputs, input_count;
    int32_t outputs[HUSK__NODE_OUTPUTS], output_count; /* the first is the value that the call gave */
    int32_t takes[2]; /* by mode: the activation that is part of this node's call; 0: none */
    int32_t taken[2]; /* by mode: of such an activation, the node */
};

typedef enum husk__value_role {
    HUSK__ROLE_INPUT,
    HUSK__ROLE_PARAMETER,
    HUSK__ROLE_RESULT,
    HUSK__ROLE_INPUT_GRADIENT, /* what a wanted gradient by an input is read by */
    HUSK__ROLE_VIEW
} husk__value_role;

typedef struct husk__value {
    char *name; /* NULL for what only a gradient needs */
    husk__value_role role;
    husk_tensor tensor;  /* offset: within the root */
    int32_t root;        /* of a view; else itself */
    bool covers;         /* all of the root's elements */
    int32_t node;        /* of a RESULT */
    int32_t users;       /* of a root: inputs of nodes that read it or a view of it */
    bool is_output;      /* of a root: it can be read, so it stays */
    bool frozen, is_statistic;   /* of a PARAMETER */
    bool needs_gradient;         /* of a root, for the schedule that is being written */
    bool is_trained;             /* of a PARAMETER, after compiling: it is not frozen, and the loss depends on it */
    int32_t gradient; /* of an INPUT: its INPUT_GRADIENT; 0: it is not wanted */
    int32_t given;    /* of a result or a view of one: the input that its gradient comes from; 0: none */
    husk_initializer initializer;
    uint64_t offset;             /* of what is not in the arena: bytes from its region's start */
} husk__value;

typedef struct husk__output {
    char *name;
    int32_t value;
} husk__output;

struct husk_graph {
    husk_context *context;
    husk_queue *queue;
    bool owns_queue;
    husk_dtype dtype;
    uint64_t seed;
    husk_error error;
    husk_status failed; /* the first error in building */

    husk__value *values; /* 0 is nobody */
    int32_t value_count, value_capacity;
    husk__node *nodes; /* likewise */
    int32_t node_count, node_capacity;
    husk__output *outputs;
    int32_t output_count, output_capacity;
    int32_t unnamed; /* names that were made up */
    bool is_quantized; /* husk_graph_quantize */

    struct husk__compiled *compiled; /* train/graph/compiled.h */
};

/* "[3, 4]" */
const char *husk__graph_shape_text(const husk_tensor *tensor, char text[160]);
bool husk__same_shape(const husk_tensor *a, const husk_tensor *b);
bool husk__is_packed(const husk_tensor *tensor);

/* Whether there is a gradient to begin backward with beside the loss'. */
bool husk__graph_is_given(const husk_graph *graph);

/* By name: a root, a view or an output; 0: none. */
int32_t husk__graph_find(const husk_graph *graph, const char *name);

/*
 * f32 beside f16 and bf16: of parameters as they are learnt, their gradients, statistics, and losses; else the graph's
 * dtype.
 */
static inline husk_dtype husk__wide_dtype(const husk_graph *graph)
{
    return graph->dtype == HUSK_F64 ? HUSK_F64 : HUSK_F32;
}
static inline bool husk__is_mixed(const husk_graph *graph)
{
    return graph->dtype != husk__wide_dtype(graph);
}
/* A parameter that forward reads as a copy in the graph's dtype. */
static inline bool husk__has_copy(const husk_graph *graph, const husk__value *value)
{
    return value->role == HUSK__ROLE_PARAMETER && husk__is_mixed(graph) && value->tensor.dtype == graph->dtype;
}
/* What a parameter is kept in. */
static inline husk_dtype husk__parameter_dtype(const husk_graph *graph, const husk__value *value)
{
    return husk__has_copy(graph, value) ? husk__wide_dtype(graph) : value->tensor.dtype;
}

static inline husk__value *husk__root(const husk_graph *graph, int32_t value)
{
    return &graph->values[graph->values[value].root];
}

#endif
