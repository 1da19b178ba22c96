// SPDX-License-Identifier: MIT
#include "train/step/masks.h"

#include <stdlib.h>

#include <husk/train/compress.h>

#include "train/graph/arena.h"
#include "train/step/calls.h"
#include "train/step/micro_batch.h"

uint64_t husk__trained_elements(const husk_graph *graph)
{
    return graph->compiled->trained_bytes / husk_dtype_size(husk__wide_dtype(graph));
}

// Of so many elements, none of them pruned, and behind them the zero.
static husk_status make_masks(husk_graph *graph, uint64_t elements, husk_buffer **masks, husk_error *error)
{
    const uint64_t zero = husk__aligned(elements);
    const uint8_t ones = 1;
    husk_status status = husk_buffer_create(graph->context, zero + HUSK__NUMBER_BYTES, masks, error);
    if (status)
        return status;
    const uint8_t nothing = 0;
    status = husk_buffer_fill(graph->queue, *masks, 0, zero, &ones, sizeof ones);
    if (!status)
        status = husk_buffer_fill(graph->queue, *masks, zero, HUSK__NUMBER_BYTES, &nothing, sizeof nothing);
    if (status) {
        if (error)
            *error = *husk_queue_error(graph->queue);
        husk_buffer_release(*masks);
        *masks = NULL;
    }
    return status;
}

husk_status husk__masks_create(husk_graph *graph, husk_buffer **masks, husk_error *error)
{
    return make_masks(graph, husk__trained_elements(graph), masks, error);
}

// To so many elements of a flat buffer, from the first on.
static husk_status apply(husk_graph *graph, husk_buffer *masks, husk_buffer *flat, uint64_t first, uint64_t elements)
{
    const int64_t count = (int64_t)elements;
    husk_tensor condition = husk_tensor_make(masks, HUSK_U8, 1, &count);
    husk_tensor x = husk_tensor_make(flat, husk__wide_dtype(graph), 1, &count);
    x.offset = (int64_t)first;
    husk_tensor zero = husk_tensor_make(masks, husk__wide_dtype(graph), 0, NULL);
    zero.offset = (int64_t)(husk__aligned((uint64_t)count) / husk_dtype_size(husk__wide_dtype(graph)));
    return husk_where(graph->queue, NULL, &condition, &x, &zero, &x);
}

husk_status husk__masks_apply(husk_graph *graph, husk_buffer *flat)
{
    return apply(graph, graph->compiled->masks, flat, 0, husk__trained_elements(graph));
}

// To the parameters and to what the optimizer keeps of them.
static husk_status apply_all(husk_graph *graph, husk_buffer *masks, uint64_t first, uint64_t elements)
{
    husk__compiled *own = graph->compiled;
    own->copies_are_old = true;
    husk_status status = apply(graph, masks, own->regions[HUSK__REGION_PARAMETERS], first, elements);
    for (int s = 0; s < HUSK__STATES && !status; s++)
        if (own->keeps_state[s])
            status = apply(graph, masks, own->states[s], first, elements);
    return status;
}

husk_status husk__masks_apply_all(husk_graph *graph)
{
    return apply_all(graph, graph->compiled->masks, 0, husk__trained_elements(graph));
}

// ---- a mask from elsewhere ----

// It is applied by a copy of its own; the graph's masks change last, at once.
static husk_status put_mask(husk_graph *graph, int32_t index, const void *host, const husk__train_scope *scope)
{
    husk__compiled *own = graph->compiled;
    const husk__value *value = &graph->values[index];
    const uint64_t first = value->offset / husk_dtype_size(husk__wide_dtype(graph));
    const uint64_t elements = (uint64_t)husk_tensor_count(&value->tensor);
    husk_buffer *one = NULL, *masks = own->masks;
    husk_error error;
    if (!own->masked && !(own->masked = calloc((size_t)graph->value_count, sizeof *own->masked)))
        return husk__train_no_memory(scope);
    husk_status status = make_masks(graph, elements, &one, &error);
    if (!status && !masks)
        status = husk__masks_create(graph, &masks, &error);
    if (status) {
        husk_buffer_release(one);
        return husk__caused_by(scope->error, &error, husk__train_fail(scope, status, "%s", error.text));
    }
    status = husk_buffer_write(graph->queue, one, 0, elements, host);
    if (!status) {
        husk__drop_forwards(own);
        status = apply_all(graph, one, first, elements);
    }
    if (!status)
        status = husk_buffer_copy(graph->queue, one, 0, masks, first, elements);
    husk_buffer_release(one);
    if (status) {
        if (!own->masks)
            husk_buffer_release(masks);
        return husk__queue_failed(graph, status, scope);
    }
    own->masks = masks;
    own->masked[index] = true;
    return HUSK_OK;
}

static husk_status remove_mask(husk_graph *graph, int32_t index, const husk__train_scope *scope)
{
    husk__compiled *own = graph->compiled;
    const husk__value *value = &graph->values[index];
    const uint8_t ones = 1;
    if (!own->masks || !own->masked[index])
        return HUSK_OK;
    husk_status status =
        husk_buffer_fill(graph->queue, own->masks, value->offset / husk_dtype_size(husk__wide_dtype(graph)),
                         (uint64_t)husk_tensor_count(&value->tensor), &ones, sizeof ones);
    if (status)
        return husk__queue_failed(graph, status, scope);
    own->masked[index] = false;
    for (int32_t i = 0; i < own->trained_count; i++)
        if (own->masked[own->trained[i]])
            return HUSK_OK;
    husk_buffer_release(own->masks);
    own->masks = NULL;
    return HUSK_OK;
}

husk_status husk_graph_set_mask(husk_graph *graph, size_t index, const void *mask, uint64_t bytes)
{
    if (!graph)
        return HUSK_INVALID_ARGUMENT;
    const husk__train_scope scope = {"husk_graph_set_mask", &graph->error};
    const husk__compiled *own = graph->compiled;
    if (graph->failed)
        return graph->failed;
    if (!own || !own->is_final)
        return husk__train_reject(&scope, "graph", "it is not compiled");
    if (index >= (size_t)own->parameter_count)
        return husk__train_reject(&scope, "index", "%zu; there are %d parameters", index, (int)own->parameter_count);
    const husk__value *value = &graph->values[own->parameters[index]];
    if (!value->is_trained)
        return husk__train_reject(&scope, "index", "%zu; %s is not trained", index, value->name);
    const uint64_t elements = (uint64_t)husk_tensor_count(&value->tensor);
    if (mask && bytes != elements)
        return husk__train_reject(&scope, "bytes", "%llu; %s has %llu elements", (unsigned long long)bytes, value->name,
                                  (unsigned long long)elements);
    return mask ? put_mask(graph, own->parameters[index], mask, &scope)
                : remove_mask(graph, own->parameters[index], &scope);
}
