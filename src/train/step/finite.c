// SPDX-License-Identifier: MIT
#include "train/step/finite.h"

#include <math.h>
#include <stdlib.h>

#include "train/step/calls.h"

husk_status husk__copy_statistics(husk_graph *graph, bool is_back, const husk__train_scope *scope)
{
    const husk__compiled *own = graph->compiled;
    husk_buffer *parameters = own->regions[HUSK__REGION_PARAMETERS], *kept = own->regions[HUSK__REGION_OUTSIDE];
    if (!own->before_bytes)
        return HUSK_OK;
    return husk__queue_failed(
        graph,
        is_back ? husk_buffer_copy(graph->queue, kept, own->before, parameters, own->statistics, own->before_bytes)
                : husk_buffer_copy(graph->queue, parameters, own->statistics, kept, own->before, own->before_bytes),
        scope);
}

static bool is_float(husk_dtype dtype)
{
    return dtype == HUSK_F32 || dtype == HUSK_F16 || dtype == HUSK_BF16 || dtype == HUSK_F64;
}

// The device's answer for `bytes` of a buffer that holds numbers of this dtype.
static husk_status find_in(husk_graph *graph, husk_buffer *buffer, husk_dtype dtype, uint64_t offset, uint64_t bytes,
                           bool *found)
{
    uint64_t size = husk_dtype_size(dtype);
    int64_t count = (int64_t)(bytes / size);
    husk_tensor tensor = husk_tensor_make(buffer, dtype, 1, &count);
    tensor.offset = (int64_t)(offset / size);
    husk_tensor number = husk__number(graph, HUSK__NUMBER_FOUND);
    double answer = 0;
    husk_status status = husk_grad_scale(graph->queue, NULL, (const husk_tensor *[]){&tensor}, 1, NULL, &number);
    if (!status)
        status = husk__read_number(graph, &number, &answer);
    *found = answer != 0;
    return status;
}

static bool is_nan(const void *host, husk_dtype dtype, int64_t i)
{
    switch (dtype) {
    case HUSK_F64:
        return isnan(((const double *)host)[i]);
    case HUSK_F32:
        return isnan(((const float *)host)[i]);
    default: // beyond infinity's bits, the sign apart
        return (((const uint16_t *)host)[i] & 0x7fff) > (dtype == HUSK_F16 ? 0x7c00 : 0x7f80);
    }
}

// NaN among an input's elements: infinity may be meant, in a mask.
static husk_status find_nan_in_input(husk_graph *graph, const husk__value *value, bool *found,
                                     const husk__train_scope *scope)
{
    uint64_t bytes = (uint64_t)husk_tensor_extent(&value->tensor);
    char *host = malloc(bytes);
    if (!host)
        return husk__train_no_memory(scope);
    husk_status status = husk__queue_failed(
        graph,
        husk_buffer_read(graph->queue, graph->compiled->regions[HUSK__REGION_OUTSIDE], value->offset, bytes, host),
        scope);
    *found = false;
    int64_t count = husk_tensor_count(&value->tensor);
    for (int64_t i = 0; i < count && !status; i++)
        *found = *found || is_nan(host, value->tensor.dtype, i);
    free(host);
    return status;
}

// Statistics are not looked at: the batch is in them already, and its loss does not depend on them. Of a parameter with
// a copy the copy is looked at: what is past its range is infinite there alone.
static husk_status find_in_values(husk_graph *graph, const husk__value **which, const husk__train_scope *scope)
{
    husk__compiled *own = graph->compiled;
    husk_status status = HUSK_OK;
    for (int32_t v = 1; v < graph->value_count && !status && !*which; v++) {
        const husk__value *value = &graph->values[v];
        const bool has_copy = husk__has_copy(graph, value);
        bool found = false;
        if (value->role == HUSK__ROLE_INPUT && is_float(value->tensor.dtype))
            status = find_nan_in_input(graph, value, &found, scope);
        else if (value->role == HUSK__ROLE_PARAMETER && !value->is_statistic)
            status = husk__queue_failed(graph,
                                        find_in(graph,
                                                own->regions[has_copy ? HUSK__REGION_COPIES : HUSK__REGION_PARAMETERS],
                                                value->tensor.dtype, has_copy ? value->offset / 2 : value->offset,
                                                (uint64_t)husk_tensor_extent(&value->tensor), &found),
                                        scope);
        if (found)
            *which = value;
    }
    return status;
}

// What has no name: inside a layer it is looked at, too; what only a gradient needs may be infinite (log_sum_exp of
// nothing), and so may copies (of a mask).
static bool is_looked_at(const husk_graph *graph, const husk__call *call, int32_t v)
{
    const husk__value *value = &graph->values[v];
    return value->name || (!husk__call_is_copy(call) && graph->nodes[value->node].outputs[0] == v);
}

// Forward once more, each result looked at when it is there.
static husk_status find_in_results(husk_graph *graph, const husk__node **which, const husk__train_scope *scope)
{
    husk__compiled *own = graph->compiled;
    const husk__schedule *schedule = &own->schedules[HUSK_GRAPH_TRAINING];
    for (int32_t c = 0; c < schedule->forward_count && !*which; c++) {
        const husk__call *call = &schedule->calls[c];
        husk_status status = husk__run_calls(graph, schedule, c, c + 1, scope);
        for (int32_t s = 0; s < call->slot_count && !*which && !status; s++) {
            const husk__slot *slot = &call->slots[s];
            if (slot->storage < 0 || slot->access == HUSK__READ || !is_float(slot->tensor.dtype))
                continue;
            const husk__storage *storage = &schedule->storages[slot->storage];
            if (!storage->value || !is_looked_at(graph, call, storage->value))
                continue;
            bool found = false;
            status = husk__queue_failed(graph,
                                        find_in(graph, own->regions[storage->region], slot->tensor.dtype,
                                                storage->offset, storage->bytes, &found),
                                        scope);
            if (found)
                *which = &graph->nodes[call->node];
        }
        if (status)
            return status;
    }
    return HUSK_OK;
}

static husk_status look_for_it(husk_graph *graph, double loss, const husk__train_scope *scope)
{
    husk__compiled *own = graph->compiled;
    unsigned long long batch = (unsigned long long)own->batch + 1;
    const husk__value *value = NULL;
    const husk__node *node = NULL;
    if (!own->has_forward) // its gradients have been added already
        own->pending = 0;
    bool are_kept = own->options.check_finite != 0; // by forward
    husk_status status = find_in_values(graph, &value, scope);
    // Dropout's masks are those of the batch.
    if (!status && !are_kept) {
        status = husk__copy_statistics(graph, false, scope);
        are_kept = !status;
    }
    if (!status && !value) {
        status = find_in_results(graph, &node, scope);
        own->has_forward = false; // what it left may be half of a forward
    }
    const husk__train_scope silent = {scope->call, NULL}; // the first failure's text stays
    const husk_status restored = are_kept ? husk__copy_statistics(graph, true, status ? &silent : scope) : HUSK_OK;
    status = status ? status : restored;
    if (status)
        return status;
    return husk__train_fail(
        scope, HUSK_INVALID_ARGUMENT,
        "batch %llu, after %llu updates: the loss is %g; the first tensor with NaN or infinity is %s%s", batch,
        (unsigned long long)own->position.updates, loss,
        value ? (value->role == HUSK__ROLE_INPUT ? "the input " : "the parameter ") : "what this node computed: ",
        value  ? value->name
        : node ? node->name
               : graph->values[own->options.loss].name);
}

husk_status husk__check_finite(husk_graph *graph, const husk__train_scope *scope)
{
    husk__compiled *own = graph->compiled;
    husk_tensor loss = graph->values[own->options.loss].tensor;
    loss.buffer = own->regions[HUSK__REGION_OUTSIDE];
    loss.offset = (int64_t)(husk__root(graph, own->options.loss)->offset / husk_dtype_size(loss.dtype));
    double number = 0;
    husk_status status = husk__queue_failed(graph, husk__read_number(graph, &loss, &number), scope);
    return status || isfinite(number) ? status : look_for_it(graph, number, scope);
}

husk_status husk_graph_check_finite(husk_graph *graph)
{
    husk__train_scope scope;
    husk_status status = husk__step_begin(graph, "husk_graph_check_finite", &scope);
    if (!status)
        status = husk__needs_loss(graph, &scope);
    if (!status && !graph->compiled->options.loss)
        status = husk__train_reject(&scope, "graph", "it has no loss");
    if (!status && graph->compiled->at != HUSK_GRAPH_TRAINING)
        status = husk__train_reject(&scope, "graph", "the last forward was no training");
    return status ? status : husk__check_finite(graph, &scope);
}
