// SPDX-License-Identifier: MIT
// The loss of distillation, made of nodes that a caller could make, too.
#include <stdio.h>

#include <husk/train/compress.h>

#include "train/nodes/copy.h"

typedef struct distilling {
    husk_graph *graph;
    const char *name;
    char text[2 * HUSK__GRAPH_NAME];
} distilling;

static const char *part_name(distilling *d, const char *suffix)
{
    snprintf(d->text, sizeof d->text, "%s.%s", d->name, suffix);
    return d->text;
}

// factor x, as a sum: there is no operator that scales alone.
static husk_value scaled(husk_graph *graph, const char *name, double factor, husk_value x)
{
    husk_binary_params half = husk_binary_defaults(HUSK_BINARY_ADD);
    half.alpha = half.beta = (float)(factor / 2);
    return husk_graph_binary(graph, name, &half, x, x);
}

// log softmax(x / temperature)
static husk_value soften(distilling *d, const char *suffix, float temperature, int32_t axis, husk_value x)
{
    husk_softmax_params log = husk_softmax_defaults();
    log.axis = axis;
    log.log = 1;
    char own[32];
    if (temperature != 1) {
        snprintf(own, sizeof own, "%s_scaled", suffix);
        x = scaled(d->graph, part_name(d, own), 1 / (double)temperature, x);
    }
    return husk_graph_softmax(d->graph, part_name(d, suffix), &log, x);
}

static husk_value build(distilling *d, const husk_distillation_params *own, const husk_tensor *xt, husk_value x,
                        husk_value teacher, husk_value labels)
{
    const int32_t classes = xt->rank == 1 ? 0 : 1;
    const double rows = (double)husk_tensor_count(xt) / (double)xt->shape[classes];
    const double factor = (double)own->temperature * (double)own->temperature / rows;
    husk_loss_params divergence = husk_loss_defaults(HUSK_LOSS_DIVERGENCE);
    divergence.reduction = HUSK_LOSS_SUM;
    divergence.log_target = 1;
    husk_value student = soften(d, "student", own->temperature, classes, x);
    teacher = soften(d, "teacher", own->temperature, classes, teacher);
    husk_value soft = husk_graph_loss(d->graph, part_name(d, "divergence"), &divergence, student, teacher,
                                      HUSK_NO_VALUE, HUSK_NO_VALUE);
    if (own->weight == 1)
        return scaled(d->graph, d->name, factor, soft);
    husk_value hard = husk_graph_loss(d->graph, part_name(d, "labels"), NULL, x, labels, HUSK_NO_VALUE, HUSK_NO_VALUE);
    husk_binary_params sum = husk_binary_defaults(HUSK_BINARY_ADD);
    sum.alpha = (float)((double)own->weight * factor);
    sum.beta = 1 - own->weight;
    return husk_graph_binary(d->graph, d->name, &sum, soft, hard);
}

husk_value husk_graph_distillation(husk_graph *graph, const char *name, const husk_distillation_params *params,
                                   husk_value x, husk_value teacher, husk_value labels)
{
    const husk_distillation_params defaults = husk_distillation_defaults();
    husk__building building;
    husk_distillation_params own;
    husk_tensor xt, tt;
    char text[160], other[160];
    if (!husk__graph_begin(&building, graph, "husk_graph_distillation", "distillation", name, true) ||
        !husk__graph_params(&building, &own, sizeof own, "husk_distillation_defaults", params ? params : &defaults,
                            "params") ||
        !husk__graph_wide(&building, &x, "x", false, &xt) ||
        !husk__graph_wide(&building, &teacher, "teacher", false, &tt))
        return HUSK_NO_VALUE;
    if (!(own.temperature > 0 && own.temperature - own.temperature == 0))
        return husk__graph_refuse(&building, HUSK_INVALID_ARGUMENT, "params",
                                  "temperature is %g; it has to be above 0 and finite", (double)own.temperature);
    if (!(own.weight >= 0 && own.weight <= 1))
        return husk__graph_refuse(&building, HUSK_INVALID_ARGUMENT, "params", "weight is %g; it has to be 0 to 1",
                                  (double)own.weight);
    if (xt.rank < 1)
        return husk__graph_refuse(&building, HUSK_INVALID_ARGUMENT, "x",
                                  "it is a scalar; [C] or [N, C, ...] is wanted");
    if (!husk__same_shape(&xt, &tt))
        return husk__graph_refuse(&building, HUSK_INVALID_ARGUMENT, "teacher", "its shape is %s, x's is %s",
                                  husk__graph_shape_text(&tt, text), husk__graph_shape_text(&xt, other));
    if (labels == HUSK_NO_VALUE)
        own.weight = 1;
    distilling d = {.graph = graph, .name = building.name};
    return build(&d, &own, &xt, x, teacher, labels);
}
