// SPDX-License-Identifier: MIT
#include <stdlib.h>

#include "train/graph/build.h"
#include "train/graph/schedule.h"

// In a call's room: the extents of the slots after the first one, and pointers to their tensors, which the operator
// takes.
static const husk_tensor **list_of(const husk__call *call, int64_t **extents)
{
    const int32_t count = call->slot_count - 1;
    *extents = call->room;
    const husk_tensor **list = (const husk_tensor **)(void *)(*extents + count);
    for (int32_t i = 0; i < count; i++) {
        list[i] = husk__tensor_of(call, i + 1);
        (*extents)[i] = call->slots[i + 1].tensor.shape[call->params.concat.axis]; // an absent slot keeps its tensor
    }
    return list;
}

static husk_status run_concat(husk_graph *graph, const husk__call *call)
{
    int64_t *extents;
    const husk_tensor **inputs = list_of(call, &extents);
    return husk_concat(graph->queue, &call->params.concat, inputs, (size_t)call->slot_count - 1,
                       husk__tensor_of(call, 0));
}

static husk_status run_backward(husk_graph *graph, const husk__call *call)
{
    int64_t *extents;
    const husk_tensor **gradients = list_of(call, &extents);
    return husk_concat_backward(graph->queue, &call->params.concat, extents, husk__tensor_of(call, 0), gradients,
                                (size_t)call->slot_count - 1);
}

// A call with its room; NULL: no memory.
static husk__call *add_call(husk__schedule *schedule, const husk__node *node,
                            husk_status (*run)(husk_graph *graph, const husk__call *call), const husk__slot *slots)
{
    husk__call *call = husk__call_add(schedule, node, run, slots, node->input_count + 1);
    if (call)
        call->room = malloc((sizeof(int64_t) + sizeof(husk_tensor *)) * (size_t)node->input_count);
    return call && call->room ? call : NULL;
}

static husk_status forward(husk__schedule *schedule, husk__node *node)
{
    husk__slot *slots = malloc(sizeof *slots * ((size_t)node->input_count + 1));
    husk__call *call = NULL;
    if (slots) {
        slots[0] = husk__slot_write(schedule, node->outputs[0], 0);
        for (int32_t i = 0; i < node->input_count; i++)
            slots[i + 1] = husk__slot_read(schedule, node->inputs[i]);
        call = add_call(schedule, node, run_concat, slots);
    }
    free(slots);
    return call ? HUSK_OK : husk__train_no_memory(&schedule->scope);
}

static husk_status backward(husk__schedule *schedule, husk__node *node)
{
    size_t count = (size_t)node->input_count;
    husk__slot *slots = malloc(sizeof *slots * (count + 1));
    husk__targets targets = {0};
    husk_status status = slots ? HUSK_OK : husk__train_no_memory(&schedule->scope);
    if (!status)
        status = husk__targets_begin(schedule, node, node->inputs, NULL, node->input_count, 0, &targets);
    if (!status) {
        slots[0] = husk__slot_gradient(schedule, node->outputs[0]);
        for (size_t i = 0; i < count; i++) {
            slots[i + 1] = targets.slots[i];
            if (slots[i + 1].storage < 0)
                slots[i + 1].tensor = *husk__value_tensor(schedule, node->inputs[i]);
        }
        husk__call *call = add_call(schedule, node, run_backward, slots);
        if (!call)
            status = husk__train_no_memory(&schedule->scope);
        else {
            call->params.concat.accumulate = targets.accumulate;
            call->params.concat.variant = NULL;
            status = husk__targets_settle(schedule, node, &targets);
        }
    }
    free(slots);
    return status;
}

static const husk__node_kind kind = {.name = "concat", .forward = forward, .backward = backward};

husk_value husk_graph_concat(husk_graph *graph, const char *name, const husk_concat_params *params,
                             const husk_value *inputs, size_t count)
{
    husk__building building;
    husk_concat_params own;
    char text[160], other[160];
    if (!husk__graph_begin(&building, graph, "husk_graph_concat", "concat", name, true) ||
        !husk__graph_params(&building, &own, sizeof own, "HUSK_CONCAT_PARAMS", params, "params"))
        return HUSK_NO_VALUE;
    if (!inputs || count < 1 || count > INT32_MAX / 2)
        return husk__graph_refuse(&building, HUSK_INVALID_ARGUMENT, "inputs", "one at least is wanted");
    husk_tensor first, next;
    int64_t extent = 0;
    for (size_t i = 0; i < count; i++) {
        if (!husk__graph_number(&building, inputs[i], "inputs", &next))
            return HUSK_NO_VALUE;
        if (i == 0) {
            first = next;
            if (!husk__graph_axis(&building, "params", "axis ", own.axis, &first, "inputs[0]", &own.axis))
                return HUSK_NO_VALUE;
        }
        const int64_t along = next.shape[own.axis];
        if (next.rank == first.rank)
            next.shape[own.axis] = first.shape[own.axis];
        if (!husk__same_shape(&next, &first)) {
            next.shape[own.axis] = along;
            return husk__graph_refuse(&building, HUSK_INVALID_ARGUMENT, "inputs",
                                      "number %zu has the shape %s, the first one %s; only axis %d may differ", i,
                                      husk__graph_shape_text(&next, text), husk__graph_shape_text(&first, other),
                                      (int)own.axis);
        }
        if (__builtin_add_overflow(extent, along, &extent))
            return husk__graph_refuse(&building, HUSK_INVALID_ARGUMENT, "inputs", "there are too many elements");
    }
    husk__node *node = husk__graph_node(&building, &kind, inputs, (int32_t)count);
    if (!node)
        return HUSK_NO_VALUE;
    own.size = sizeof own;
    own.accumulate = 0;
    node->params.concat = own;
    first.shape[own.axis] = extent;
    return husk__graph_result(&building, building.name, building.dtype, first.rank, first.shape);
}
