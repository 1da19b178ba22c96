// SPDX-License-Identifier: MIT
#include "train/step/update.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "train/step/calls.h"
#include "train/step/copies.h"
#include "train/step/loss_scale.h"
#include "train/step/masks.h"
#include "train/step/micro_batch.h"

static husk_tensor flat(const husk_graph *graph, husk_buffer *buffer)
{
    return husk__flat(graph, buffer, husk__wide_dtype(graph), graph->compiled->trained_bytes);
}

// Take the loss scale out of the gradients, find out whether they are finite, clip their elements.
static husk_status prepare_gradients(husk_graph *graph, const husk_tensor *gradients)
{
    const husk__compiled *own = graph->compiled;
    const husk_tensor scale = husk__scale_number(graph, HUSK__SCALE_NOW);
    const husk_tensor found = husk__number(graph, HUSK__NUMBER_FOUND);
    const husk_tensor state = husk__scale_state(graph);
    husk_grad_scale_params params = husk_grad_scale_defaults();
    params.limit = own->options.clip_value;
    if (!own->has_loss_scale)
        return own->options.clip_value > 0 ? husk_grad_scale(graph->queue, &params, &gradients, 1, NULL, NULL)
                                           : HUSK_OK;
    params.factor = (float)(1.0 / own->options.accumulate);
    params.divides = 1;
    params.state = &state;
    params.growth = own->loss_scale.growth;
    params.backoff = own->loss_scale.backoff;
    params.interval = own->loss_scale.interval;
    return husk_grad_scale(graph->queue, &params, &gradients, 1, &scale, &found);
}

// A norm's configuration decides how its sums are cut, too; an optimizer's steps are elements' own.
static void note_variant(husk_graph *graph, const char *op, bool with_configuration)
{
    const husk_plan *plan = husk_queue_plan(graph->queue);
    char *text = graph->compiled->update_variants;
    const size_t used = strlen(text);
    const bool keeps = husk_context_has_quirk(husk_queue_context(graph->queue), HUSK_QUIRK_FLUSH);
    snprintf(text + used, HUSK__UPDATE_VARIANTS - used, "%s%s %s%s%s%s", used ? ", " : "", op, husk_plan_variant(plan),
             with_configuration ? ":" : "", with_configuration ? husk_plan_configuration(plan) : "",
             keeps ? " with denormals" : "");
}

const char *husk_graph_update_variants(const husk_graph *graph)
{
    return graph && graph->compiled ? graph->compiled->update_variants : "";
}

husk_status husk__run_update(husk_graph *graph, const husk__train_scope *scope)
{
    husk__compiled *own = graph->compiled;
    husk_tensor gradients = flat(graph, own->regions[HUSK__REGION_GRADIENTS]);
    husk_tensor parameters = flat(graph, own->regions[HUSK__REGION_PARAMETERS]);
    husk_tensor states[HUSK__STATES];
    for (int s = 0; s < HUSK__STATES; s++)
        states[s] = flat(graph, own->states[s]);
    husk_optimizer_params params = own->optimizer;
    params.step = own->position.updates + 1;
    husk_tensor coefficient = husk__number(graph, HUSK__NUMBER_COEFFICIENT);
    husk_tensor found = husk__number(graph, HUSK__NUMBER_FOUND);
    husk_tensor skipped = husk__scale_number(graph, HUSK__SCALE_SKIPPED);
    husk_tensor copies = husk__flat(graph, own->regions[HUSK__REGION_COPIES], graph->dtype, own->trained_bytes);
    if (own->has_loss_scale) {
        params.skip = &found;
        params.skipped = &skipped;
    }
    if (own->copied_bytes > 0)
        params.copy = &copies;
    husk_status status = own->masks ? husk__masks_apply(graph, gradients.buffer) : HUSK_OK;
    if (!status)
        status = prepare_gradients(graph, &gradients);
    own->update_variants[0] = 0;
    if (!status && own->options.clip_norm > 0) {
        husk_grad_norm_params norm_params = HUSK_GRAD_NORM_PARAMS(.max_norm = own->options.clip_norm);
        husk_tensor norm = husk__number(graph, HUSK__NUMBER_NORM);
        status =
            husk_grad_norm(graph->queue, &norm_params, (const husk_tensor *[]){&gradients}, 1, &norm, &coefficient);
        params.scale = &coefficient;
        if (!status)
            note_variant(graph, "grad_norm", true);
    }
    if (!status)
        status = husk_optimizer(graph->queue, &params, &gradients, &parameters, own->keeps_state[0] ? &states[0] : NULL,
                                own->keeps_state[1] ? &states[1] : NULL, own->keeps_state[2] ? &states[2] : NULL);
    if (!status)
        note_variant(graph, "optimizer", false);
    return husk__queue_failed(graph, status, scope);
}

husk_status husk__update(husk_graph *graph, const husk__train_scope *scope)
{
    husk__compiled *own = graph->compiled;
    if (!own->has_optimizer)
        return husk__train_reject(scope, "graph", "it was compiled without an optimizer");
    if (own->pending < own->options.accumulate)
        return husk__train_reject(scope, "graph", "%u of %u batches are in", (unsigned)own->pending,
                                  (unsigned)own->options.accumulate);
    husk_status status = husk__run_update(graph, scope);
    husk__drop_forwards(own);
    own->pending = 0; // a failure may have taken the loss scale out of the gradients, so they are of no use
    own->position.updates += !status;
    return status;
}

husk_status husk_graph_update(husk_graph *graph)
{
    husk__train_scope scope;
    husk_status status = husk__step_begin(graph, "husk_graph_update", &scope);
    return status ? status : husk__update(graph, &scope);
}

husk_status husk_graph_set_rate(husk_graph *graph, double rate)
{
    husk__train_scope scope;
    husk_status status = husk__step_begin(graph, "husk_graph_set_rate", &scope);
    if (!status && !isfinite(rate))
        status = husk__train_reject(&scope, "rate", "it has to be finite");
    if (!status && !graph->compiled->has_optimizer)
        status = husk__train_reject(&scope, "graph", "it was compiled without an optimizer");
    if (!status)
        graph->compiled->optimizer.rate = rate;
    return status;
}

husk_graph_position husk_graph_get_position(const husk_graph *graph)
{
    return graph && graph->compiled ? graph->compiled->position : (husk_graph_position){0};
}

husk_status husk_graph_set_position(husk_graph *graph, husk_graph_position position)
{
    husk__train_scope scope;
    husk_status status = husk__step_begin(graph, "husk_graph_set_position", &scope);
    if (status)
        return status;
    graph->compiled->position = position;
    graph->compiled->pending = 0;
    husk__drop_forwards(graph->compiled);
    return HUSK_OK;
}
