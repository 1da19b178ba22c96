// SPDX-License-Identifier: MIT
// Writing a schedule: calls, their tensors, and which gradients are written or added to.
#include "train/graph/schedule.h"

#include <stdlib.h>
#include <string.h>

static husk_status no_memory(husk__schedule *schedule)
{
    return husk__train_no_memory(&schedule->scope);
}

// ---- slots ----

husk__slot husk__slot_none(void)
{
    return (husk__slot){.storage = -1};
}

static husk__region region_of(const husk__schedule *schedule, int32_t value, bool is_gradient)
{
    const husk__value *root = &schedule->graph->values[value];
    switch (root->role) {
    case HUSK__ROLE_INPUT:
        return is_gradient && !root->gradient ? HUSK__REGION_ARENA : HUSK__REGION_OUTSIDE;
    case HUSK__ROLE_PARAMETER:
        if (is_gradient)
            return HUSK__REGION_GRADIENTS;
        return husk__has_copy(schedule->graph, root) ? HUSK__REGION_COPIES : HUSK__REGION_PARAMETERS;
    default:
        return (root->is_output || value == schedule->loss) && !is_gradient ? HUSK__REGION_OUTSIDE : HUSK__REGION_ARENA;
    }
}

// A new storage; -1: no memory, which the next husk__call_add answers.
static int32_t add_storage(husk__schedule *schedule, husk__region region, uint64_t bytes, int32_t value,
                           bool is_gradient)
{
    if (schedule->storage_count == schedule->storage_capacity) {
        int32_t larger = schedule->storage_capacity ? schedule->storage_capacity * 2 : 64;
        husk__storage *moved = realloc(schedule->storages, sizeof *moved * (size_t)larger);
        if (!moved) {
            schedule->failed = true;
            return -1;
        }
        schedule->storages = moved;
        schedule->storage_capacity = larger;
    }
    int32_t index = schedule->storage_count++;
    schedule->storages[index] = (husk__storage){.region = region,
                                                .bytes = bytes,
                                                .value = value,
                                                .is_gradient = is_gradient,
                                                .first = INT32_MAX,
                                                .last = -1,
                                                .shares = index};
    return index;
}

// Of a parameter's gradient it is the parameter's own, whatever forward reads.
static husk_dtype dtype_of(const husk__schedule *schedule, int32_t root, bool is_gradient)
{
    const husk__value *value = &schedule->graph->values[root];
    return is_gradient && husk__has_copy(schedule->graph, value) ? husk__wide_dtype(schedule->graph)
                                                                 : value->tensor.dtype;
}

static int32_t storage_of(husk__schedule *schedule, int32_t root, bool is_gradient)
{
    int32_t *place = is_gradient ? &schedule->of_gradient[root] : &schedule->of_value[root];
    const husk__value *value = &schedule->graph->values[root];
    if (*place < 0) {
        int32_t owner = is_gradient && value->gradient ? value->gradient : root;
        husk_tensor tensor = value->tensor;
        tensor.dtype = dtype_of(schedule, root, is_gradient);
        *place = add_storage(schedule, region_of(schedule, root, is_gradient), (uint64_t)husk_tensor_extent(&tensor),
                             owner, is_gradient);
        if (*place >= 0 && !is_gradient && schedule->keep_values)
            schedule->storages[*place].is_kept = true;
    }
    return *place;
}

static husk__slot slot_of(husk__schedule *schedule, int32_t value, husk__access access, bool is_gradient)
{
    if (!value)
        return husk__slot_none();
    const husk__value *own = &schedule->graph->values[value];
    husk__slot slot = {
        .storage = storage_of(schedule, own->root, is_gradient), .access = access, .tensor = own->tensor};
    slot.tensor.dtype = dtype_of(schedule, own->root, is_gradient);
    return slot;
}

husk__slot husk__slot_read(husk__schedule *schedule, int32_t value)
{
    return slot_of(schedule, value, HUSK__READ, false);
}

husk__slot husk__slot_write(husk__schedule *schedule, int32_t value, uint32_t in_place)
{
    husk__slot slot = slot_of(schedule, value, HUSK__WRITE, false);
    slot.in_place = in_place;
    return slot;
}

husk__slot husk__slot_update(husk__schedule *schedule, int32_t value)
{
    return slot_of(schedule, value, HUSK__UPDATE, false);
}

husk__slot husk__slot_gradient(husk__schedule *schedule, int32_t value)
{
    if (!value || !schedule->written[schedule->graph->values[value].root])
        return husk__slot_none();
    return slot_of(schedule, value, HUSK__READ, true);
}

husk__slot husk__slot_temporary(husk__schedule *schedule, const husk_tensor *like, uint32_t in_place)
{
    husk_tensor tensor = husk_tensor_make(NULL, like->dtype, like->rank, like->shape);
    uint64_t bytes = (uint64_t)husk_tensor_extent(&tensor);
    int32_t storage = add_storage(schedule, HUSK__REGION_ARENA, bytes, 0, false);
    return (husk__slot){.storage = storage, .access = HUSK__WRITE, .in_place = in_place, .tensor = tensor};
}

husk__slot husk__slot_again(husk__slot slot)
{
    slot.access = HUSK__READ;
    slot.in_place = 0;
    return slot;
}

// ---- calls ----

husk__call *husk__call_add(husk__schedule *schedule, const husk__node *node,
                           husk_status (*run)(husk_graph *graph, const husk__call *call), const husk__slot *slots,
                           int32_t count)
{
    if (schedule->failed)
        return NULL;
    if (schedule->count == schedule->capacity) {
        int32_t larger = schedule->capacity ? schedule->capacity * 2 : 64;
        husk__call *moved = realloc(schedule->calls, sizeof *moved * (size_t)larger);
        if (!moved)
            return NULL;
        schedule->calls = moved;
        schedule->capacity = larger;
    }
    husk__slot *copies = malloc(sizeof *copies * (size_t)count);
    if (!copies)
        return NULL;
    memcpy(copies, slots, sizeof *copies * (size_t)count);
    husk__call *call = &schedule->calls[schedule->count++];
    *call = (husk__call){.node = node ? (int32_t)(node - schedule->graph->nodes) : 0,
                         .is_backward = schedule->is_backward,
                         .run = run,
                         .slots = copies,
                         .slot_count = count};
    if (node) {
        call->params = node->params;
        call->alpha = node->alpha;
    }
    return call;
}

static husk_status run_fill(husk_graph *graph, const husk__call *call)
{
    const husk_tensor *x = &call->slots[0].tensor;
    uint64_t size = husk_dtype_size(x->dtype), zero = 0;
    return husk_buffer_fill(graph->queue, x->buffer, (uint64_t)x->offset * size, (uint64_t)husk_tensor_count(x) * size,
                            &zero, size);
}

static husk_status run_copy(husk_graph *graph, const husk__call *call)
{
    return husk_copy(graph->queue, NULL, husk__tensor_of(call, 0), husk__tensor_of(call, 1));
}

static husk_status run_add(husk_graph *graph, const husk__call *call)
{
    husk_binary_params params = husk_binary_defaults(HUSK_BINARY_ADD);
    return husk_binary(graph->queue, &params, husk__tensor_of(call, 1), husk__tensor_of(call, 0),
                       husk__tensor_of(call, 1));
}

bool husk__call_is_copy(const husk__call *call)
{
    return call->run == run_copy;
}

husk_status husk__add_copy(husk__schedule *schedule, const husk__node *node, husk__slot from, husk__slot to)
{
    to.in_place = 1;
    return husk__call_add(schedule, node, run_copy, (husk__slot[]){from, to}, 2) ? HUSK_OK : no_memory(schedule);
}

// to += from, by way of to's dtype where from has another.
static husk_status add_to(husk__schedule *schedule, const husk__node *node, husk__slot from, husk__slot to)
{
    if (from.tensor.dtype != to.tensor.dtype) {
        husk_tensor like = from.tensor;
        like.dtype = to.tensor.dtype;
        husk__slot wide = husk__slot_temporary(schedule, &like, 0);
        if (!husk__call_add(schedule, node, run_copy, (husk__slot[]){from, wide}, 2))
            return no_memory(schedule);
        from = husk__slot_again(wide);
    }
    return husk__call_add(schedule, node, run_add, (husk__slot[]){from, to}, 2) ? HUSK_OK : no_memory(schedule);
}

// All of a root's gradient is zeros, so that a part of it can be added to.
static husk_status fill_gradient(husk__schedule *schedule, const husk__node *node, int32_t root)
{
    husk__slot slot = slot_of(schedule, root, HUSK__WRITE, true);
    schedule->written[root] = true;
    return husk__call_add(schedule, node, run_fill, &slot, 1) ? HUSK_OK : no_memory(schedule);
}

// ---- gradients ----

const husk__node *husk__activation_of(const husk__schedule *schedule, const husk__node *node)
{
    int32_t taken = node->takes[schedule->mode];
    return taken ? &schedule->graph->nodes[taken] : NULL;
}

int32_t husk__output_of(const husk__schedule *schedule, const husk__node *node)
{
    const husk__node *activation = husk__activation_of(schedule, node);
    return (activation ? activation : node)->outputs[0];
}

bool husk__saves(const husk__schedule *schedule, const husk__node *node)
{
    return husk__is_training(schedule) && schedule->graph->values[node->outputs[0]].needs_gradient;
}

bool husk__wants_gradient(const husk__schedule *schedule, int32_t value)
{
    return value && husk__root(schedule->graph, value)->needs_gradient;
}

husk_status husk__add_gradient(husk__schedule *schedule, const husk__node *node, husk__slot from, int32_t value)
{
    const husk__value *own = &schedule->graph->values[value];
    if (!schedule->written[own->root] && own->covers) {
        schedule->written[own->root] = true;
        return husk__add_copy(schedule, node, from, slot_of(schedule, value, HUSK__WRITE, true));
    }
    if (!schedule->written[own->root]) {
        husk_status status = fill_gradient(schedule, node, own->root);
        if (status)
            return status;
    }
    return add_to(schedule, node, from, slot_of(schedule, value, HUSK__UPDATE, true));
}

static uint32_t bits_of(const uint8_t *bits, int32_t i)
{
    return bits ? bits[i] : HUSK_ACCUMULATE_INPUTS;
}

husk_status husk__targets_begin(husk__schedule *schedule, const husk__node *node, const int32_t *values,
                                const uint8_t *bits, int32_t count, uint32_t in_place, husk__targets *targets)
{
    const husk__value *all = schedule->graph->values;
    *targets = (husk__targets){.count = count};
    if (count > schedule->target_capacity) {
        husk__slot *larger = realloc(schedule->targets, 2 * sizeof *larger * (size_t)count);
        if (!larger)
            return no_memory(schedule);
        schedule->targets = larger;
        schedule->target_capacity = count;
    }
    targets->slots = schedule->targets;
    targets->settled = targets->slots + count;
    for (int32_t i = 0; i < count; i++) {
        targets->slots[i] = targets->settled[i] = husk__slot_none();
        if (!husk__wants_gradient(schedule, values[i]))
            continue;
        const husk__value *value = &all[values[i]];
        bool is_apart =
            dtype_of(schedule, value->root, true) != value->tensor.dtype && !(bits_of(bits, i) & HUSK__WIDE);
        for (int32_t j = 0; j < i; j++)
            is_apart = is_apart || (targets->slots[j].access && all[values[j]].root == value->root);
        targets->slots[i].access = is_apart ? HUSK__UPDATE : HUSK__WRITE; // what follows makes it a slot
        if (!is_apart && (schedule->written[value->root] || !value->covers))
            targets->accumulate |= bits_of(bits, i) & HUSK_ACCUMULATE_ALL;
        targets->any = true;
    }
    husk_status status = HUSK_OK;
    for (int32_t i = 0; i < count && !status; i++) {
        husk__slot *slot = &targets->slots[i];
        if (!slot->access)
            continue;
        const husk__value *value = &all[values[i]];
        int32_t root = value->root;
        bool adds = targets->accumulate & bits_of(bits, i), is_apart = slot->access == HUSK__UPDATE;
        bool is_first = !schedule->written[root];
        // Its own memory is filled, or what is made apart is added to it.
        if (is_first && (is_apart ? !value->covers : adds))
            status = fill_gradient(schedule, node, root);
        schedule->written[root] = true;
        if (is_apart) {
            targets->settled[i] =
                slot_of(schedule, values[i], is_first && value->covers ? HUSK__WRITE : HUSK__UPDATE, true);
            *slot = husk__slot_temporary(schedule, &value->tensor, adds ? 0 : in_place);
            if (adds && !husk__call_add(schedule, node, run_fill, slot, 1))
                status = no_memory(schedule);
        } else {
            *slot = slot_of(schedule, values[i], HUSK__WRITE, true);
            slot->in_place = adds ? 0 : in_place;
        }
        slot->access = adds ? HUSK__UPDATE : HUSK__WRITE;
    }
    return status;
}

husk_status husk__targets_settle(husk__schedule *schedule, const husk__node *node, husk__targets *targets)
{
    husk_status status = HUSK_OK;
    for (int32_t i = 0; i < targets->count && !status; i++) {
        const husk__slot from = husk__slot_again(targets->slots[i]), to = targets->settled[i];
        if (to.storage >= 0)
            status =
                to.access == HUSK__WRITE ? husk__add_copy(schedule, node, from, to) : add_to(schedule, node, from, to);
    }
    return status;
}

// ---- the whole ----

// From parameters that are learnt and inputs whose gradient is wanted, along the nodes, to what depends on them.
static void find_needed_gradients(husk_graph *graph, husk_graph_mode mode)
{
    for (int32_t v = 1; v < graph->value_count; v++) {
        husk__value *value = &graph->values[v];
        value->needs_gradient =
            mode == HUSK_GRAPH_TRAINING &&
            (value->gradient || (value->role == HUSK__ROLE_PARAMETER && !value->frozen && !value->is_statistic));
    }
    for (int32_t n = 1; n < graph->node_count; n++) {
        const husk__node *node = &graph->nodes[n];
        bool needed = false;
        for (int32_t i = 0; i < node->input_count && node->kind->backward; i++)
            needed = needed || (node->inputs[i] && (!node->kind->has_gradient || node->kind->has_gradient(node, i)) &&
                                husk__root(graph, node->inputs[i])->needs_gradient);
        for (int32_t o = 0; o < node->output_count; o++)
            graph->values[node->outputs[o]].needs_gradient = needed;
    }
}

// The gradient of the loss is a number that is there before the step: 1 / batches. Where gradients are given, too,
// backward may add to it, so it is copied.
static husk_status begin_with_loss(husk__schedule *schedule, husk_value loss)
{
    int32_t root = schedule->graph->values[loss].root;
    int32_t seed = add_storage(schedule, HUSK__REGION_OUTSIDE,
                               husk_dtype_size(schedule->graph->values[loss].tensor.dtype), 0, true);
    if (seed < 0)
        return no_memory(schedule);
    schedule->seed = seed;
    if (husk__graph_is_given(schedule->graph)) {
        const husk__slot from = {.storage = seed, .access = HUSK__READ, .tensor = schedule->graph->values[loss].tensor};
        return husk__add_gradient(schedule, &schedule->graph->nodes[schedule->graph->values[root].node], from, loss);
    }
    schedule->of_gradient[root] = seed;
    schedule->written[root] = true;
    return HUSK_OK;
}

// Gradients that are given are copied, since backward may add to them.
static husk_status begin_with_given(husk__schedule *schedule)
{
    husk_graph *graph = schedule->graph;
    husk_status status = HUSK_OK;
    for (int32_t v = 1; v < graph->value_count && !status; v++) {
        const husk__value *root = husk__root(graph, v);
        if (graph->values[v].given && root->needs_gradient)
            status = husk__add_gradient(schedule, &graph->nodes[root->node],
                                        husk__slot_read(schedule, graph->values[v].given), v);
    }
    return status;
}

static husk_status check_wanted(const husk__schedule *schedule)
{
    const husk_graph *graph = schedule->graph;
    for (int32_t v = 1; v < graph->value_count; v++)
        if (graph->values[v].gradient && !schedule->written[v])
            return husk__train_reject(&schedule->scope, "options",
                                      "loss: it does not depend on the input %s, whose gradient is wanted",
                                      graph->values[v].name);
    return HUSK_OK;
}

static husk_status write_backward(husk__schedule *schedule, husk_value loss)
{
    husk_graph *graph = schedule->graph;
    schedule->is_backward = true;
    husk_status status = loss ? begin_with_loss(schedule, loss) : HUSK_OK;
    if (!status)
        status = begin_with_given(schedule);
    if (status)
        return status;
    for (int32_t v = 1; v < graph->value_count; v++)
        if (schedule->accumulates && graph->values[v].role == HUSK__ROLE_PARAMETER)
            schedule->written[v] = true;
    for (int32_t n = graph->node_count - 1; n > 0; n--) {
        husk__node *node = &graph->nodes[n];
        bool has_gradient = schedule->written[husk__output_of(schedule, node)];
        for (int32_t o = 1; o < node->output_count; o++)
            has_gradient = has_gradient || schedule->written[node->outputs[o]];
        if (!has_gradient || !node->kind->backward || node->taken[schedule->mode] ||
            !graph->values[node->outputs[0]].needs_gradient)
            continue;
        status = node->kind->backward(schedule, node);
        if (status)
            return status;
    }
    return check_wanted(schedule);
}

husk_status husk__schedule_build(husk__schedule *schedule, husk_graph *graph, husk_graph_mode mode, husk_value loss,
                                 bool accumulates, bool keep_values, const husk__train_scope *scope)
{
    size_t values = (size_t)graph->value_count;
    *schedule = (husk__schedule){.graph = graph,
                                 .mode = mode,
                                 .accumulates = accumulates,
                                 .keep_values = keep_values,
                                 .scope = *scope,
                                 .loss = loss ? graph->values[loss].root : 0,
                                 .seed = -1};
    schedule->of_value = malloc(sizeof *schedule->of_value * values);
    schedule->of_gradient = malloc(sizeof *schedule->of_gradient * values);
    schedule->written = calloc(values, sizeof *schedule->written);
    if (!schedule->of_value || !schedule->of_gradient || !schedule->written)
        return no_memory(schedule);
    for (size_t v = 0; v < values; v++)
        schedule->of_value[v] = schedule->of_gradient[v] = -1;
    find_needed_gradients(graph, mode);
    husk_status status = HUSK_OK;
    for (int32_t n = 1; n < graph->node_count && !status; n++)
        if (!graph->nodes[n].taken[mode])
            status = graph->nodes[n].kind->forward(schedule, &graph->nodes[n]);
    schedule->forward_count = schedule->count;
    if (!status && mode == HUSK_GRAPH_TRAINING)
        status = write_backward(schedule, loss);
    return status;
}

void husk__schedule_release(husk__schedule *schedule)
{
    for (int32_t i = 0; i < schedule->count; i++) {
        husk_plan_release(schedule->calls[i].plan);
        free(schedule->calls[i].variant);
        free(schedule->calls[i].slots);
        free(schedule->calls[i].room);
    }
    free(schedule->calls);
    free(schedule->storages);
    free(schedule->targets);
    free(schedule->of_value);
    free(schedule->of_gradient);
    free(schedule->written);
    *schedule = (husk__schedule){0};
}
