/* SPDX-License-Identifier: MIT */
/*
 * train/swept_graph.h: calls of graphs, of which every allocation and every OpenCL call fails once.
 */
#ifndef HUSK_TESTS_SWEPT_GRAPH_H
#define HUSK_TESTS_SWEPT_GRAPH_H

#include <husk/train.h>

#include "support/faults/swept.h"

/* One whose text is husk_graph_error's. */
#define SWEPT_GRAPH(call, graph, ...) (swept_call = #call, swept_of_graph(graph, call(graph, __VA_ARGS__)))
#define SWEPT_STEP(call, graph) (swept_call = #call, swept_of_graph(graph, call(graph)))
husk_status swept_of_graph(const husk_graph *graph, husk_status status);

#endif
