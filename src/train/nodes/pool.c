// SPDX-License-Identifier: MIT
#include "train/graph/build.h"
#include "train/graph/schedule.h"

enum { Y, INDICES }; // outputs

static husk_status run_pool(husk_graph *graph, const husk__call *call)
{
    return husk_pool(graph->queue, &call->params.pool, husk__tensor_of(call, 0), husk__tensor_of(call, 1),
                     husk__tensor_of(call, 2));
}

static husk_status run_backward(husk_graph *graph, const husk__call *call)
{
    return husk_pool_backward(graph->queue, &call->params.pool, NULL, husk__tensor_of(call, 0),
                              husk__tensor_of(call, 1), husk__tensor_of(call, 2));
}

static husk_status forward(husk__schedule *schedule, husk__node *node)
{
    bool saves = node->params.pool.kind == HUSK_POOL_MAX && husk__saves(schedule, node);
    const husk__slot slots[] = {husk__slot_read(schedule, node->inputs[0]),
                                husk__slot_write(schedule, node->outputs[Y], 0),
                                saves ? husk__slot_write(schedule, node->outputs[INDICES], 0) : husk__slot_none()};
    return husk__call_add(schedule, node, run_pool, slots, 3) ? HUSK_OK : husk__train_no_memory(&schedule->scope);
}

static husk_status backward(husk__schedule *schedule, husk__node *node)
{
    bool is_max = node->params.pool.kind == HUSK_POOL_MAX;
    husk__targets targets;
    husk_status status = husk__targets_begin(schedule, node, node->inputs, NULL, 1, 0, &targets);
    if (status)
        return status;
    const husk__slot slots[] = {is_max ? husk__slot_read(schedule, node->outputs[INDICES]) : husk__slot_none(),
                                husk__slot_gradient(schedule, node->outputs[Y]), targets.slots[0]};
    husk__call *call = husk__call_add(schedule, node, run_backward, slots, 3);
    if (!call)
        return husk__train_no_memory(&schedule->scope);
    call->params.pool.accumulate = targets.accumulate;
    call->params.pool.variant = NULL;
    return husk__targets_settle(schedule, node, &targets);
}

static const husk__node_kind kind = {.name = "pool", .forward = forward, .backward = backward};

husk_value husk_graph_pool(husk_graph *graph, const char *name, const husk_pool_params *params, husk_value x)
{
    husk__building building;
    husk_pool_params own;
    husk_tensor xt;
    if (!husk__graph_begin(&building, graph, "husk_graph_pool", "pool", name, true) ||
        !husk__graph_params(&building, &own, sizeof own, "HUSK_POOL_PARAMS", params, "params") ||
        !husk__graph_number(&building, x, "x", &xt))
        return HUSK_NO_VALUE;
    own.size = sizeof own;
    own.accumulate = 0;
    int64_t shape[HUSK_MAX_RANK];
    husk_error error;
    husk_status status = husk_pool_output_shape(&own, &xt, shape, &error);
    if (status)
        return husk__graph_pass_on(&building, status, &error);
    husk__node *node = husk__graph_node(&building, &kind, &x, 1);
    if (!node)
        return HUSK_NO_VALUE;
    node->params.pool = own;
    husk_value y = husk__graph_result(&building, building.name, building.dtype, xt.rank, shape);
    if (y && own.kind == HUSK_POOL_MAX && !husk__graph_result(&building, NULL, HUSK_I32, xt.rank, shape))
        return HUSK_NO_VALUE;
    return y;
}
