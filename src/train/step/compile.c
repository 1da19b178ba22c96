// SPDX-License-Identifier: MIT
// Compiling: fuse, differentiate, order the gradients, plan memory, allocate, make plans, warm up, initialise.
#include <stdlib.h>
#include <string.h>

#include "train/check/verify.h"
#include "train/graph/arena.h"
#include "train/nodes/activation.h"
#include "train/step/calls.h"
#include "train/step/copies.h"
#include "train/step/loss_scale.h"
#include "train/step/micro_batch.h"
#include "train/step/options.h"
#include "train/step/place.h"
#include "train/step/update.h"

// ---- fusing ----

static void fuse(husk_graph *graph, husk_value loss, bool keep_values)
{
    for (int32_t n = 1; n < graph->node_count; n++)
        for (int mode = 0; mode < 2; mode++)
            graph->nodes[n].takes[mode] = graph->nodes[n].taken[mode] = 0;
    for (int32_t n = 1; n < graph->node_count; n++) {
        husk__node *node = &graph->nodes[n];
        if (!node->kind->is_activation)
            continue;
        const husk__value *x = &graph->values[node->inputs[0]];
        if (x->role != HUSK__ROLE_RESULT || x->users != 1 || husk__is_kept(graph, loss, node->inputs[0]) ||
            (keep_values && x->name))
            continue;
        husk__node *before = &graph->nodes[x->node];
        for (int mode = 0; mode < 2 && before->kind->takes_activation; mode++)
            if (mode == HUSK_GRAPH_EVALUATION || husk__activation_from_result(&node->params.activation)) {
                before->takes[mode] = n;
                node->taken[mode] = x->node;
            }
    }
}

// ---- plans ----

static void count_workspace(husk__schedule *schedule)
{
    for (int32_t c = 0; c < schedule->count; c++) {
        const husk__call *call = &schedule->calls[c];
        const uint64_t bytes = call->plan ? husk_plan_workspace(call->plan) : call->workspace;
        if (bytes > schedule->workspace)
            schedule->workspace = bytes;
    }
}

static husk_status make_plans(husk_graph *graph, husk__schedule *schedule, const husk__train_scope *scope)
{
    for (int32_t c = 0; c < schedule->count; c++) {
        husk__call *call = &schedule->calls[c];
        if (call->plan_create) {
            husk_error error;
            husk_status status = call->plan_create(graph, call, &error);
            if (status) {
                const char *rest = strstr(error.text, ": ");
                husk__train_fail(scope, status, "%s: %s", graph->nodes[call->node].name, rest ? rest + 2 : error.text);
                return husk__caused_by(scope->error, &error, status);
            }
        }
    }
    count_workspace(schedule);
    return HUSK_OK;
}

// ---- all that needs no memory of the device ----

static husk_status refuse_beyond(husk_graph_memory *m, uint64_t limit, const char *whose,
                                 const husk__train_scope *scope)
{
    const uint64_t parts[] = {m->parameters, m->gradients, m->states, m->inputs, m->arena, m->workspace};
    m->total = 0;
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        m->total = husk__sum(m->total, parts[i]);
    if (m->total <= limit)
        return HUSK_OK;
    return husk__train_fail(scope, HUSK_OUT_OF_MEMORY,
                            "%.1f MiB are needed (parameters %.1f, gradients %.1f, optimizer %.1f, inputs and outputs "
                            "%.1f, arena %.1f, workspace %.1f), and %s is %.1f MiB",
                            (double)m->total / 0x1p20, (double)m->parameters / 0x1p20, (double)m->gradients / 0x1p20,
                            (double)m->states / 0x1p20, (double)m->inputs / 0x1p20, (double)m->arena / 0x1p20,
                            (double)m->workspace / 0x1p20, whose, (double)limit / 0x1p20);
}

static const char of_options[] = "options.memory_limit";

static husk_status check_total(husk_graph *graph, husk__compiled *own, const husk__train_scope *scope)
{
    husk_memory_stats stats;
    if (own->options.memory_limit)
        return refuse_beyond(&own->memory, own->options.memory_limit, of_options, scope);
    husk_context_memory_stats(graph->context, &stats);
    const uint64_t left = stats.budget_bytes > stats.live_bytes ? stats.budget_bytes - stats.live_bytes : 0;
    return refuse_beyond(&own->memory, left, "what the context's memory budget has left", scope);
}

static husk_status check_memory(husk_graph *graph, husk__compiled *own, const husk__train_scope *scope)
{
    husk_graph_memory *m = &own->memory;
    for (int mode = 0; mode < 2; mode++) {
        const husk__schedule *schedule = &own->schedules[mode];
        m->arena = schedule->arena > m->arena ? schedule->arena : m->arena;
        m->unshared = schedule->unshared > m->unshared ? schedule->unshared : m->unshared;
        m->workspace = schedule->workspace > m->workspace ? schedule->workspace : m->workspace;
    }
    uint64_t *const each[] = {&m->inputs, &m->arena, &m->unshared};
    for (size_t i = 0; i < sizeof each / sizeof *each; i++)
        if (__builtin_mul_overflow(*each[i], (uint64_t)own->options.micro_batches, each[i]))
            *each[i] = UINT64_MAX;
    return check_total(graph, own, scope);
}

// Variants that took others' places may want more scratch memory.
static husk_status verify(husk_graph *graph, husk__compiled *own, const husk__train_scope *scope)
{
    husk_status status = husk__verify(graph, own, scope);
    for (int mode = 0; mode < 2; mode++) {
        count_workspace(&own->schedules[mode]);
        if (own->schedules[mode].workspace > own->memory.workspace)
            own->memory.workspace = own->schedules[mode].workspace;
    }
    return status ? status : check_total(graph, own, scope);
}

static husk_status plan_all(husk_graph *graph, husk__compiled *own, const husk__train_scope *scope)
{
    bool keep = own->options.keep_values;
    husk_value loss = own->options.loss;
    bool trains = loss || husk__graph_is_given(graph);
    fuse(graph, loss, keep);
    husk_status status = HUSK_OK;
    for (int mode = 0; mode < 2 && !status; mode++)
        if (mode == HUSK_GRAPH_EVALUATION || trains)
            status = husk__schedule_build(&own->schedules[mode], graph, (husk_graph_mode)mode, loss,
                                          own->options.accumulate > 1, keep, scope);
    for (int mode = 0; mode < 2 && !status; mode++)
        if (own->schedules[mode].graph) {
            status = husk__arena_plan(&own->schedules[mode]);
            if (!status)
                status = make_plans(graph, &own->schedules[mode], scope);
        }
    if (!status)
        status = husk__order_parameters(graph, own, scope);
    if (status)
        return status;
    if (trains && own->trained_count == 0)
        return husk__train_reject(scope, "options", "loss: no parameter that is learnt has anything to do with it");
    husk__place_outside(graph, own);
    for (int mode = 0; mode < 2; mode++)
        husk__place_storages(graph, own, &own->schedules[mode]);
    return check_memory(graph, own, scope);
}

// A measured or compiled graph, without memory; NULL: refused.
static husk__compiled *plan_graph(husk_graph *graph, const husk_graph_options *options, husk_status *status,
                                  const husk__train_scope *scope)
{
    *status = HUSK_OK;
    if (!graph)
        *status = husk__train_reject(scope, "graph", "it is NULL");
    else if (graph->failed) {
        if (scope->error)
            *scope->error = graph->error;
        *status = graph->failed;
    } else if (graph->compiled)
        *status = husk__train_reject(scope, "graph", "it is compiled already");
    else if (graph->node_count == 1)
        *status = husk__train_reject(scope, "graph", "it has no node");
    if (*status)
        return NULL;
    husk__compiled *own = calloc(1, sizeof *own);
    if (!own) {
        *status = husk__train_no_memory(scope);
        return NULL;
    }
    *status = husk__read_options(graph, own, options, scope);
    if (!*status)
        *status = plan_all(graph, own, scope);
    if (*status) {
        husk__compiled_release(own);
        return NULL;
    }
    return own;
}

husk_status husk_graph_measure(husk_graph *graph, const husk_graph_options *options, husk_graph_memory *memory,
                               husk_error *error)
{
    const husk__train_scope scope = {"husk_graph_measure", error};
    husk_status status;
    if (!memory)
        return husk__train_reject(&scope, "memory", "it is NULL");
    husk__compiled *own = plan_graph(graph, options, &status, &scope);
    if (own)
        *memory = own->memory;
    husk__compiled_release(own);
    return status;
}

// ---- memory, and what is in it ----

static husk_status allocate(husk_graph *graph, husk__compiled *own, const husk__train_scope *scope)
{
    const struct {
        husk__region region;
        uint64_t bytes;
    } regions[] = {{HUSK__REGION_PARAMETERS, own->parameter_bytes},
                   {HUSK__REGION_COPIES, own->copied_bytes / 2},
                   {HUSK__REGION_GRADIENTS, own->memory.gradients},
                   {HUSK__REGION_SCALE, own->has_loss_scale ? HUSK__NUMBER_BYTES : 0}};
    uint32_t count = own->options.micro_batches;
    husk_error error;
    own->micro_batches = calloc(count, sizeof *own->micro_batches);
    if (!own->micro_batches)
        return husk__train_no_memory(scope);
    husk_status status = HUSK_OK;
    for (size_t r = 0; r < sizeof regions / sizeof *regions && !status; r++)
        status = husk_buffer_create(graph->context, regions[r].bytes, &own->regions[regions[r].region], &error);
    for (uint32_t m = 0; m < count && !status; m++) {
        husk__micro_batch *batch = &own->micro_batches[m];
        status = husk_buffer_create(graph->context, own->memory.arena / count, &batch->arena, &error);
        if (!status)
            status = husk_buffer_create(graph->context, own->memory.inputs / count, &batch->outside, &error);
    }
    for (int s = 0; s < HUSK__STATES && !status; s++)
        if (own->keeps_state[s])
            status = husk_buffer_create(graph->context, own->trained_bytes, &own->states[s], &error);
    if (status)
        return husk__caused_by(scope->error, &error, husk__train_fail(scope, status, "%s", error.text));
    for (int mode = 0; mode < 2; mode++) {
        husk__schedule *schedule = &own->schedules[mode];
        for (int32_t c = 0; c < schedule->count; c++)
            for (int32_t s = 0; s < schedule->calls[c].slot_count; s++) {
                husk__slot *slot = &schedule->calls[c].slots[s];
                if (slot->storage >= 0)
                    slot->tensor.offset +=
                        (int64_t)(schedule->storages[slot->storage].offset / husk_dtype_size(slot->tensor.dtype));
            }
    }
    husk__use_micro_batch(own, 0);
    return HUSK_OK;
}

static husk_status zero(husk_graph *graph, husk_buffer *buffer)
{
    uint32_t pattern = 0;
    return buffer && husk_buffer_size(buffer)
               ? husk_buffer_fill(graph->queue, buffer, 0, husk_buffer_size(buffer), &pattern, sizeof pattern)
               : HUSK_OK;
}

static husk_status zero_all(husk_graph *graph, husk__compiled *own)
{
    husk_status status = HUSK_OK;
    for (int r = HUSK__REGION_KEPT; r < HUSK__REGIONS && !status; r++)
        status = zero(graph, own->regions[r]);
    for (uint32_t m = 0; m < own->options.micro_batches && !status; m++) {
        status = zero(graph, own->micro_batches[m].arena);
        if (!status)
            status = zero(graph, own->micro_batches[m].outside);
    }
    for (int s = 0; s < HUSK__STATES && !status; s++)
        status = zero(graph, own->states[s]);
    return status;
}

static husk_status write_seed(husk_graph *graph, husk__compiled *own)
{
    const husk_loss_scale start = {.scale = own->loss_scale.start};
    if (own->has_loss_scale)
        return husk__write_scale(graph, &start);
    double wide = 1.0 / own->options.accumulate;
    float narrow = (float)wide;
    bool is_f64 = graph->dtype == HUSK_F64;
    husk_status status = HUSK_OK;
    for (uint32_t m = 0; m < own->options.micro_batches && !status; m++)
        status = husk_buffer_write(graph->queue, own->micro_batches[m].outside,
                                   own->numbers + HUSK__NUMBER_SEED * HUSK__NUMBER_BYTES,
                                   husk_dtype_size(husk__wide_dtype(graph)), is_f64 ? (void *)&wide : (void *)&narrow);
    return status;
}

// A step on zeros: programs are built, variants chosen, and the queue has the scratch memory of every call. What it
// leaves is overwritten.
static husk_status warm_up(husk_graph *graph, husk__compiled *own, const husk__train_scope *scope)
{
    husk_memory_stats before, after;
    husk_status status = HUSK_OK;
    husk_context_memory_stats(graph->context, &before);
    for (int mode = 0; mode < 2 && !status; mode++)
        status = husk__run_calls(graph, &own->schedules[mode], 0, own->schedules[mode].count, scope);
    if (!status && own->has_optimizer)
        status = husk__run_update(graph, scope);
    husk_context_memory_stats(graph->context, &after);
    const uint64_t scratch = after.live_bytes > before.live_bytes ? after.live_bytes - before.live_bytes : 0;
    if (!status && scratch > own->memory.workspace) {
        own->memory.workspace = scratch;
        status = refuse_beyond(&own->memory, own->options.memory_limit ? own->options.memory_limit : UINT64_MAX,
                               of_options, scope);
    }
    if (!status)
        status = husk__queue_failed(graph, zero_all(graph, own), scope);
    return status ? status : husk__queue_failed(graph, write_seed(graph, own), scope);
}

// The numbers of the optimizer, by its own rules, on nothing.
static husk_status check_optimizer(husk_graph *graph, husk__compiled *own, const husk__train_scope *scope)
{
    const int64_t none = 0;
    const husk_tensor g = husk_tensor_make(own->regions[HUSK__REGION_GRADIENTS], husk__wide_dtype(graph), 1, &none);
    const husk_tensor w = husk_tensor_make(own->regions[HUSK__REGION_PARAMETERS], husk__wide_dtype(graph), 1, &none);
    husk_tensor states[HUSK__STATES];
    const husk_tensor *kept[HUSK__STATES] = {NULL};
    husk_optimizer_params params = own->optimizer;
    params.step = 1;
    for (int s = 0; s < HUSK__STATES; s++) {
        states[s] = husk_tensor_make(own->states[s], husk__wide_dtype(graph), 1, &none);
        kept[s] = own->keeps_state[s] ? &states[s] : NULL;
    }
    return husk__queue_failed(graph, husk_optimizer(graph->queue, &params, &g, &w, kept[0], kept[1], kept[2]), scope);
}

static void store(char *to, husk_dtype dtype, int64_t at, double number)
{
    if (dtype == HUSK_F64)
        ((double *)to)[at] = number;
    else if (dtype == HUSK_F32)
        ((float *)to)[at] = (float)number;
    else
        ((uint8_t *)to)[at] = (uint8_t)number; // a zero point, or weights that are still to be loaded
}

static husk_status initialise(husk_graph *graph, husk__compiled *own, const husk__train_scope *scope)
{
    uint64_t bytes = own->parameter_bytes;
    char *host = calloc(1, bytes + 1);
    husk_status status = host ? HUSK_OK : husk__train_no_memory(scope);
    for (int32_t i = 0; i < own->parameter_count && !status; i++) {
        const husk__value *value = &graph->values[own->parameters[i]];
        int64_t count = husk_tensor_count(&value->tensor);
        double *numbers = malloc(sizeof *numbers * (size_t)count);
        if (!numbers)
            status = husk__train_no_memory(scope);
        else
            status = husk_initializer_fill(&value->initializer, graph->seed, value->name, value->tensor.rank,
                                           value->tensor.shape, numbers, scope->error);
        for (int64_t e = 0; e < count && !status; e++)
            store(host + value->offset, husk__parameter_dtype(graph, value), e, numbers[e]);
        free(numbers);
    }
    if (!status)
        status = husk__queue_failed(
            graph, husk_buffer_write(graph->queue, own->regions[HUSK__REGION_PARAMETERS], 0, bytes, host), scope);
    own->copies_are_old = true;
    if (!status)
        status = husk__refresh_copies(graph, scope);
    free(host);
    return status;
}

husk_status husk_graph_compile(husk_graph *graph, const husk_graph_options *options, husk_error *error)
{
    const husk__train_scope scope = {"husk_graph_compile", error};
    husk_status status;
    husk__compiled *own = plan_graph(graph, options, &status, &scope);
    if (!own)
        return status;
    if (!own->options.unverified)
        status = verify(graph, own, &scope);
    if (status) {
        husk__compiled_release(own);
        return status;
    }
    graph->compiled = own;
    status = allocate(graph, own, &scope);
    if (!status && own->has_optimizer)
        status = check_optimizer(graph, own, &scope);
    if (!status)
        status = husk__queue_failed(graph, zero_all(graph, own), &scope);
    if (!status)
        status = husk__queue_failed(graph, write_seed(graph, own), &scope);
    if (!status && !own->options.cold)
        status = warm_up(graph, own, &scope);
    if (!status)
        status = initialise(graph, own, &scope);
    if (status) {
        husk_queue_finish(graph->queue);
        graph->compiled = NULL;
        husk__compiled_release(own);
        return status;
    }
    own->is_final = true;
    return HUSK_OK;
}

void husk_graph_memory_used(const husk_graph *graph, husk_graph_memory *memory)
{
    if (memory)
        *memory = graph && graph->compiled ? graph->compiled->memory : (husk_graph_memory){0};
}
