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

    struct husk__compiled *compiled; /* train/step/compile.h */
};

/* ---- building: for the public calls ---------------------------------------------------------------------- */

/* What a public call keeps while it adds a node. */
typedef struct husk__building {
    husk_graph *graph;
    husk__train_scope scope;
    const char *name; /* the node's, once it is known: texts begin with it */
    bool has_dtype; /* a number was given; all of them are of this dtype, and so is what the node gives */
    husk_dtype dtype;
    bool is_inside;   /* of what is being made only a part, whose values have no name */
    char text[HUSK__GRAPH_NAME + 1];
} husk__building;

/*
 * Begin: false where the graph has failed or is compiled. kind gives a name where there is none, "kind_3"; `own`: the
 * name will be a value's, so it must be free.
 */
bool husk__graph_begin(husk__building *building, husk_graph *graph, const char *call, const char *kind,
                       const char *name, bool own);
/* The first error: "call: name: argument: rule". Gives HUSK_NO_VALUE. argument may be NULL. */
husk_value husk__graph_refuse(husk__building *building, husk_status status, const char *argument, const char *format,
                              ...) HUSK__TRAIN_PRINTF(4, 5);
/*
 * The dimension of x that the axis means (husk/tensor.h); false: refused, by the argument, the member of it ("axis ",
 * or "") and x's name.
 */
bool husk__graph_axis(husk__building *building, const char *argument, const char *member, int32_t axis,
                      const husk_tensor *x, const char *x_name, int32_t *dimension);
/* The same with the text of another call's error, less that call's name. */
husk_value husk__graph_pass_on(husk__building *building, husk_status status, const husk_error *error);
/* The caller's params into own; false: refused. */
bool husk__graph_params(husk__building *building, void *own, size_t size, const char *made_by,
                        const void *given, const char *argument);

/* The tensor of an argument; false: refused, since it is no value of the graph. */
bool husk__graph_argument(husk__building *building, husk_value value, const char *argument, husk_tensor *tensor);
/* The same, with the graph's dtype or husk__wide_dtype, as the numbers given before. */
bool husk__graph_number(husk__building *building, husk_value value, const char *argument, husk_tensor *tensor);
/* The same in the graph's dtype: a wider value is replaced by one that is cast to it. */
bool husk__graph_computed(husk__building *building, husk_value *value, const char *argument, husk_tensor *tensor);
/* The same for what may be absent: then the rank is -1. */
bool husk__graph_optional(husk__building *building, husk_value *value, const char *argument, husk_tensor *tensor);
/* The same in husk__wide_dtype; absent where it may be. */
bool husk__graph_wide(husk__building *building, husk_value *value, const char *argument, bool may_be_absent,
                      husk_tensor *tensor);
/* value in another dtype: that which was made before, or a new one. */
husk_value husk__graph_cast(husk__building *building, husk_value value, husk_dtype dtype);
husk_value husk__graph_cast_before(const husk_graph *graph, husk_value value, husk_dtype dtype);
/* "[3, 4]" */
const char *husk__graph_shape_text(const husk_tensor *tensor, char text[160]);
bool husk__same_shape(const husk_tensor *a, const husk_tensor *b);
bool husk__is_packed(const husk_tensor *tensor);

/* A new node; NULL: refused. It reads these inputs, whose users are counted. It has no output yet. */
husk__node *husk__graph_node(husk__building *building, const husk__node_kind *kind, const husk_value *inputs,
                             int32_t count);
/*
 * One more output of the newest node, packed. With a name it is the value of the call; without, what only the gradient
 * needs.
 */
husk_value husk__graph_result(husk__building *building, const char *name, husk_dtype dtype, int32_t rank,
                              const int64_t *shape);
/*
 * The output of the newest node, and with an activation another node that makes the value of it: what conv and gemm are
 * given as one is two, which compiling joins where it may.
 */
husk_value husk__graph_activated(husk__building *building, const husk_activation_params *params, husk_dtype dtype,
                                 int32_t rank, const int64_t *shape);
/* husk_graph_gemm, and what a linear layer does. */
husk_value husk__graph_gemm(husk__building *building, const husk_gemm_params *params, float alpha, husk_value a,
                            husk_value b, husk_value bias);
husk_value husk__graph_reshape(husk__building *building, husk_value x, int32_t rank, const int64_t *shape);
/* The shapes of a normalisation's scale and statistics for this x; false: refused. */
bool husk__norm_shapes(husk__building *building, const husk_norm_params *params, const husk_tensor *x,
                       husk_tensor *scale, husk_tensor *statistics);
/* Whether the gradient of an activation can be had from what it wrote. */
bool husk__activation_from_result(const husk_activation_params *params);
/* A view of value with this tensor. */
husk_value husk__graph_view(husk__building *building, husk_value of, const husk_tensor *tensor, bool covers);
/* A parameter "name.suffix" of a layer that is being made. */
husk_value husk__graph_own_parameter(husk__building *building, const char *suffix, int32_t rank, const int64_t *shape,
                                     const husk_initializer *initializer, husk_initializer standard);
husk_value husk__graph_own_statistic(husk__building *building, const char *suffix, int64_t count, float value);

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
