// SPDX-License-Identifier: MIT
#include "train/step/loss_scale.h"

#include "train/step/calls.h"

husk_tensor husk__scale_state(const husk_graph *graph)
{
    return husk_tensor_make(graph->compiled->regions[HUSK__REGION_SCALE], husk__wide_dtype(graph), 1,
                            (int64_t[]){HUSK__SCALES});
}

husk_tensor husk__scale_number(const husk_graph *graph, int which)
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

husk_status husk_graph_get_loss_scale(husk_graph *graph, husk_loss_scale *scale)
{
    husk__train_scope scope;
    husk_status status = husk__step_begin(graph, "husk_graph_get_loss_scale", &scope);
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
        const husk_tensor number = husk__scale_number(graph, i);
        status = husk__read_number(graph, &number, &numbers[i]);
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
    husk_status status = husk__step_begin(graph, "husk_graph_set_loss_scale", &scope);
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
