// SPDX-License-Identifier: MIT
// Convolutions and products of eight bits: the input is quantized, the result is f32.
#include "train/nodes/quantized.h"

#include <stdio.h>
#include <string.h>

#include "train/graph/schedule.h"

enum { X, W, BIAS, W_SCALE, X_SCALE, X_ZERO };            // inputs of the node
enum { Q_X, Q_SCALE, Q_ZERO, Q_Y };                       // slots of quantizing
enum { OF_X, OF_W, OF_W_SCALE, OF_BIAS, OF_Y, OF_COUNT }; // slots of the product

static husk_status run_quantize(husk_graph *graph, const husk__call *call)
{
    return husk_quantize(graph->queue, NULL, husk__tensor_of(call, Q_X), husk__tensor_of(call, Q_SCALE),
                         husk__tensor_of(call, Q_ZERO), husk__tensor_of(call, Q_Y));
}

// Channels last for a convolution, whose fast layout that is.
static husk_status add_quantize(husk__schedule *schedule, husk__node *node, husk__slot *quantized)
{
    const husk_tensor *x = husk__value_tensor(schedule, node->inputs[X]);
    const bool is_conv = node->kind == &husk__quantized_conv_kind;
    husk_tensor like = is_conv ? husk_tensor_make_channels_last(NULL, HUSK_U8, x->rank, x->shape)
                               : husk_tensor_make(NULL, HUSK_U8, x->rank, x->shape);
    *quantized = husk__slot_temporary(schedule, &like, 0);
    memcpy(quantized->tensor.strides, like.strides, sizeof like.strides);
    const husk__slot slots[] = {
        [Q_X] = husk__slot_read(schedule, node->inputs[X]),
        [Q_SCALE] = husk__slot_read(schedule, node->inputs[X_SCALE]),
        [Q_ZERO] = husk__slot_read(schedule, node->inputs[X_ZERO]),
        [Q_Y] = *quantized,
    };
    return husk__call_add(schedule, node, run_quantize, slots, 4) ? HUSK_OK : husk__train_no_memory(&schedule->scope);
}

static husk_status forward(husk__schedule *schedule, husk__node *node,
                           husk_status (*run)(husk_graph *graph, const husk__call *call),
                           husk_status (*plan)(husk_graph *graph, husk__call *call, husk_error *error))
{
    husk__slot quantized;
    husk_status status = add_quantize(schedule, node, &quantized);
    if (status)
        return status;
    husk__slot slots[OF_COUNT] = {
        [OF_X] = husk__slot_again(quantized),
        [OF_W] = husk__slot_read(schedule, node->inputs[W]),
        [OF_W_SCALE] = husk__slot_read(schedule, node->inputs[W_SCALE]),
        [OF_BIAS] = husk__slot_read(schedule, node->inputs[BIAS]),
        [OF_Y] = husk__slot_write(schedule, husk__output_of(schedule, node), 0),
    };
    if (node->params.quantized.transpose_b)
        slots[OF_W].tensor = husk_tensor_permute(&slots[OF_W].tensor, (const int32_t[]){1, 0});
    husk__call *call = husk__call_add(schedule, node, run, slots, OF_COUNT);
    if (!call)
        return husk__train_no_memory(&schedule->scope);
    call->plan_create = plan;
    const husk__node *activation = husk__activation_of(schedule, node);
    if (activation) {
        const husk_activation_params *params = &activation->params.activation;
        call->params.quantized.conv.activation = call->params.quantized.gemm.activation = params->activation;
        call->params.quantized.conv.activation_slope = call->params.quantized.gemm.activation_slope = params->slope;
    }
    return HUSK_OK;
}

// ---- convolution ----

static husk_status run_conv(husk_graph *graph, const husk__call *call)
{
    return husk_quantized_conv_plan_run(
        call->plan, graph->queue, husk__tensor_of(call, OF_X), &call->params.quantized.x, husk__tensor_of(call, OF_W),
        husk__tensor_of(call, OF_W_SCALE), husk__tensor_of(call, OF_BIAS), husk__tensor_of(call, OF_Y), NULL);
}

static husk_status plan_conv(husk_graph *graph, husk__call *call, husk_error *error)
{
    return husk_quantized_conv_plan_create(graph->context, &call->params.quantized.conv, husk__tensor_of(call, OF_X),
                                           husk__tensor_of(call, OF_W), husk__tensor_of(call, OF_W_SCALE),
                                           husk__tensor_of(call, OF_BIAS), husk__tensor_of(call, OF_Y), &call->plan,
                                           error);
}

static husk_status forward_conv(husk__schedule *schedule, husk__node *node)
{
    return forward(schedule, node, run_conv, plan_conv);
}

// ---- products ----

static husk_status run_gemm(husk_graph *graph, const husk__call *call)
{
    return husk_quantized_gemm_plan_run(
        call->plan, graph->queue, husk__tensor_of(call, OF_X), &call->params.quantized.x, husk__tensor_of(call, OF_W),
        husk__tensor_of(call, OF_W_SCALE), husk__tensor_of(call, OF_BIAS), husk__tensor_of(call, OF_Y), NULL);
}

static husk_status plan_gemm(husk_graph *graph, husk__call *call, husk_error *error)
{
    return husk_quantized_gemm_plan_create(graph->context, &call->params.quantized.gemm, husk__tensor_of(call, OF_X),
                                           husk__tensor_of(call, OF_W), husk__tensor_of(call, OF_W_SCALE),
                                           husk__tensor_of(call, OF_BIAS), husk__tensor_of(call, OF_Y), &call->plan,
                                           error);
}

static husk_status forward_gemm(husk__schedule *schedule, husk__node *node)
{
    return forward(schedule, node, run_gemm, plan_gemm);
}

const husk__node_kind husk__quantized_conv_kind = {
    .name = "quantized_conv", .takes_activation = true, .forward = forward_conv};
const husk__node_kind husk__quantized_gemm_kind = {
    .name = "quantized_gemm", .takes_activation = true, .forward = forward_gemm};

// ---- which nodes ----

bool husk__can_quantize(const husk_graph *graph, const husk__node *node)
{
    const bool is_conv = strcmp(node->kind->name, "conv") == 0, is_gemm = strcmp(node->kind->name, "gemm") == 0;
    if ((!is_conv && !is_gemm) || graph->dtype != HUSK_F32)
        return false;
    const husk__value *w = &graph->values[node->inputs[W]];
    if (w->role != HUSK__ROLE_PARAMETER || w->users != 1 || w->is_output)
        return false;
    if (is_conv)
        return true;
    const husk_gemm_params *params = &node->params.gemm;
    const bool has_bias = node->inputs[BIAS] != HUSK_NO_VALUE;
    return node->alpha == 1 && !params->transpose_a && w->tensor.rank == 2 &&
           graph->values[node->inputs[X]].tensor.rank == 2 &&
           (!has_bias || graph->values[node->inputs[BIAS]].tensor.rank == 1);
}

int32_t husk__quantizable_weights(const husk__node *node, int32_t *axis)
{
    const bool is_conv = strcmp(node->kind->name, "conv") == 0;
    *axis = is_conv || node->params.gemm.transpose_b ? 0 : 1;
    return node->inputs[W];
}

void husk__quantized_names_make(husk__quantized_names *names, const husk_graph *graph, const husk__node *node)
{
    snprintf(names->weight_scale, sizeof names->weight_scale, "%s_scale", graph->values[node->inputs[W]].name);
    snprintf(names->input_scale, sizeof names->input_scale, "%s.input_scale", node->name);
    snprintf(names->input_zero, sizeof names->input_zero, "%s.input_zero", node->name);
}

bool husk__quantized_differs(const husk_graph *graph, int32_t parameter, const void *host, double *kept, double *given)
{
    for (int32_t n = 1; n < graph->node_count && graph->is_quantized; n++) {
        const husk__node *node = &graph->nodes[n];
        if (node->kind != &husk__quantized_conv_kind && node->kind != &husk__quantized_gemm_kind)
            continue;
        const husk_quantization *x = &node->params.quantized.x;
        const bool is_scale = node->inputs[X_SCALE] == parameter;
        if (!is_scale && node->inputs[X_ZERO] != parameter)
            continue;
        float scale = 0;
        if (is_scale && host)
            memcpy(&scale, host, sizeof scale);
        *kept = is_scale ? (double)x->scale : x->zero;
        *given = is_scale ? (double)scale : host ? *(const uint8_t *)host : 0;
        return !host || *given != *kept; // kept is finite, and no zero with a sign
    }
    return false;
}
