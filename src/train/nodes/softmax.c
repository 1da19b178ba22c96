// SPDX-License-Identifier: MIT
#include "train/graph/build.h"
#include "train/graph/schedule.h"

static husk_status run_softmax(husk_graph *graph, const husk__call *call)
{
    return husk_softmax(graph->queue, &call->params.softmax, husk__tensor_of(call, 0), husk__tensor_of(call, 1));
}

static husk_status run_backward(husk_graph *graph, const husk__call *call)
{
    return husk_softmax_backward(graph->queue, &call->params.softmax, husk__tensor_of(call, 0),
                                 husk__tensor_of(call, 1), husk__tensor_of(call, 2));
}

static husk_status forward(husk__schedule *schedule, husk__node *node)
{
    const husk__slot slots[] = {husk__slot_read(schedule, node->inputs[0]),
                                husk__slot_write(schedule, node->outputs[0], 1)};
    return husk__call_add(schedule, node, run_softmax, slots, 2) ? HUSK_OK : husk__train_no_memory(&schedule->scope);
}

static husk_status backward(husk__schedule *schedule, husk__node *node)
{
    husk__targets targets;
    husk_status status = husk__targets_begin(schedule, node, node->inputs, NULL, 1, 1u << 1, &targets);
    if (status)
        return status;
    const husk__slot slots[] = {husk__slot_read(schedule, node->outputs[0]),
                                husk__slot_gradient(schedule, node->outputs[0]), targets.slots[0]};
    husk__call *call = husk__call_add(schedule, node, run_backward, slots, 3);
    if (!call)
        return husk__train_no_memory(&schedule->scope);
    call->params.softmax.accumulate = targets.accumulate;
    call->params.softmax.variant = NULL;
    return husk__targets_settle(schedule, node, &targets);
}

static const husk__node_kind kind = {.name = "softmax", .forward = forward, .backward = backward};

husk_value husk_graph_softmax(husk_graph *graph, const char *name, const husk_softmax_params *params, husk_value x)
{
    const husk_softmax_params defaults = husk_softmax_defaults();
    husk__building building;
    husk_softmax_params own;
    husk_tensor xt;
    if (!husk__graph_begin(&building, graph, "husk_graph_softmax", "softmax", name, true) ||
        !husk__graph_params(&building, &own, sizeof own, "husk_softmax_defaults", params ? params : &defaults,
                            "params") ||
        !husk__graph_number(&building, x, "x", &xt))
        return HUSK_NO_VALUE;
    if (!husk__graph_axis(&building, "params", "axis ", own.axis, &xt, "x", &own.axis))
        return HUSK_NO_VALUE;
    husk__node *node = husk__graph_node(&building, &kind, &x, 1);
    if (!node)
        return HUSK_NO_VALUE;
    own.size = sizeof own;
    own.accumulate = 0;
    node->params.softmax = own;
    return husk__graph_result(&building, building.name, building.dtype, xt.rank, xt.shape);
}
