// SPDX-License-Identifier: MIT
#include "train/graph/graph.h"

#include <stdio.h>
#include <string.h>

static const husk_error no_error = {HUSK_OK, 0, ""};

const husk_error *husk_graph_error(const husk_graph *graph)
{
    return graph ? &graph->error : &no_error;
}

husk_queue *husk_graph_queue(const husk_graph *graph)
{
    return graph ? graph->queue : NULL;
}

int32_t husk_graph_shape(const husk_graph *graph, husk_value value, int64_t shape[HUSK_MAX_RANK])
{
    if (!graph || value <= 0 || value >= graph->value_count)
        return -1;
    const husk_tensor *tensor = &graph->values[value].tensor;
    if (shape)
        memcpy(shape, tensor->shape, sizeof *shape * (size_t)tensor->rank);
    return tensor->rank;
}

// ---- values ----

int32_t husk__graph_find(const husk_graph *graph, const char *name)
{
    for (int32_t i = 0; i < graph->output_count; i++)
        if (strcmp(graph->outputs[i].name, name) == 0)
            return graph->outputs[i].value;
    for (int32_t i = 1; i < graph->value_count; i++)
        if (graph->values[i].name && strcmp(graph->values[i].name, name) == 0)
            return i;
    return 0;
}

bool husk__graph_is_given(const husk_graph *graph)
{
    for (int32_t v = 1; v < graph->value_count; v++)
        if (graph->values[v].given)
            return true;
    return false;
}

// ---- tensors ----

const char *husk__graph_shape_text(const husk_tensor *tensor, char text[160])
{
    size_t used = (size_t)snprintf(text, 160, "[");
    for (int32_t d = 0; d < tensor->rank && used < 150; d++)
        used += (size_t)snprintf(text + used, 160 - used, "%s%lld", d ? ", " : "", (long long)tensor->shape[d]);
    snprintf(text + (used < 158 ? used : 158), 2, "]");
    return text;
}

bool husk__same_shape(const husk_tensor *a, const husk_tensor *b)
{
    return a->rank == b->rank && memcmp(a->shape, b->shape, sizeof *a->shape * (size_t)a->rank) == 0;
}

bool husk__is_packed(const husk_tensor *tensor)
{
    int64_t stride = 1;
    for (int32_t d = tensor->rank - 1; d >= 0; d--) {
        if (tensor->shape[d] != 1 && tensor->strides[d] != stride)
            return false;
        stride *= tensor->shape[d];
    }
    return true;
}
