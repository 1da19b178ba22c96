// SPDX-License-Identifier: MIT
#include "train/step/place.h"

#include <stdlib.h>

#include "train/graph/arena.h"

// Bytes up to the next parameter; half of them are whole lines, too, for the copy that lies at the same element.
static uint64_t parameter_bytes(const husk_graph *graph, const husk__value *value)
{
    husk_tensor tensor = value->tensor;
    tensor.dtype = husk__parameter_dtype(graph, value);
    uint64_t bytes = (uint64_t)husk_tensor_extent(&tensor);
    return husk__is_mixed(graph) ? 2 * husk__aligned((bytes + 1) / 2) : husk__aligned(bytes);
}

typedef struct finished {
    int32_t value, call;
} finished;

static int by_call(const void *a, const void *b)
{
    const finished *x = a, *y = b;
    if (x->call != y->call)
        return x->call < y->call ? -1 : 1;
    return x->value < y->value ? -1 : 1;
}

husk_status husk__order_parameters(husk_graph *graph, husk__compiled *own, const husk__train_scope *scope)
{
    const husk__schedule *schedule = &own->schedules[HUSK_GRAPH_TRAINING];
    size_t count = (size_t)graph->value_count;
    own->trained = malloc(sizeof *own->trained * count);
    own->parameters = malloc(sizeof *own->parameters * count);
    own->buckets = malloc(sizeof *own->buckets * count);
    finished *list = malloc(sizeof *list * count);
    if (!own->trained || !own->parameters || !own->buckets || !list) {
        free(list);
        return husk__train_no_memory(scope);
    }
    for (int32_t v = 1; v < graph->value_count; v++) {
        if (graph->values[v].role != HUSK__ROLE_PARAMETER)
            continue;
        own->parameters[own->parameter_count++] = v;
        graph->values[v].is_trained = schedule->graph && schedule->of_gradient[v] >= 0;
        if (graph->values[v].is_trained)
            list[own->trained_count++] = (finished){v, schedule->storages[schedule->of_gradient[v]].last};
    }
    qsort(list, (size_t)own->trained_count, sizeof *list, by_call);
    uint64_t at = 0;
    husk__bucket_range bucket = {0};
    for (int32_t i = 0; i < own->trained_count; i++) {
        husk__value *value = &graph->values[list[i].value];
        own->trained[i] = list[i].value;
        value->offset = at;
        at = husk__sum(at, parameter_bytes(graph, value));
        bucket.end = at;
        bucket.call = list[i].call;
        if (at - bucket.begin >= own->options.bucket_bytes || i + 1 == own->trained_count) {
            own->buckets[own->bucket_count++] = bucket;
            bucket.begin = at;
        }
    }
    free(list);
    own->trained_bytes = own->statistics = own->memory.gradients = at;
    for (int statistics = 0; statistics < 2; statistics++)
        for (int32_t i = 0; i < own->parameter_count; i++) {
            husk__value *value = &graph->values[own->parameters[i]];
            if (value->is_trained || value->is_statistic != (bool)statistics)
                continue;
            value->offset = at;
            at = husk__sum(at, parameter_bytes(graph, value));
            if (!statistics)
                own->statistics = at;
        }
    own->parameter_bytes = at;
    own->copied_bytes = husk__is_mixed(graph) ? own->statistics : 0;
    own->memory.parameters = husk__sum(at, own->copied_bytes / 2);
    for (int s = 0; s < HUSK__STATES; s++)
        own->memory.states = husk__sum(own->memory.states, own->keeps_state[s] ? own->trained_bytes : 0);
    own->memory.states = husk__sum(own->memory.states, own->has_loss_scale ? HUSK__NUMBER_BYTES : 0);
    return HUSK_OK;
}

void husk__place_outside(husk_graph *graph, husk__compiled *own)
{
    uint64_t at = 0;
    for (int32_t v = 1; v < graph->value_count; v++) {
        husk__value *value = &graph->values[v];
        if (value->role != HUSK__ROLE_INPUT && value->role != HUSK__ROLE_INPUT_GRADIENT &&
            !(value->role == HUSK__ROLE_RESULT && husk__is_kept(graph, own->options.loss, v)))
            continue;
        value->offset = at;
        at = husk__sum(at, husk__aligned((uint64_t)husk_tensor_extent(&value->tensor)));
    }
    own->before = at;
    for (int32_t i = 0; i < own->parameter_count; i++)
        if (graph->values[own->parameters[i]].is_statistic)
            own->before_bytes = own->parameter_bytes - own->statistics;
    own->numbers = husk__sum(at, own->before_bytes);
    own->memory.inputs = husk__sum(own->numbers, HUSK__NUMBERS * HUSK__NUMBER_BYTES);
}

// What is not in the arena lies where its value does.
void husk__place_storages(husk_graph *graph, husk__compiled *own, husk__schedule *schedule)
{
    for (int32_t i = 0; i < schedule->storage_count; i++) {
        husk__storage *storage = &schedule->storages[i];
        if (storage->region != HUSK__REGION_ARENA && storage->value)
            storage->offset = graph->values[storage->value].offset / (storage->region == HUSK__REGION_COPIES ? 2 : 1);
    }
    if (!schedule->graph || schedule->seed < 0)
        return;
    husk__storage *seed = &schedule->storages[schedule->seed];
    seed->offset = own->numbers + HUSK__NUMBER_SEED * HUSK__NUMBER_BYTES;
    if (own->has_loss_scale) { // gradients begin with it
        seed->region = HUSK__REGION_SCALE;
        seed->offset = 0;
    }
}
