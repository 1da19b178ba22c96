// SPDX-License-Identifier: MIT
#include <stdio.h>

#include "train/graph/build.h"
#include "train/graph/schedule.h"

static husk_status run_reduce(husk_graph *graph, const husk__call *call)
{
    return husk_reduce(graph->queue, &call->params.reduce, husk__tensor_of(call, 0), husk__tensor_of(call, 1));
}

static husk_status run_backward(husk_graph *graph, const husk__call *call)
{
    return husk_reduce_backward(graph->queue, &call->params.reduce, husk__tensor_of(call, 0), husk__tensor_of(call, 1),
                                husk__tensor_of(call, 2), husk__tensor_of(call, 3));
}

static husk_status forward(husk__schedule *schedule, husk__node *node)
{
    const husk__slot slots[] = {husk__slot_read(schedule, node->inputs[0]),
                                husk__slot_write(schedule, node->outputs[0], 0)};
    return husk__call_add(schedule, node, run_reduce, slots, 2) ? HUSK_OK : husk__train_no_memory(&schedule->scope);
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

static const husk__node_kind kind = {
    .name = "reduce", .forward = forward, .backward = backward, .has_gradient = has_gradient};

// Which dimensions are reduced; refused as the operator does.
static bool find_axes(husk__building *building, const husk_reduce_params *own, const husk_tensor *x,
                      bool is_reduced[HUSK_MAX_RANK])
{
    char member[32];
    if (own->axis_count < 0 || own->axis_count > HUSK_MAX_RANK)
        husk__graph_refuse(building, HUSK_INVALID_ARGUMENT, "params", "axis_count is %d, must be 0 to %d",
                           (int)own->axis_count, HUSK_MAX_RANK);
    for (int32_t d = 0; d < HUSK_MAX_RANK; d++)
        is_reduced[d] = own->axis_count == 0;
    for (int32_t i = 0, dimension; i < HUSK_MAX_RANK && !building->graph->failed; i++) {
        snprintf(member, sizeof member, "axes[%d] ", (int)i);
        if (i >= own->axis_count && own->axes[i])
            husk__graph_refuse(building, HUSK_INVALID_ARGUMENT, "params", "%sis %d, but axis_count is %d", member,
                               (int)own->axes[i], (int)own->axis_count);
        if (i >= own->axis_count || !husk__graph_axis(building, "params", member, own->axes[i], x, "x", &dimension))
            continue;
        if (is_reduced[dimension])
            husk__graph_refuse(building, HUSK_INVALID_ARGUMENT, "params", "%sis %d, a dimension that is named already",
                               member, (int)own->axes[i]);
        is_reduced[dimension] = true;
    }
    return !building->graph->failed;
}

husk_value husk_graph_reduce(husk_graph *graph, const char *name, const husk_reduce_params *params, husk_value x)
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
    bool is_reduced[HUSK_MAX_RANK];
    if (!find_axes(&building, &own, &xt, is_reduced))
        return HUSK_NO_VALUE;
    int64_t shape[HUSK_MAX_RANK];
    int32_t rank = 0;
    for (int32_t d = 0; d < xt.rank; d++)
        if (!is_reduced[d])
            shape[rank++] = xt.shape[d];
    husk__node *node = husk__graph_node(&building, &kind, &x, 1);
    if (!node)
        return HUSK_NO_VALUE;
    own.size = sizeof own;
    own.accumulate = 0;
    node->params.reduce = own;
    return husk__graph_result(&building, building.name, is_position(own.kind) ? HUSK_I32 : building.dtype, rank, shape);
}
