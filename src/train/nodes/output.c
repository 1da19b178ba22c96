// SPDX-License-Identifier: MIT
#include <stdio.h>

#include "train/nodes/copy.h"

void husk_graph_output(husk_graph *graph, const char *name, husk_value value)
{
    husk__building building;
    if (!husk__graph_begin(&building, graph, "husk_graph_output", "", name, false))
        return;
    husk_tensor tensor;
    if (!husk__graph_argument(&building, value, "value", &tensor))
        return;
    int32_t there = husk__graph_find(graph, name);
    bool is_narrow = husk__is_mixed(graph) && tensor.dtype == graph->dtype;
    if (is_narrow && there && there == husk__graph_cast_before(graph, value, HUSK_F32)) {
        husk__root(graph, there)->is_output = true; // a cast of the caller's may be none yet
        return;
    }
    if (there && there != value) {
        husk__graph_refuse(&building, HUSK_INVALID_ARGUMENT, "name", "there is another value of this name already");
        return;
    }
    if (is_narrow) {
        value = husk__graph_cast(&building, value, HUSK_F32);
        if (!value)
            return;
    } else if (!husk__is_packed(&tensor)) {
        char own[HUSK__GRAPH_NAME + 8];
        snprintf(own, sizeof own, "%.*s.packed", HUSK__GRAPH_NAME - 7, building.name);
        value = husk_graph_copy(graph, own, value);
        if (!value)
            return;
    }
    husk__root(graph, value)->is_output = true;
    if (there != value)
        husk__graph_name_output(&building, name, value);
}
