// SPDX-License-Identifier: MIT
#include "train/nodes/copy.h"

#include "train/graph/schedule.h"

static husk_status forward(husk__schedule *schedule, husk__node *node)
{
    return husk__add_copy(schedule, node, husk__slot_read(schedule, node->inputs[0]),
                          husk__slot_write(schedule, node->outputs[0], 1));
}

static husk_status backward(husk__schedule *schedule, husk__node *node)
{
    return husk__add_gradient(schedule, node, husk__slot_gradient(schedule, node->outputs[0]), node->inputs[0]);
}

static bool has_gradient(const husk__node *node, int32_t input)
{
    (void)node;
    (void)input;
    return true;
}

static const husk__node_kind kind = {
    .name = "copy", .forward = forward, .backward = backward, .has_gradient = has_gradient};

husk_value husk__graph_copied(husk__building *building, const char *name, husk_value x, const husk_tensor *tensor)
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
    return before ? before : husk__graph_copied(building, NULL, value, &tensor);
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
    return husk__graph_copied(&building, building.name, x, &xt);
}

husk_value husk_graph_copy(husk_graph *graph, const char *name, husk_value x)
{
    husk__building building;
    husk_tensor xt;
    if (!husk__graph_begin(&building, graph, "husk_graph_copy", "copy", name, true) ||
        !husk__graph_argument(&building, x, "x", &xt))
        return HUSK_NO_VALUE;
    return husk__graph_copied(&building, building.name, x, &xt);
}

// ---- arguments ----

static bool cast_argument(husk__building *building, husk_value *value, husk_dtype dtype, const char *argument,
                          husk_tensor *tensor)
{
    building->has_dtype = false;
    if (!husk__graph_number(building, *value, argument, tensor))
        return false;
    building->dtype = dtype;
    if (tensor->dtype == dtype)
        return true;
    *value = husk__graph_cast(building, *value, dtype);
    return *value && husk__graph_argument(building, *value, argument, tensor);
}

bool husk__graph_computed(husk__building *building, husk_value *value, const char *argument, husk_tensor *tensor)
{
    return cast_argument(building, value, building->graph->dtype, argument, tensor);
}

bool husk__graph_optional(husk__building *building, husk_value *value, const char *argument, husk_tensor *tensor)
{
    if (*value != HUSK_NO_VALUE)
        return husk__graph_computed(building, value, argument, tensor);
    *tensor = (husk_tensor){.rank = -1};
    return true;
}

bool husk__graph_wide(husk__building *building, husk_value *value, const char *argument, bool may_be_absent,
                      husk_tensor *tensor)
{
    *tensor = (husk_tensor){.rank = -1};
    return (may_be_absent && *value == HUSK_NO_VALUE) ||
           cast_argument(building, value, husk__wide_dtype(building->graph), argument, tensor);
}
