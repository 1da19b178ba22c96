// SPDX-License-Identifier: MIT
// Operators with the parameters that they are used with.
#include <husk/train/layers.h>

#include "train/nodes/gemm.h"
#include "train/nodes/norm.h"
#include "train/nodes/views.h"

husk_value husk_graph_conv_layer(husk_graph *graph, const char *name, const husk_conv_layer *layer, husk_value x)
{
    husk__building building;
    husk_conv_layer own;
    husk_conv_params params;
    husk_tensor xt;
    char text[160];
    if (!husk__graph_begin(&building, graph, "husk_graph_conv_layer", "conv", name, true) ||
        !husk__graph_params(&building, &own, sizeof own, "HUSK_CONV_LAYER", layer, "layer") ||
        !husk__graph_params(&building, &params, sizeof params, "HUSK_CONV_PARAMS", own.params, "layer: params") ||
        !husk__graph_number(&building, x, "x", &xt))
        return HUSK_NO_VALUE;
    params.size = sizeof params;
    int64_t groups = params.groups ? params.groups : 1;
    if (xt.rank < 3 || xt.rank > 2 + HUSK_MAX_SPACE)
        return husk__graph_refuse(&building, HUSK_INVALID_ARGUMENT, "x",
                                  "its shape is %s; [N, C, space...] of 1 to %d space dimensions is wanted",
                                  husk__graph_shape_text(&xt, text), HUSK_MAX_SPACE);
    if (own.filters < 1)
        return husk__graph_refuse(&building, HUSK_INVALID_ARGUMENT, "layer", "filters is %lld; 1 at least is wanted",
                                  (long long)own.filters);
    if (groups < 1 || xt.shape[1] % groups || own.filters % groups)
        return husk__graph_refuse(&building, HUSK_INVALID_ARGUMENT, "layer",
                                  "%lld groups divide x's %lld channels and %lld filters not evenly", (long long)groups,
                                  (long long)xt.shape[1], (long long)own.filters);
    int64_t shape[HUSK_MAX_RANK] = {own.filters, xt.shape[1] / groups};
    for (int32_t d = 2; d < xt.rank; d++)
        if ((shape[d] = own.window[d - 2]) < 1)
            return husk__graph_refuse(&building, HUSK_INVALID_ARGUMENT, "layer",
                                      "window[%d] is %lld; 1 at least is wanted", (int)d - 2, (long long)shape[d]);
    husk_initializer he = HUSK_INITIALIZER(.kind = HUSK_INITIALIZER_HE_NORMAL);
    husk_initializer zeros = HUSK_INITIALIZER(.kind = HUSK_INITIALIZER_CONSTANT);
    husk_value w = husk__graph_own_parameter(&building, "weight", xt.rank, shape, own.weight, he), bias = HUSK_NO_VALUE;
    if (w && !own.no_bias)
        bias = husk__graph_own_parameter(&building, "bias", 1, shape, own.bias, zeros);
    return husk_graph_conv(graph, building.name, &params, x, w, bias);
}

husk_value husk_graph_linear(husk_graph *graph, const char *name, const husk_linear_layer *layer, husk_value x)
{
    husk__building building;
    husk_linear_layer own;
    husk_tensor xt;
    if (!husk__graph_begin(&building, graph, "husk_graph_linear", "linear", name, true) ||
        !husk__graph_params(&building, &own, sizeof own, "HUSK_LINEAR_LAYER", layer, "layer") ||
        !husk__graph_number(&building, x, "x", &xt))
        return HUSK_NO_VALUE;
    if (own.outputs < 1)
        return husk__graph_refuse(&building, HUSK_INVALID_ARGUMENT, "layer", "outputs is %lld; 1 at least is wanted",
                                  (long long)own.outputs);
    if ((unsigned)own.activation > HUSK_ACT_TANH)
        return husk__graph_refuse(&building, HUSK_INVALID_ARGUMENT, "layer", "activation %u does not exist",
                                  (unsigned)own.activation);
    if (xt.rank < 1)
        return husk__graph_refuse(&building, HUSK_INVALID_ARGUMENT, "x", "it is a scalar; [..., inputs] is wanted");
    int64_t inputs = xt.shape[xt.rank - 1];
    husk_initializer he = HUSK_INITIALIZER(.kind = HUSK_INITIALIZER_HE_NORMAL);
    husk_initializer zeros = HUSK_INITIALIZER(.kind = HUSK_INITIALIZER_CONSTANT);
    husk_value weight =
        husk__graph_own_parameter(&building, "weight", 2, (int64_t[]){own.outputs, inputs}, own.weight, he);
    husk_value bias = HUSK_NO_VALUE;
    if (weight && !own.no_bias)
        bias = husk__graph_own_parameter(&building, "bias", 1, &own.outputs, own.bias, zeros);
    husk_gemm_params params =
        HUSK_GEMM_PARAMS(.transpose_b = 1, .activation = own.activation, .activation_slope = own.activation_slope);
    if (graph->failed || xt.rank == 2)
        return graph->failed ? HUSK_NO_VALUE : husk__graph_gemm(&building, &params, 1, x, weight, bias);
    // Rows of one matrix, whatever the leading dimensions are.
    building.is_inside = true;
    x = husk__graph_reshape(&building, x, 2, (int64_t[]){-1, inputs});
    husk_value y = x ? husk__graph_gemm(&building, &params, 1, x, weight, bias) : HUSK_NO_VALUE;
    building.is_inside = false;
    xt.shape[xt.rank - 1] = own.outputs;
    return y ? husk__graph_reshape(&building, y, xt.rank, xt.shape) : HUSK_NO_VALUE;
}

husk_value husk_graph_norm_layer(husk_graph *graph, const char *name, const husk_norm_layer *layer, husk_value x)
{
    husk__building building;
    const husk_norm_params defaults = husk_norm_defaults(HUSK_NORM_LAYER);
    husk_norm_layer own;
    husk_norm_params params;
    husk_tensor xt, scale_tensor, statistics;
    if (!husk__graph_begin(&building, graph, "husk_graph_norm_layer", "norm", name, true) ||
        !husk__graph_params(&building, &own, sizeof own, "HUSK_NORM_LAYER", layer, "layer") ||
        !husk__graph_params(&building, &params, sizeof params, "husk_norm_defaults",
                            own.params ? own.params : &defaults, "layer: params") ||
        !husk__graph_number(&building, x, "x", &xt) ||
        !husk__norm_shapes(&building, &params, &xt, &scale_tensor, &statistics))
        return HUSK_NO_VALUE;
    params.size = sizeof params;
    husk_initializer ones = HUSK_INITIALIZER(.kind = HUSK_INITIALIZER_CONSTANT, .value = 1);
    husk_initializer zeros = HUSK_INITIALIZER(.kind = HUSK_INITIALIZER_CONSTANT);
    husk_value scale = HUSK_NO_VALUE, bias = HUSK_NO_VALUE, mean = HUSK_NO_VALUE, variance = HUSK_NO_VALUE;
    if (!own.no_scale)
        scale = husk__graph_own_parameter(&building, "weight", scale_tensor.rank, scale_tensor.shape, NULL, ones);
    if (!own.no_bias && params.kind != HUSK_NORM_RMS && !graph->failed)
        bias = husk__graph_own_parameter(&building, "bias", scale_tensor.rank, scale_tensor.shape, NULL, zeros);
    if (params.kind == HUSK_NORM_BATCH && !graph->failed) {
        mean = husk__graph_own_statistic(&building, "running_mean", xt.shape[1], 0);
        variance = mean ? husk__graph_own_statistic(&building, "running_var", xt.shape[1], 1) : HUSK_NO_VALUE;
    }
    return husk_graph_norm(graph, building.name, &params, x, scale, bias, mean, variance);
}

husk_value husk_graph_embedding_layer(husk_graph *graph, const char *name, const husk_embedding_layer *layer,
                                      husk_value indices)
{
    husk__building building;
    husk_embedding_layer own;
    if (!husk__graph_begin(&building, graph, "husk_graph_embedding_layer", "embedding", name, true) ||
        !husk__graph_params(&building, &own, sizeof own, "HUSK_EMBEDDING_LAYER", layer, "layer"))
        return HUSK_NO_VALUE;
    if (own.rows < 1 || own.columns < 1)
        return husk__graph_refuse(&building, HUSK_INVALID_ARGUMENT, "layer",
                                  "%lld rows of %lld columns; 1 at least is wanted", (long long)own.rows,
                                  (long long)own.columns);
    husk_initializer normal = HUSK_INITIALIZER(.kind = HUSK_INITIALIZER_NORMAL, .spread = 1);
    husk_value table =
        husk__graph_own_parameter(&building, "weight", 2, (int64_t[]){own.rows, own.columns}, own.weight, normal);
    return husk_graph_embedding(graph, building.name, own.params, table, indices);
}
