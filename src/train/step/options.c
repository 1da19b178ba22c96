// SPDX-License-Identifier: MIT
#include "train/step/options.h"

#include <math.h>

// Gradients that come from outside, or go there: a scale would be in them, and nothing takes it out.
static bool has_gradients_outside(const husk_graph *graph)
{
    for (int32_t v = 1; v < graph->value_count; v++)
        if (graph->values[v].gradient)
            return true;
    return husk__graph_is_given(graph);
}

static husk_status read_loss_scale(const husk_graph *graph, husk__compiled *own, const husk__train_scope *scope)
{
    husk_loss_scale_params *made = &own->loss_scale;
    husk_status status = husk__train_struct(made, sizeof *made, "HUSK_LOSS_SCALE_PARAMS", own->options.loss_scale,
                                            "options: loss_scale", scope);
    if (status)
        return status;
    bool is_given = own->options.loss_scale;
    own->options.loss_scale = NULL; // the caller's
    own->has_loss_scale = is_given ? !made->none
                                   : graph->dtype == HUSK_F16 && own->options.optimizer && own->options.loss &&
                                         !has_gradients_outside(graph);
    made->start = made->start != 0 ? made->start : 65536;
    made->growth = made->growth != 0 ? made->growth : 2;
    made->backoff = made->backoff != 0 ? made->backoff : 0.5f;
    made->interval = made->interval ? made->interval : 2000;
    if (made->fixed)
        made->growth = made->backoff = 1;
    if (!(made->start >= 0x1p-24f && made->start <= 0x1p24f))
        return husk__train_reject(scope, "options", "loss_scale: start is %g; 2^-24 to 2^24 is wanted",
                                  (double)made->start);
    if (!(made->growth >= 1 && made->growth < INFINITY))
        return husk__train_reject(scope, "options", "loss_scale: growth is %g; 1 at least is wanted",
                                  (double)made->growth);
    if (!(made->backoff > 0 && made->backoff <= 1))
        return husk__train_reject(scope, "options", "loss_scale: backoff is %g; 0 to 1 is wanted",
                                  (double)made->backoff);
    if (own->has_loss_scale && (!own->options.loss || has_gradients_outside(graph)))
        return husk__train_reject(scope, "options",
                                  "loss_scale: gradients that are given, or wanted by inputs, are not multiplied with "
                                  "it");
    if (own->has_loss_scale && !own->options.optimizer)
        return husk__train_reject(scope, "options", "loss_scale: without an optimizer nothing would take it out");
    return HUSK_OK;
}

husk_status husk__read_options(const husk_graph *graph, husk__compiled *own, const husk_graph_options *options,
                               const husk__train_scope *scope)
{
    husk_status status =
        husk__train_struct(&own->options, sizeof own->options, "HUSK_GRAPH_OPTIONS", options, "options", scope);
    if (status)
        return status;
    husk_value loss = own->options.loss;
    if ((loss || husk__graph_is_given(graph)) && graph->is_quantized)
        return husk__train_reject(scope, "options", "loss: a quantized graph is for evaluation alone");
    if (loss < 0 || loss >= graph->value_count)
        return husk__train_reject(scope, "options", "loss: %d is no value of this graph", (int)loss);
    if (loss) {
        const husk__value *value = &graph->values[loss];
        if (husk_tensor_count(&value->tensor) != 1 || !value->covers ||
            husk__root(graph, loss)->role != HUSK__ROLE_RESULT)
            return husk__train_reject(scope, "options", "loss: it has to be a result of one element");
        if (value->tensor.dtype != husk__wide_dtype(graph))
            return husk__train_reject(scope, "options", "loss: its dtype is %s; %s is wanted (husk_graph_cast)",
                                      husk_dtype_name(value->tensor.dtype), husk_dtype_name(husk__wide_dtype(graph)));
    }
    if (!(own->options.clip_norm >= 0))
        return husk__train_reject(scope, "options", "clip_norm must not be negative");
    if (!(own->options.clip_value >= 0))
        return husk__train_reject(scope, "options", "clip_value must not be negative");
    if (own->options.accumulate == 0)
        own->options.accumulate = 1;
    if (own->options.micro_batches == 0)
        own->options.micro_batches = 1;
    if (own->options.micro_batches > 1024)
        return husk__train_reject(scope, "options", "micro_batches: at most 1024");
    if (own->options.check_finite && !loss)
        return husk__train_reject(scope, "options", "check_finite: there is no loss");
    if (own->options.bucket_bytes == 0)
        own->options.bucket_bytes = (uint64_t)4 << 20;
    status = read_loss_scale(graph, own, scope);
    if (status || !own->options.optimizer)
        return status;
    if (!loss && !husk__graph_is_given(graph))
        return husk__train_reject(scope, "options", "optimizer: without a loss there is nothing for it to do");
    status = husk__train_struct(&own->optimizer, sizeof own->optimizer, "husk_sgd, husk_adam ...",
                                own->options.optimizer, "options: optimizer", scope);
    if (status)
        return status;
    husk_optimizer_params *o = &own->optimizer;
    o->size = sizeof *o;
    o->scale = o->skip = o->copy = o->skipped = NULL;
    o->divides = 0;
    own->has_optimizer = true;
    own->options.optimizer = NULL; // the caller's
    bool is_adam = o->kind == HUSK_OPTIMIZER_ADAM || o->kind == HUSK_OPTIMIZER_ADAMW;
    own->keeps_state[0] = is_adam || o->momentum != 0;
    own->keeps_state[1] = is_adam || o->kind == HUSK_OPTIMIZER_RMSPROP;
    own->keeps_state[2] = is_adam ? o->amsgrad : o->kind == HUSK_OPTIMIZER_RMSPROP && o->centered;
    return HUSK_OK;
}
