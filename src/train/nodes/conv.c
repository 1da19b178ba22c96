// SPDX-License-Identifier: MIT
#include "train/check/conv.h"
#include "train/nodes/activation.h"
#include "train/nodes/copy.h"

enum { X, W, BIAS, Y };

static husk_status run_conv(husk_graph *graph, const husk__call *call)
{
    return husk_conv_plan_run(call->plan, graph->queue, husk__tensor_of(call, X), husk__tensor_of(call, W),
                              husk__tensor_of(call, BIAS), husk__tensor_of(call, Y));
}

static husk_status plan_conv(husk_graph *graph, husk__call *call, husk_error *error)
{
    return husk_conv_plan_create(graph->context, &call->params.conv, husk__tensor_of(call, X), husk__tensor_of(call, W),
                                 husk__tensor_of(call, BIAS), husk__tensor_of(call, Y), &call->plan, error);
}

static husk_status forward(husk__schedule *schedule, husk__node *node)
{
    const husk__slot slots[] = {husk__slot_read(schedule, node->inputs[X]), husk__slot_read(schedule, node->inputs[W]),
                                husk__slot_read(schedule, node->inputs[BIAS]),
                                husk__slot_write(schedule, husk__output_of(schedule, node), 0)};
    husk__call *call = husk__call_add(schedule, node, run_conv, slots, 4);
    if (!call)
        return husk__train_no_memory(&schedule->scope);
    call->plan_create = plan_conv;
    call->verifier = &husk__verify_conv;
    const husk__node *activation = husk__activation_of(schedule, node);
    if (activation) {
        call->params.conv.activation = activation->params.activation.activation;
        call->params.conv.activation_slope = activation->params.activation.slope;
    }
    return HUSK_OK;
}

// ---- gradients ----

static husk_status run_backward_data(husk_graph *graph, const husk__call *call)
{
    return husk_conv_backward_data(graph->queue, &call->params.conv, husk__tensor_of(call, 0), husk__tensor_of(call, 1),
                                   husk__tensor_of(call, 2));
}

static husk_status run_backward_weights(husk_graph *graph, const husk__call *call)
{
    return husk_conv_backward_weights(graph->queue, &call->params.conv, husk__tensor_of(call, 0),
                                      husk__tensor_of(call, 1), husk__tensor_of(call, 2), husk__tensor_of(call, 3));
}

// These calls have no plans to ask, so their scratch gets a limit: twice the tensors, in f32, in which f16 and bf16 are
// computed, and twice the largest of them, which may be filters that two plans inside pack; or 8 MiB.
static void limit_workspace(husk__call *call)
{
    uint64_t bytes = 0, largest = 0;
    for (int32_t i = 0; i < call->slot_count; i++) {
        const husk_tensor *tensor = &call->slots[i].tensor;
        if (call->slots[i].storage < 0)
            continue;
        const uint64_t size = husk_dtype_size(tensor->dtype), extent = (uint64_t)husk_tensor_extent(tensor);
        const uint64_t computed = size < sizeof(float) ? extent / size * sizeof(float) : extent;
        bytes += 2 * computed;
        largest = computed > largest ? computed : largest;
    }
    bytes += 2 * largest;
    if (bytes < (uint64_t)8 << 20)
        bytes = (uint64_t)8 << 20;
    if (call->params.conv.workspace_limit == 0)
        call->params.conv.workspace_limit = bytes;
    call->workspace = call->params.conv.workspace_limit;
}

static husk_status backward_weights(husk__schedule *schedule, husk__node *node, husk__slot dy)
{
    husk__targets targets;
    husk_status status = husk__targets_begin(
        schedule, node, (const int32_t[]){node->inputs[W], node->inputs[BIAS]},
        (const uint8_t[]){HUSK_ACCUMULATE_PARAMETERS | HUSK__WIDE, HUSK_ACCUMULATE_PARAMETERS | HUSK__WIDE}, 2, 0,
        &targets);
    if (!status && targets.any) {
        husk__call *call = husk__call_add(
            schedule, node, run_backward_weights,
            (husk__slot[]){husk__slot_read(schedule, node->inputs[X]), dy, targets.slots[0], targets.slots[1]}, 4);
        if (!call)
            status = husk__train_no_memory(&schedule->scope);
        else {
            call->params.conv.accumulate = targets.accumulate;
            call->params.conv.variant = NULL; // forward's
            limit_workspace(call);
            call->verifier = &husk__verify_conv_backward_weights;
        }
    }
    return status ? status : husk__targets_settle(schedule, node, &targets);
}

static husk_status backward_data(husk__schedule *schedule, husk__node *node, husk__slot dy)
{
    husk__targets targets;
    husk_status status = husk__targets_begin(schedule, node, &node->inputs[X], NULL, 1, 0, &targets);
    if (!status && targets.any) {
        husk__call *call =
            husk__call_add(schedule, node, run_backward_data,
                           (husk__slot[]){husk__slot_read(schedule, node->inputs[W]), dy, targets.slots[0]}, 3);
        if (!call)
            status = husk__train_no_memory(&schedule->scope);
        else {
            call->params.conv.accumulate = targets.accumulate;
            call->params.conv.variant = NULL; // forward's
            limit_workspace(call);
            call->verifier = &husk__verify_conv_backward_data;
        }
    }
    return status ? status : husk__targets_settle(schedule, node, &targets);
}

static husk_status backward(husk__schedule *schedule, husk__node *node)
{
    husk__slot dy;
    husk_status status = husk__activation_gradient(schedule, node, &dy);
    if (!status)
        status = backward_weights(schedule, node, dy);
    return status ? status : backward_data(schedule, node, dy);
}

static const husk__node_kind kind = {
    .name = "conv", .takes_activation = true, .forward = forward, .backward = backward};

// ---- building ----

static bool check_bias(husk__building *building, husk_value *bias, int64_t filters)
{
    husk_tensor tensor;
    char text[160];
    if (!husk__graph_optional(building, bias, "bias", &tensor))
        return false;
    if (tensor.rank < 0 || (tensor.rank == 1 && tensor.shape[0] == filters))
        return true;
    husk__graph_refuse(building, HUSK_INVALID_ARGUMENT, "bias", "its shape is %s; [%lld] is wanted, w's filters",
                       husk__graph_shape_text(&tensor, text), (long long)filters);
    return false;
}

husk_value husk_graph_conv(husk_graph *graph, const char *name, const husk_conv_params *params, husk_value x,
                           husk_value w, husk_value bias)
{
    husk__building building;
    husk_conv_params own;
    husk_tensor xt, wt;
    if (!husk__graph_begin(&building, graph, "husk_graph_conv", "conv", name, true) ||
        !husk__graph_params(&building, &own, sizeof own, "HUSK_CONV_PARAMS", params, "params") ||
        !husk__graph_computed(&building, &x, "x", &xt) || !husk__graph_computed(&building, &w, "w", &wt))
        return HUSK_NO_VALUE;
    own.size = sizeof own;
    int64_t shape[HUSK_MAX_RANK];
    husk_error error;
    husk_status status = husk_conv_output_shape(&own, &xt, &wt, shape, &error);
    if (status)
        return husk__graph_pass_on(&building, status, &error);
    if (!check_bias(&building, &bias, wt.shape[0]))
        return HUSK_NO_VALUE;
    husk__node *node = husk__graph_node(&building, &kind, (husk_value[]){x, w, bias}, 3);
    if (!node)
        return HUSK_NO_VALUE;
    husk_activation_params activation =
        HUSK_ACTIVATION_PARAMS(.activation = own.activation, .slope = own.activation_slope);
    own.activation = HUSK_ACT_NONE;
    own.activation_slope = 0;
    own.accumulate = 0;
    node->params.conv = own;
    return husk__graph_activated(&building, &activation, graph->dtype, xt.rank, shape);
}
