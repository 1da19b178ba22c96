// SPDX-License-Identifier: MIT
#include "train/schedule.h"

static husk_status run_reduce(husk_graph *graph, const husk__call *call)
{
    return husk_reduce(graph->queue, &call->params.reduce, husk__tensor_of(call, 0),
                       husk__tensor_of(call, 1));
}

static husk_status run_backward(husk_graph *graph, const husk__call *call)
{
    return husk_reduce_backward(graph->queue, &call->params.reduce, husk__tensor_of(call, 0),
                                husk__tensor_of(call, 1), husk__tensor_of(call, 2), husk__tensor_of(call, 3));
}

static husk_status forward(husk__schedule *schedule, husk__node *node)
{
    const husk__slot slots[] = {husk__slot_read(schedule, node->inputs[0]),
                                husk__slot_write(schedule, node->outputs[0], 0)};
    return husk__call_add(schedule, node, run_reduce, slots, 2) ? HUSK_OK
                                                                : husk__train_no_memory(&schedule->scope);
}

static husk_status backward(husk__schedule *schedule, husk__node *node)
{
    husk_reduce_kind reduce = node->params.reduce.kind;
    bool reads_x = reduce != HUSK_REDUCE_SUM && reduce != HUSK_REDUCE_MEAN;
    bool reads_y = reduce == HUSK_REDUCE_NORM || reduce == HUSK_REDUCE_LOG_SUM_EXP;
    husk__targets targets;
    husk_status status = husk__targets_begin(schedule, node, node->inputs, NULL, 1, 1, &targets);
    if (status)
        return status;
    const husk__slot slots[] = {reads_x ? husk__slot_read(schedule, node->inputs[0]) : husk__slot_none(),
                                reads_y ? husk__slot_read(schedule, node->outputs[0]) : husk__slot_none(),
                                husk__slot_gradient(schedule, node->outputs[0]), targets.slots[0]};
    husk__call *call = husk__call_add(schedule, node, run_backward, slots, 4);
    if (!call)
        return husk__train_no_memory(&schedule->scope);
    call->params.reduce.accumulate = targets.accumulate;
    call->params.reduce.variant = NULL;
    return husk__targets_settle(schedule, node, &targets);
}

static bool is_position(husk_reduce_kind reduce)
{
    return reduce == HUSK_REDUCE_ARGMAX || reduce == HUSK_REDUCE_ARGMIN;
}

static bool has_gradient(const husk__node *node, int32_t input)
{
    (void)input;
    return !is_position(node->params.reduce.kind);
}

static const husk__node_kind kind = {.name = "reduce",
                                     .forward = forward,
                                     .backward = backward,
                                     .has_gradient = has_gradient};

husk_value husk_graph_reduce(husk_graph *graph, const char *name, const husk_reduce_params *params,
                             husk_value x)
{
    husk__building building;
    husk_reduce_params own;
    husk_tensor xt;
    if (!husk__graph_begin(&building, graph, "husk_graph_reduce", "reduce", name, true) ||
        !husk__graph_params(&building, &own, sizeof own, "HUSK_REDUCE_PARAMS", params, "params") ||
        !husk__graph_number(&building, x, "x", &xt))
        return HUSK_NO_VALUE;
    if ((unsigned)own.kind > HUSK_REDUCE_LOG_SUM_EXP)
        return husk__graph_refuse(&building, HUSK_INVALID_ARGUMENT, "params", "kind %u does not exist",
                                  (unsigned)own.kind);
    if (own.axes >> xt.rank)
        return husk__graph_refuse(&building, HUSK_INVALID_ARGUMENT, "params",
                                  "axes 0x%x: x has %d dimensions", (unsigned)own.axes, (int)xt.rank);
    int64_t shape[HUSK_MAX_RANK];
    int32_t rank = 0;
    for (int32_t d = 0; d < xt.rank; d++)
        if (own.axes && !(own.axes >> (xt.rank - 1 - d) & 1))
            shape[rank++] = xt.shape[d];
    husk__node *node = husk__graph_node(&building, &kind, &x, 1);
    if (!node)
        return HUSK_NO_VALUE;
    own.size = sizeof own;
    own.accumulate = 0;
    node->params.reduce = own;
    return husk__graph_result(&building, building.name, is_position(own.kind) ? HUSK_I32 : building.dtype,
                              rank, shape);
}
