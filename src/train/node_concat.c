// SPDX-License-Identifier: MIT
#include "train/schedule.h"

#include <stdlib.h>

// Pointers to tensors, as the operator takes them: of the slots after the first one.
static const husk_tensor **list_of(const husk__call *call)
{
    const husk_tensor **list = malloc(sizeof *list * (size_t)call->slot_count);
    for (int32_t i = 1; i < call->slot_count && list; i++)
        list[i - 1] = husk__tensor_of(call, i);
    return list;
}

static husk_status run_concat(husk_graph *graph, const husk__call *call)
{
    const husk_tensor **inputs = list_of(call);
    husk_status status = inputs ? husk_concat(graph->queue, &call->params.concat, inputs,
                                              (size_t)call->slot_count - 1, husk__tensor_of(call, 0))
                                : HUSK_OUT_OF_HOST_MEMORY;
    free(inputs);
    return status;
}

static husk_status run_backward(husk_graph *graph, const husk__call *call)
{
    const husk_tensor **gradients = list_of(call);
    size_t count = (size_t)call->slot_count - 1;
    int64_t *extents = malloc(sizeof *extents * count);
    husk_status status = gradients && extents ? HUSK_OK : HUSK_OUT_OF_HOST_MEMORY;
    for (size_t i = 0; i < count && !status; i++) // an absent slot keeps its tensor
        extents[i] = call->slots[i + 1].tensor.shape[call->params.concat.axis];
    if (!status)
        status = husk_concat_backward(graph->queue, &call->params.concat, extents, husk__tensor_of(call, 0),
                                      gradients, count);
    free(gradients);
    free(extents);
    return status;
}

static husk_status forward(husk__schedule *schedule, husk__node *node)
{
    husk__slot *slots = malloc(sizeof *slots * ((size_t)node->input_count + 1));
    husk__call *call = NULL;
    if (slots) {
        slots[0] = husk__slot_write(schedule, node->outputs[0], 0);
        for (int32_t i = 0; i < node->input_count; i++)
            slots[i + 1] = husk__slot_read(schedule, node->inputs[i]);
        call = husk__call_add(schedule, node, run_concat, slots, node->input_count + 1);
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
        husk__call *call = husk__call_add(schedule, node, run_backward, slots, node->input_count + 1);
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
        !husk__graph_params(&building, &own, sizeof own, params, "params"))
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
            if (own.axis < -first.rank || own.axis >= first.rank)
                return husk__graph_refuse(&building, HUSK_INVALID_ARGUMENT, "params",
                                          "axis %d of %d dimensions", (int)own.axis, (int)first.rank);
            own.axis += own.axis < 0 ? first.rank : 0;
        }
        const int64_t along = next.shape[own.axis];
        if (next.rank == first.rank)
            next.shape[own.axis] = first.shape[own.axis];
        if (!husk__same_shape(&next, &first)) {
            next.shape[own.axis] = along;
            return husk__graph_refuse(
                &building, HUSK_INVALID_ARGUMENT, "inputs",
                "number %zu has the shape %s, the first one %s; only axis %d may differ", i,
                husk__graph_shape_text(&next, text), husk__graph_shape_text(&first, other), (int)own.axis);
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
