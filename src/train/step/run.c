// SPDX-License-Identifier: MIT
// Steps: forward, backward, the optimizer, and looking for what is not finite.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "train/compress/compress.h"

husk_tensor husk__number(const husk_graph *graph, int which)
{
    const husk__compiled *own = graph->compiled;
    const husk_dtype dtype = husk__wide_dtype(graph);
    husk_tensor number = husk_tensor_make(own->regions[HUSK__REGION_OUTSIDE], dtype, 0, NULL);
    number.offset = (int64_t)((own->numbers + (uint64_t)which * HUSK__NUMBER_BYTES) / husk_dtype_size(dtype));
    return number;
}

husk_status husk__queue_failed(const husk_graph *graph, husk_status status, const husk__train_scope *scope)
{
    const husk_error *cause = husk_queue_error(graph->queue);
    return status ? husk__caused_by(scope->error, cause, husk__train_fail(scope, status, "%s", cause->text)) : HUSK_OK;
}

husk_status husk__run_calls(husk_graph *graph, const husk__schedule *schedule, int32_t first, int32_t past,
                            const husk__train_scope *scope)
{
    for (int32_t c = first; c < past; c++) {
        const husk__call *call = &schedule->calls[c];
        husk_status status = call->is_idle ? HUSK_OK : call->run(graph, call);
        if (status)
            return husk__caused_by(scope->error, husk_queue_error(graph->queue),
                                   husk__train_fail(scope, status, "%s: %s%s", graph->nodes[call->node].name,
                                                    call->is_backward ? "gradient: " : "",
                                                    husk_queue_error(graph->queue)->text));
    }
    return HUSK_OK;
}

// A public call of a compiled graph: its scope, or the refusal.
static husk_status begin(husk_graph *graph, const char *call, husk__train_scope *scope)
{
    if (!graph)
        return HUSK_INVALID_ARGUMENT;
    *scope = (husk__train_scope){call, &graph->error};
    if (graph->failed)
        return graph->failed;
    if (!graph->compiled)
        return husk__train_reject(scope, "graph", "it is not compiled");
    return HUSK_OK;
}

static husk_status needs_loss(husk_graph *graph, const husk__train_scope *scope)
{
    if (husk__can_train(graph))
        return HUSK_OK;
    return husk__train_reject(scope, "graph", "it was compiled without a loss, for evaluation alone");
}

// ---- copies of parameters, and the loss scale ----

// The first bytes of a region or of a state, in husk__wide_dtype or, half of them, in the graph's dtype.
static husk_tensor flat_of(const husk_graph *graph, husk_buffer *buffer, husk_dtype dtype, uint64_t bytes)
{
    int64_t count = (int64_t)(bytes / husk_dtype_size(husk__wide_dtype(graph)));
    return husk_tensor_make(buffer, dtype, 1, &count);
}

husk_status husk__refresh_copies(husk_graph *graph, const husk__train_scope *scope)
{
    husk__compiled *own = graph->compiled;
    if (!own->copies_are_old || own->copied_bytes == 0)
        return HUSK_OK;
    const husk_tensor from =
        flat_of(graph, own->regions[HUSK__REGION_PARAMETERS], husk__wide_dtype(graph), own->copied_bytes);
    const husk_tensor to = flat_of(graph, own->regions[HUSK__REGION_COPIES], graph->dtype, own->copied_bytes);
    husk_status status = husk__queue_failed(graph, husk_copy(graph->queue, NULL, &from, &to), scope);
    own->copies_are_old = status != HUSK_OK;
    return status;
}

husk_tensor husk__scale_state(const husk_graph *graph)
{
    return husk_tensor_make(graph->compiled->regions[HUSK__REGION_SCALE], husk__wide_dtype(graph), 1,
                            (int64_t[]){HUSK__SCALES});
}

// One of its numbers.
static husk_tensor scale_number(const husk_graph *graph, int which)
{
    husk_tensor number =
        husk_tensor_make(graph->compiled->regions[HUSK__REGION_SCALE], husk__wide_dtype(graph), 0, NULL);
    number.offset = which;
    return number;
}

husk_status husk__write_scale(husk_graph *graph, const husk_loss_scale *scale)
{
    const double wide[HUSK__SCALES] = {(double)scale->scale, (double)scale->since, (double)scale->good,
                                       (double)scale->skipped};
    float narrow[HUSK__SCALES];
    for (int i = 0; i < HUSK__SCALES; i++)
        narrow[i] = (float)wide[i];
    const bool is_f64 = husk__wide_dtype(graph) == HUSK_F64;
    return husk_buffer_write(graph->queue, graph->compiled->regions[HUSK__REGION_SCALE], 0,
                             is_f64 ? sizeof wide : sizeof narrow, is_f64 ? (const void *)wide : (const void *)narrow);
}

static husk_status read_number(husk_graph *graph, const husk_tensor *tensor, double *number)
{
    char host[8];
    uint64_t size = husk_dtype_size(tensor->dtype);
    husk_status status =
        husk_buffer_read(graph->queue, tensor->buffer, (uint64_t)tensor->offset * size, size, host);
    float narrow;
    if (tensor->dtype == HUSK_F64)
        memcpy(number, host, 8);
    else {
        memcpy(&narrow, host, 4);
        *number = (double)narrow;
    }
    return status;
}

husk_status husk_graph_get_loss_scale(husk_graph *graph, husk_loss_scale *scale)
{
    husk__train_scope scope;
    husk_status status = begin(graph, "husk_graph_get_loss_scale", &scope);
    if (!status && !scale)
        status = husk__train_reject(&scope, "scale", "it is NULL");
    if (!status)
        status = husk__train_size(scale->size, sizeof *scale, "HUSK_LOSS_SCALE", "scale", &scope);
    if (status)
        return status;
    *scale = HUSK_LOSS_SCALE();
    if (!graph->compiled->has_loss_scale)
        return HUSK_OK;
    double numbers[HUSK__SCALES] = {0};
    for (int i = 0; i < HUSK__SCALES && !status; i++) {
        const husk_tensor number = scale_number(graph, i);
        status = read_number(graph, &number, &numbers[i]);
    }
    scale->scale = (float)numbers[HUSK__SCALE_NOW];
    scale->since = (uint64_t)numbers[HUSK__SCALE_SINCE];
    scale->good = (uint64_t)numbers[HUSK__SCALE_GOOD];
    scale->skipped = (uint64_t)numbers[HUSK__SCALE_SKIPPED];
    return husk__queue_failed(graph, status, &scope);
}

husk_status husk_graph_set_loss_scale(husk_graph *graph, const husk_loss_scale *scale)
{
    husk__train_scope scope;
    husk_loss_scale own;
    husk_status status = begin(graph, "husk_graph_set_loss_scale", &scope);
    if (!status && !scale)
        status = husk__train_reject(&scope, "scale", "it is NULL");
    if (!status)
        status = husk__train_struct(&own, sizeof own, "HUSK_LOSS_SCALE", scale, "scale", &scope);
    if (!status && !graph->compiled->has_loss_scale)
        status = husk__train_reject(&scope, "graph", "it was compiled without a loss scale");
    if (!status && !(own.scale >= 0x1p-24f && own.scale <= 0x1p24f))
        status = husk__train_reject(&scope, "scale", "scale is %g; 2^-24 to 2^24 is wanted", (double)own.scale);
    if (status)
        return status;
    graph->compiled->pending = 0; // gradients that are there were multiplied with the old one
    return husk__queue_failed(graph, husk__write_scale(graph, &own), &scope);
}

// ---- forward ----

// Keep the statistics as they are, or have them again.
static husk_status copy_statistics(husk_graph *graph, bool is_back, const husk__train_scope *scope)
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

husk_status husk_graph_forward(husk_graph *graph, husk_graph_mode mode)
{
    husk__train_scope scope;
    husk_status status = begin(graph, "husk_graph_forward", &scope);
    if (!status && mode != HUSK_GRAPH_EVALUATION && mode != HUSK_GRAPH_TRAINING)
        status = husk__train_reject(&scope, "mode", "%d is no mode", (int)mode);
    if (!status && mode == HUSK_GRAPH_TRAINING)
        status = needs_loss(graph, &scope);
    if (status)
        return status;
    husk__compiled *own = graph->compiled;
    husk__begin_forward(own);
    status = husk__refresh_copies(graph, &scope);
    if (!status && mode == HUSK_GRAPH_TRAINING && own->options.check_finite)
        status = copy_statistics(graph, false, &scope);
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
    return husk__queue_failed(graph,
                              husk_buffer_fill(graph->queue, gradients, 0, husk_buffer_size(gradients),
                                               &pattern, sizeof pattern),
                              scope);
}

husk_status husk__run_backward(husk_graph *graph, const husk__train_scope *scope)
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
    husk_status status = husk__run_backward(graph, scope);
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
    husk_status status = begin(graph, "husk_graph_backward", &scope);
    if (!status)
        status = needs_loss(graph, &scope);
    return status ? status : backward(graph, &scope);
}

// ---- the optimizer ----

static husk_tensor flat(const husk_graph *graph, husk_buffer *buffer)
{
    return flat_of(graph, buffer, husk__wide_dtype(graph), graph->compiled->trained_bytes);
}

// Take the loss scale out of the gradients, find out whether they are finite, clip their elements.
static husk_status prepare_gradients(husk_graph *graph, const husk_tensor *gradients)
{
    const husk__compiled *own = graph->compiled;
    const husk_tensor scale = scale_number(graph, HUSK__SCALE_NOW);
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
    snprintf(text + used, HUSK__UPDATE_VARIANTS - used, "%s%s %s%s%s%s", used ? ", " : "", op,
             husk_plan_variant(plan), with_configuration ? ":" : "",
             with_configuration ? husk_plan_configuration(plan) : "", keeps ? " with denormals" : "");
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
    husk_tensor skipped = scale_number(graph, HUSK__SCALE_SKIPPED);
    husk_tensor copies =
        flat_of(graph, own->regions[HUSK__REGION_COPIES], graph->dtype, own->trained_bytes);
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
        status = husk_grad_norm(graph->queue, &norm_params, (const husk_tensor *[]){&gradients}, 1, &norm,
                                &coefficient);
        params.scale = &coefficient;
        if (!status)
            note_variant(graph, "grad_norm", true);
    }
    if (!status)
        status =
            husk_optimizer(graph->queue, &params, &gradients, &parameters,
                           own->keeps_state[0] ? &states[0] : NULL, own->keeps_state[1] ? &states[1] : NULL,
                           own->keeps_state[2] ? &states[2] : NULL);
    if (!status)
        note_variant(graph, "optimizer", false);
    return husk__queue_failed(graph, status, scope);
}

static husk_status update(husk_graph *graph, const husk__train_scope *scope)
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
    husk_status status = begin(graph, "husk_graph_update", &scope);
    return status ? status : update(graph, &scope);
}

husk_status husk_graph_set_rate(husk_graph *graph, double rate)
{
    husk__train_scope scope;
    husk_status status = begin(graph, "husk_graph_set_rate", &scope);
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
    husk_status status = begin(graph, "husk_graph_set_position", &scope);
    if (status)
        return status;
    graph->compiled->position = position;
    graph->compiled->pending = 0;
    husk__drop_forwards(graph->compiled);
    return HUSK_OK;
}

// ---- what is not finite ----

static bool is_float(husk_dtype dtype)
{
    return dtype == HUSK_F32 || dtype == HUSK_F16 || dtype == HUSK_BF16 || dtype == HUSK_F64;
}

// The device's answer for `bytes` of a buffer that holds numbers of this dtype.
static husk_status find_in(husk_graph *graph, husk_buffer *buffer, husk_dtype dtype, uint64_t offset,
                           uint64_t bytes, bool *found)
{
    uint64_t size = husk_dtype_size(dtype);
    int64_t count = (int64_t)(bytes / size);
    husk_tensor tensor = husk_tensor_make(buffer, dtype, 1, &count);
    tensor.offset = (int64_t)(offset / size);
    husk_tensor number = husk__number(graph, HUSK__NUMBER_FOUND);
    double answer = 0;
    husk_status status =
        husk_grad_scale(graph->queue, NULL, (const husk_tensor *[]){&tensor}, 1, NULL, &number);
    if (!status)
        status = read_number(graph, &number, &answer);
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
            status = husk__queue_failed(
                graph,
                find_in(graph, own->regions[has_copy ? HUSK__REGION_COPIES : HUSK__REGION_PARAMETERS],
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
static husk_status find_in_results(husk_graph *graph, const husk__node **which,
                                   const husk__train_scope *scope)
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
        status = copy_statistics(graph, false, scope);
        are_kept = !status;
    }
    if (!status && !value) {
        status = find_in_results(graph, &node, scope);
        own->has_forward = false; // what it left may be half of a forward
    }
    const husk__train_scope silent = {scope->call, NULL}; // the first failure's text stays
    const husk_status restored = are_kept ? copy_statistics(graph, true, status ? &silent : scope) : HUSK_OK;
    status = status ? status : restored;
    if (status)
        return status;
    return husk__train_fail(
        scope, HUSK_INVALID_ARGUMENT,
        "batch %llu, after %llu updates: the loss is %g; the first tensor with NaN or infinity is %s%s",
        batch, (unsigned long long)own->position.updates, loss,
        value ? (value->role == HUSK__ROLE_INPUT ? "the input " : "the parameter ")
              : "what this node computed: ",
        value  ? value->name
        : node ? node->name
               : graph->values[own->options.loss].name);
}

static husk_status check_finite(husk_graph *graph, const husk__train_scope *scope)
{
    husk__compiled *own = graph->compiled;
    husk_tensor loss = graph->values[own->options.loss].tensor;
    loss.buffer = own->regions[HUSK__REGION_OUTSIDE];
    loss.offset = (int64_t)(husk__root(graph, own->options.loss)->offset / husk_dtype_size(loss.dtype));
    double number = 0;
    husk_status status = husk__queue_failed(graph, read_number(graph, &loss, &number), scope);
    return status || isfinite(number) ? status : look_for_it(graph, number, scope);
}

husk_status husk_graph_check_finite(husk_graph *graph)
{
    husk__train_scope scope;
    husk_status status = begin(graph, "husk_graph_check_finite", &scope);
    if (!status)
        status = needs_loss(graph, &scope);
    if (!status && !graph->compiled->options.loss)
        status = husk__train_reject(&scope, "graph", "it has no loss");
    if (!status && graph->compiled->at != HUSK_GRAPH_TRAINING)
        status = husk__train_reject(&scope, "graph", "the last forward was no training");
    return status ? status : check_finite(graph, &scope);
}

// ---- a step ----

husk_status husk_graph_step(husk_graph *graph)
{
    husk__train_scope scope;
    husk_status status = begin(graph, "husk_graph_step", &scope);
    if (!status)
        status = needs_loss(graph, &scope);
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
        status = copy_statistics(graph, false, &scope);
    if (!status)
        status = husk__run_calls(graph, schedule, 0, schedule->forward_count, &scope);
    own->has_forward = !status;
    if (!status && own->options.check_finite)
        status = check_finite(graph, &scope);
    if (!status)
        status = backward(graph, &scope);
    if (!status && own->pending == own->options.accumulate)
        status = update(graph, &scope);
    return status;
}
