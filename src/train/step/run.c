// SPDX-License-Identifier: MIT
// Steps: forward, backward, and all of it.
#include "train/step/calls.h"
#include "train/step/copies.h"
#include "train/step/finite.h"
#include "train/step/micro_batch.h"
#include "train/step/update.h"

// ---- forward ----

husk_status husk_graph_forward(husk_graph *graph, husk_graph_mode mode)
{
    husk__train_scope scope;
    husk_status status = husk__step_begin(graph, "husk_graph_forward", &scope);
    if (!status && mode != HUSK_GRAPH_EVALUATION && mode != HUSK_GRAPH_TRAINING)
        status = husk__train_reject(&scope, "mode", "%d is no mode", (int)mode);
    if (!status && mode == HUSK_GRAPH_TRAINING)
        status = husk__needs_loss(graph, &scope);
    if (status)
        return status;
    husk__compiled *own = graph->compiled;
    husk__begin_forward(own);
    status = husk__refresh_copies(graph, &scope);
    if (!status && mode == HUSK_GRAPH_TRAINING && own->options.check_finite)
        status = husk__copy_statistics(graph, false, &scope);
    if (!status)
        status = husk__run_calls(graph, &own->schedules[mode], 0, own->schedules[mode].forward_count, &scope);
    own->at = mode;
    own->has_forward = !status && mode == HUSK_GRAPH_TRAINING;
    return status;
}

// ---- backward ----

static husk_status clear_gradients(husk_graph *graph, const husk__train_scope *scope)
{
    husk_buffer *gradients = graph->compiled->regions[HUSK__REGION_GRADIENTS];
    uint32_t pattern = 0;
    return husk__queue_failed(
        graph, husk_buffer_fill(graph->queue, gradients, 0, husk_buffer_size(gradients), &pattern, sizeof pattern),
        scope);
}

static husk_status run_backward(husk_graph *graph, const husk__train_scope *scope)
{
    husk__compiled *own = graph->compiled;
    const husk__schedule *schedule = &own->schedules[HUSK_GRAPH_TRAINING];
    husk_status status = HUSK_OK;
    if (own->options.accumulate > 1 && own->pending == 0)
        status = clear_gradients(graph, scope);
    bool is_last = own->pending + 1 == own->options.accumulate;
    int32_t at = schedule->forward_count;
    for (size_t b = 0; b < own->bucket_count && own->ready && is_last && !status; b++) {
        int32_t past = own->buckets[b].call + 1;
        status = husk__run_calls(graph, schedule, at, past > at ? past : at, scope);
        at = past > at ? past : at;
        if (status)
            break;
        status = own->ready(own->ready_user, graph, b);
        if (status)
            husk__train_fail(scope, status, "the callback has failed at bucket %zu", b);
    }
    return status ? status : husk__run_calls(graph, schedule, at, schedule->count, scope);
}

static husk_status needs_room(husk_graph *graph, const husk__train_scope *scope)
{
    husk__compiled *own = graph->compiled;
    if (own->pending < own->options.accumulate)
        return HUSK_OK;
    if (!own->has_optimizer) { // nothing else ends a step
        own->pending = 0;
        return HUSK_OK;
    }
    return husk__train_reject(scope, "graph", "%u of %u batches are in: husk_graph_update comes before the next",
                              (unsigned)own->pending, (unsigned)own->options.accumulate);
}

static husk_status backward(husk_graph *graph, const husk__train_scope *scope)
{
    husk__compiled *own = graph->compiled;
    if (!own->has_forward)
        return husk__train_reject(scope, "graph",
                                  "the last forward has to be in training, not used up yet, and what it has read "
                                  "not changed since");
    husk_status room = needs_room(graph, scope);
    if (room)
        return room;
    own->has_forward = false;
    husk_status status = run_backward(graph, scope);
    if (status) { // some gradients have this batch in them, others have not
        own->pending = 0;
        return status;
    }
    own->pending++;
    own->position.batches++;
    return HUSK_OK;
}

husk_status husk_graph_backward(husk_graph *graph)
{
    husk__train_scope scope;
    husk_status status = husk__step_begin(graph, "husk_graph_backward", &scope);
    if (!status)
        status = husk__needs_loss(graph, &scope);
    return status ? status : backward(graph, &scope);
}

// ---- a step ----

husk_status husk_graph_step(husk_graph *graph)
{
    husk__train_scope scope;
    husk_status status = husk__step_begin(graph, "husk_graph_step", &scope);
    if (!status)
        status = husk__needs_loss(graph, &scope);
    if (!status && !graph->compiled->has_optimizer)
        status = husk__train_reject(&scope, "graph", "it was compiled without an optimizer");
    if (!status)
        status = needs_room(graph, &scope);
    if (status)
        return status;
    husk__compiled *own = graph->compiled;
    const husk__schedule *schedule = &own->schedules[HUSK_GRAPH_TRAINING];
    own->at = HUSK_GRAPH_TRAINING;
    husk__begin_forward(own);
    status = husk__refresh_copies(graph, &scope);
    if (!status && own->options.check_finite)
        status = husk__copy_statistics(graph, false, &scope);
    if (!status)
        status = husk__run_calls(graph, schedule, 0, schedule->forward_count, &scope);
    own->has_forward = !status;
    if (!status && own->options.check_finite)
        status = husk__check_finite(graph, &scope);
    if (!status)
        status = backward(graph, &scope);
    if (!status && own->pending == own->options.accumulate)
        status = husk__update(graph, &scope);
    return status;
}
