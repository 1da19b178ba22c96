/* SPDX-License-Identifier: MIT */
/*
 * train/graph/build.h: how public calls add values and nodes to a graph.
 */
#ifndef HUSK_TRAIN_GRAPH_BUILD_H
#define HUSK_TRAIN_GRAPH_BUILD_H

#include "train/graph/graph.h"

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
/* A refusal with the text of another call's error, less that call's name. */
husk_value husk__graph_pass_on(husk__building *building, husk_status status, const husk_error *error);
/* The caller's params into own; false: refused. */
bool husk__graph_params(husk__building *building, void *own, size_t size, const char *made_by, const void *given,
                        const char *argument);

/* The tensor of an argument; false: refused, since it is no value of the graph. */
bool husk__graph_argument(husk__building *building, husk_value value, const char *argument, husk_tensor *tensor);
/* The same, with the graph's dtype or husk__wide_dtype, as the numbers given before. */
bool husk__graph_number(husk__building *building, husk_value value, const char *argument, husk_tensor *tensor);

/* A new node; NULL: refused. It reads these inputs, whose users are counted. It has no output yet. */
husk__node *husk__graph_node(husk__building *building, const husk__node_kind *kind, const husk_value *inputs,
                             int32_t count);
/*
 * One more output of the newest node, packed. With a name it is the value of the call; without, what only the gradient
 * needs.
 */
husk_value husk__graph_result(husk__building *building, const char *name, husk_dtype dtype, int32_t rank,
                              const int64_t *shape);
/* A view of value with this tensor. */
husk_value husk__graph_view(husk__building *building, husk_value of, const husk_tensor *tensor, bool covers);
/* A parameter "name.suffix" of a layer that is being made. */
husk_value husk__graph_own_parameter(husk__building *building, const char *suffix, int32_t rank, const int64_t *shape,
                                     const husk_initializer *initializer, husk_initializer standard);
husk_value husk__graph_own_statistic(husk__building *building, const char *suffix, int64_t count, float value);
/* The value can be read by this name. */
void husk__graph_name_output(husk__building *building, const char *name, husk_value value);

#endif
