// SPDX-License-Identifier: MIT
// Views; the copy that makes a view packed, and that in another dtype.
#include <stdio.h>

#include "train/graph/schedule.h"

static husk_status forward(husk__schedule *schedule, husk__node *node)
{
    return husk__add_copy(schedule, node, husk__slot_read(schedule, node->inputs[0]),
                          husk__slot_write(schedule, node->outputs[0], 1));
}

static husk_status backward(husk__schedule *schedule, husk__node *node)
{
    return husk__add_gradient(schedule, node, husk__slot_gradient(schedule, node->outputs[0]),
                              node->inputs[0]);
}

static bool has_gradient(const husk__node *node, int32_t input)
{
    (void)node;
    (void)input;
    return true;
}

static const husk__node_kind kind = {.name = "copy",
                                     .forward = forward,
                                     .backward = backward,
                                     .has_gradient = has_gradient};

static husk_value add_copy(husk__building *building, const char *name, husk_value x,
                           const husk_tensor *tensor)
{
    if (!husk__graph_node(building, &kind, &x, 1))
        return HUSK_NO_VALUE;
    return husk__graph_result(building, name, tensor->dtype, tensor->rank, tensor->shape);
}

// ---- other dtypes ----

husk_value husk__graph_cast_before(const husk_graph *graph, husk_value value, husk_dtype dtype)
{
    for (int32_t n = 1; n < graph->node_count; n++) {
        const husk__node *node = &graph->nodes[n];
        husk_value made = node->outputs[0];
        if (node->kind == &kind && node->inputs[0] == value && graph->values[made].tensor.dtype == dtype &&
            graph->values[value].tensor.dtype != dtype)
            return made;
    }
    return HUSK_NO_VALUE;
}

husk_value husk__graph_cast(husk__building *building, husk_value value, husk_dtype dtype)
{
    husk_value before = husk__graph_cast_before(building->graph, value, dtype);
    husk_tensor tensor = building->graph->values[value].tensor;
    tensor.dtype = dtype;
    return before ? before : add_copy(building, NULL, value, &tensor);
}

husk_value husk_graph_cast(husk_graph *graph, const char *name, husk_value x, husk_dtype dtype)
{
    husk__building building;
    husk_tensor xt;
    if (!husk__graph_begin(&building, graph, "husk_graph_cast", "cast", name, true) ||
        !husk__graph_argument(&building, x, "x", &xt))
        return HUSK_NO_VALUE;
    if (dtype != graph->dtype && dtype != husk__wide_dtype(graph))
        return husk__graph_refuse(&building, HUSK_INVALID_ARGUMENT, "dtype", "%s; %s%s is wanted",
                                  husk_dtype_name(dtype), husk_dtype_name(graph->dtype),
                                  husk__is_mixed(graph) ? " or f32" : "");
    if (dtype == HUSK_F64 && xt.dtype != HUSK_F64)
        return husk__graph_refuse(&building, HUSK_UNSUPPORTED, "x", "%s does not become f64",
                                  husk_dtype_name(xt.dtype));
    xt.dtype = dtype;
    return add_copy(&building, building.name, x, &xt);
}

husk_value husk_graph_copy(husk_graph *graph, const char *name, husk_value x)
{
    husk__building building;
    husk_tensor xt;
    if (!husk__graph_begin(&building, graph, "husk_graph_copy", "copy", name, true) ||
        !husk__graph_argument(&building, x, "x", &xt))
        return HUSK_NO_VALUE;
    return add_copy(&building, building.name, x, &xt);
}

husk_value husk__graph_reshape(husk__building *building, husk_value x, int32_t rank, const int64_t *shape)
{
    husk_tensor xt;
    char text[160], other[160];
    if (!husk__graph_argument(building, x, "x", &xt))
        return HUSK_NO_VALUE;
    if (rank < 0 || rank > HUSK_MAX_RANK || (rank > 0 && !shape))
        return husk__graph_refuse(building, HUSK_INVALID_ARGUMENT, "shape",
                                  "a rank of 0 to %d and a shape are wanted", HUSK_MAX_RANK);
    int64_t count = husk_tensor_count(&xt), known = 1;
    husk_tensor wanted = husk_tensor_make(NULL, xt.dtype, rank, shape);
    int32_t open = -1;
    for (int32_t d = 0; d < rank; d++)
        if (shape[d] == -1 && open < 0)
            open = d;
        else if (shape[d] < 1 || shape[d] > count)
            return husk__graph_refuse(building, HUSK_INVALID_ARGUMENT, "shape",
                                      "dimension %d is %lld; x is %s, and one dimension may be -1", (int)d,
                                      (long long)shape[d], husk__graph_shape_text(&xt, text));
        else if (known && shape[d] <= count / known)
            known *= shape[d];
        else
            known = 0; // past count: it fits in no way
    if (open >= 0 && known)
        wanted.shape[open] = count / known;
    if (!known || (open >= 0 ? count % known : known != count))
        return husk__graph_refuse(building, HUSK_INVALID_ARGUMENT, "shape", "%s, but x is %s",
                                  husk__graph_shape_text(&wanted, text), husk__graph_shape_text(&xt, other));
    if (!husk__is_packed(&xt)) {
        x = add_copy(building, NULL, x, &xt);
        if (!x)
            return HUSK_NO_VALUE;
        xt = building->graph->values[x].tensor;
    }
    husk_tensor view = husk_tensor_make(NULL, xt.dtype, rank, wanted.shape);
    view.offset = xt.offset;
    return husk__graph_view(building, x, &view, true);
}

husk_value husk_graph_reshape(husk_graph *graph, const char *name, husk_value x, int32_t rank,
                              const int64_t *shape)
{
    husk__building building;
    if (!husk__graph_begin(&building, graph, "husk_graph_reshape", "reshape", name, true))
        return HUSK_NO_VALUE;
    return husk__graph_reshape(&building, x, rank, shape);
}

husk_value husk_graph_permute(husk_graph *graph, const char *name, husk_value x, const int32_t *order)
{
    husk__building building;
    husk_tensor xt;
    if (!husk__graph_begin(&building, graph, "husk_graph_permute", "permute", name, true) ||
        !husk__graph_argument(&building, x, "x", &xt))
        return HUSK_NO_VALUE;
    uint32_t seen = 0;
    for (int32_t d = 0; d < xt.rank && order; d++)
        seen |= order[d] >= 0 && order[d] < xt.rank ? 1u << order[d] : 0;
    if (!order || seen != (1u << xt.rank) - 1)
        return husk__graph_refuse(&building, HUSK_INVALID_ARGUMENT, "order",
                                  "each of x's %d dimensions has to be there once", (int)xt.rank);
    husk_tensor view = husk_tensor_permute(&xt, order);
    return husk__graph_view(&building, x, &view, true);
}

husk_value husk_graph_slice(husk_graph *graph, const char *name, husk_value x, int32_t axis, int64_t first,
                            int64_t count)
{
    husk__building building;
    husk_tensor xt;
    if (!husk__graph_begin(&building, graph, "husk_graph_slice", "slice", name, true) ||
        !husk__graph_argument(&building, x, "x", &xt))
        return HUSK_NO_VALUE;
    int32_t dimension;
    if (!husk__graph_axis(&building, "axis", "", axis, &xt, "x", &dimension))
        return HUSK_NO_VALUE;
    int64_t extent = xt.shape[dimension];
    if (first < 0 || count < 1 || count > extent || first > extent - count)
        return husk__graph_refuse(&building, HUSK_INVALID_ARGUMENT, "count",
                                  "%lld elements from %lld on of %lld", (long long)count, (long long)first,
                                  (long long)extent);
    husk_tensor view = husk_tensor_slice(&xt, dimension, first, count, 1);
    return husk__graph_view(&building, x, &view, count == extent);
}
