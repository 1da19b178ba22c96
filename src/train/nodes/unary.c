// SPDX-License-Identifier: MIT
#include "train/graph/build.h"
#include "train/graph/schedule.h"

static husk_status run_unary(husk_graph *graph, const husk__call *call)
{
    return husk_unary(graph->queue, &call->params.unary, husk__tensor_of(call, 0), husk__tensor_of(call, 1));
}

static husk_status run_backward(husk_graph *graph, const husk__call *call)
{
    return husk_unary_backward(graph->queue, &call->params.unary, husk__tensor_of(call, 0), husk__tensor_of(call, 1),
                               husk__tensor_of(call, 2), husk__tensor_of(call, 3));
}

static husk_status forward(husk__schedule *schedule, husk__node *node)
{
    const husk__slot slots[] = {husk__slot_read(schedule, node->inputs[0]),
                                husk__slot_write(schedule, node->outputs[0], 1)};
    return husk__call_add(schedule, node, run_unary, slots, 2) ? HUSK_OK : husk__train_no_memory(&schedule->scope);
}

// Those whose gradient is had from the result: then what was read may be gone.
static bool from_result(husk_unary_op op)
{
    switch (op) {
    case HUSK_UNARY_NEGATE:
    case HUSK_UNARY_SIGN:
    case HUSK_UNARY_FLOOR:
    case HUSK_UNARY_CEIL:
    case HUSK_UNARY_ROUND:
    case HUSK_UNARY_RECIPROCAL:
    case HUSK_UNARY_SQRT:
    case HUSK_UNARY_RSQRT:
    case HUSK_UNARY_EXP:
    case HUSK_UNARY_EXPM1:
        return true;
    default:
        return false;
    }
}

static husk_status backward(husk__schedule *schedule, husk__node *node)
{
    bool by_result = from_result(node->params.unary.op);
    husk__targets targets;
    husk_status status = husk__targets_begin(schedule, node, node->inputs, NULL, 1, 1u << 2, &targets);
    if (status)
        return status;
    const husk__slot slots[] = {by_result ? husk__slot_none() : husk__slot_read(schedule, node->inputs[0]),
                                by_result ? husk__slot_read(schedule, node->outputs[0]) : husk__slot_none(),
                                husk__slot_gradient(schedule, node->outputs[0]), targets.slots[0]};
    husk__call *call = husk__call_add(schedule, node, run_backward, slots, 4);
    if (!call)
        return husk__train_no_memory(&schedule->scope);
    call->params.unary.accumulate = targets.accumulate;
    call->params.unary.variant = NULL;
    return husk__targets_settle(schedule, node, &targets);
}

static const husk__node_kind kind = {.name = "unary", .forward = forward, .backward = backward};

husk_value husk_graph_unary(husk_graph *graph, const char *name, const husk_unary_params *params, husk_value x)
{
    husk__building building;
    husk_unary_params own;
    husk_tensor xt;
    if (!husk__graph_begin(&building, graph, "husk_graph_unary", "unary", name, true) ||
        !husk__graph_params(&building, &own, sizeof own, "HUSK_UNARY_PARAMS", params, "params") ||
        !husk__graph_number(&building, x, "x", &xt))
        return HUSK_NO_VALUE;
    if ((unsigned)own.op > HUSK_UNARY_POWER)
        return husk__graph_refuse(&building, HUSK_INVALID_ARGUMENT, "params", "op %u does not exist", (unsigned)own.op);
    husk__node *node = husk__graph_node(&building, &kind, &x, 1);
    if (!node)
        return HUSK_NO_VALUE;
    own.size = sizeof own;
    own.accumulate = 0;
    node->params.unary = own;
    return husk__graph_result(&building, building.name, building.dtype, xt.rank, xt.shape);
}
