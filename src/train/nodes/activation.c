// SPDX-License-Identifier: MIT
#include "train/nodes/activation.h"

static husk_status run_activation(husk_graph *graph, const husk__call *call)
{
    return husk_activation(graph->queue, &call->params.activation, husk__tensor_of(call, 0), husk__tensor_of(call, 1));
}

static husk_status run_backward(husk_graph *graph, const husk__call *call)
{
    return husk_activation_backward(graph->queue, &call->params.activation, husk__tensor_of(call, 0),
                                    husk__tensor_of(call, 1), husk__tensor_of(call, 2), husk__tensor_of(call, 3));
}

bool husk__activation_from_result(const husk_activation_params *params)
{
    switch (params->activation) {
    case HUSK_ACT_NONE:
    case HUSK_ACT_RELU:
    case HUSK_ACT_RELU6:
    case HUSK_ACT_SIGMOID:
    case HUSK_ACT_TANH:
        return true;
    case HUSK_ACT_LEAKY_RELU:
        return params->slope >= 0;
    default:
        return false;
    }
}

static husk_status forward(husk__schedule *schedule, husk__node *node)
{
    const husk__slot slots[] = {husk__slot_read(schedule, node->inputs[0]),
                                husk__slot_write(schedule, node->outputs[0], 1)};
    return husk__call_add(schedule, node, run_activation, slots, 2) ? HUSK_OK : husk__train_no_memory(&schedule->scope);
}

static husk_status backward(husk__schedule *schedule, husk__node *node)
{
    bool by_result = husk__activation_from_result(&node->params.activation);
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
    call->params.activation.accumulate = targets.accumulate;
    return husk__targets_settle(schedule, node, &targets);
}

// A convolution's gradients want that of what the activation read.
husk_status husk__activation_gradient(husk__schedule *schedule, const husk__node *node, husk__slot *dz)
{
    const husk__node *activation = husk__activation_of(schedule, node);
    *dz = husk__slot_gradient(schedule, husk__output_of(schedule, node));
    if (!activation)
        return HUSK_OK;
    int32_t y = activation->outputs[0];
    husk__slot inside = husk__slot_temporary(schedule, husk__value_tensor(schedule, y), 1u << 2);
    const husk__slot slots[] = {husk__slot_none(), husk__slot_read(schedule, y), *dz, inside};
    *dz = husk__slot_again(inside);
    return husk__call_add(schedule, activation, run_backward, slots, 4) ? HUSK_OK
                                                                        : husk__train_no_memory(&schedule->scope);
}

static const husk__node_kind kind = {
    .name = "activation", .is_activation = true, .forward = forward, .backward = backward};

static bool check(husk__building *building, const husk_activation_params *params)
{
    if ((unsigned)params->activation > HUSK_ACT_TANH)
        husk__graph_refuse(building, HUSK_INVALID_ARGUMENT, "params", "activation %u does not exist",
                           (unsigned)params->activation);
    return !building->graph->failed;
}

static husk_value add(husk__building *building, const husk_activation_params *params, husk_value x)
{
    husk_tensor tensor = building->graph->values[x].tensor;
    husk__node *node = husk__graph_node(building, &kind, &x, 1);
    if (!node)
        return HUSK_NO_VALUE;
    node->params.activation = *params;
    node->params.activation.accumulate = 0;
    return husk__graph_result(building, building->name, tensor.dtype, tensor.rank, tensor.shape);
}

husk_value husk_graph_activation(husk_graph *graph, const char *name, const husk_activation_params *params,
                                 husk_value x)
{
    husk__building building;
    husk_activation_params own;
    husk_tensor xt;
    if (!husk__graph_begin(&building, graph, "husk_graph_activation", "activation", name, true) ||
        !husk__graph_params(&building, &own, sizeof own, "HUSK_ACTIVATION_PARAMS", params, "params") ||
        !check(&building, &own) || !husk__graph_number(&building, x, "x", &xt))
        return HUSK_NO_VALUE;
    own.size = sizeof own;
    return add(&building, &own, x);
}

husk_value husk__graph_activated(husk__building *building, const husk_activation_params *params, husk_dtype dtype,
                                 int32_t rank, const int64_t *shape)
{
    if (!check(building, params))
        return HUSK_NO_VALUE;
    if (params->activation == HUSK_ACT_NONE)
        return husk__graph_result(building, building->name, dtype, rank, shape);
    husk_value before = husk__graph_result(building, NULL, dtype, rank, shape);
    return before ? add(building, params, before) : HUSK_NO_VALUE;
}
