// SPDX-License-Identifier: MIT
#include "train/nodes/dropout.h"

#include "train/graph/build.h"
#include "train/graph/compiled.h"

uint64_t husk__dropout_offset(const husk_graph *graph, int32_t node)
{
    return graph->compiled->batch << 20 | (uint64_t)node;
}

static husk_dropout_params now(const husk_graph *graph, const husk__call *call)
{
    husk_dropout_params params = call->params.dropout;
    params.seed = graph->seed;
    params.offset = husk__dropout_offset(graph, call->node);
    return params;
}

static husk_status run_dropout(husk_graph *graph, const husk__call *call)
{
    husk_dropout_params params = now(graph, call);
    return husk_dropout(graph->queue, &params, husk__tensor_of(call, 0), husk__tensor_of(call, 1));
}

static husk_status run_backward(husk_graph *graph, const husk__call *call)
{
    husk_dropout_params params = now(graph, call);
    return husk_dropout_backward(graph->queue, &params, husk__tensor_of(call, 0), husk__tensor_of(call, 1));
}

static husk_status forward(husk__schedule *schedule, husk__node *node)
{
    husk__slot x = husk__slot_read(schedule, node->inputs[0]);
    if (!husk__is_training(schedule))
        return husk__add_copy(schedule, node, x, husk__slot_write(schedule, node->outputs[0], 1));
    const husk__slot slots[] = {x, husk__slot_write(schedule, node->outputs[0], 1)};
    return husk__call_add(schedule, node, run_dropout, slots, 2) ? HUSK_OK : husk__train_no_memory(&schedule->scope);
}

static husk_status backward(husk__schedule *schedule, husk__node *node)
{
    husk__targets targets;
    husk_status status = husk__targets_begin(schedule, node, node->inputs, NULL, 1, 1, &targets);
    if (status)
        return status;
    const husk__slot slots[] = {husk__slot_gradient(schedule, node->outputs[0]), targets.slots[0]};
    husk__call *call = husk__call_add(schedule, node, run_backward, slots, 2);
    if (!call)
        return husk__train_no_memory(&schedule->scope);
    call->params.dropout.accumulate = targets.accumulate;
    call->params.dropout.variant = NULL;
    return husk__targets_settle(schedule, node, &targets);
}

static const husk__node_kind kind = {.name = "dropout", .forward = forward, .backward = backward};

husk_value husk_graph_dropout(husk_graph *graph, const char *name, const husk_dropout_params *params, husk_value x)
{
    husk__building building;
    husk_dropout_params own;
    husk_tensor xt;
    if (!husk__graph_begin(&building, graph, "husk_graph_dropout", "dropout", name, true) ||
        !husk__graph_params(&building, &own, sizeof own, "HUSK_DROPOUT_PARAMS", params, "params") ||
        !husk__graph_number(&building, x, "x", &xt))
        return HUSK_NO_VALUE;
    if (!(own.p >= 0 && own.p <= 1))
        return husk__graph_refuse(&building, HUSK_INVALID_ARGUMENT, "params", "p is %g; it has to be from 0 to 1",
                                  (double)own.p);
    husk__node *node = husk__graph_node(&building, &kind, &x, 1);
    if (!node)
        return HUSK_NO_VALUE;
    own.size = sizeof own;
    own.accumulate = 0;
    node->params.dropout = own;
    return husk__graph_result(&building, building.name, building.dtype, xt.rank, xt.shape);
}
