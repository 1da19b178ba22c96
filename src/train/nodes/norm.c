// SPDX-License-Identifier: MIT
#include "train/nodes/norm.h"

#include "train/graph/schedule.h"
#include "train/nodes/copy.h"

enum { X, SCALE, BIAS, RUNNING_MEAN, RUNNING_VARIANCE, Y_SLOT, MEAN_SLOT, RSTD_SLOT };
enum { Y, MEAN, RSTD }; // outputs

static husk_status run_norm(husk_graph *graph, const husk__call *call)
{
    const husk_tensor *t[8];
    for (int i = 0; i < 8; i++)
        t[i] = husk__tensor_of(call, i);
    return husk_norm(graph->queue, &call->params.norm, t[X], t[SCALE], t[BIAS], t[RUNNING_MEAN], t[RUNNING_VARIANCE],
                     t[Y_SLOT], t[MEAN_SLOT], t[RSTD_SLOT]);
}

static husk_status run_backward(husk_graph *graph, const husk__call *call)
{
    const husk_tensor *t[8];
    for (int i = 0; i < 8; i++)
        t[i] = husk__tensor_of(call, i);
    return husk_norm_backward(graph->queue, &call->params.norm, t[0], t[1], t[2], t[3], t[4], t[5], t[6], t[7]);
}

// The value of an output, where the kind has it.
static int32_t saved(const husk__node *node, int which)
{
    if (node->params.norm.kind == HUSK_NORM_RMS)
        return which == MEAN ? 0 : node->outputs[1];
    return node->outputs[which];
}

// Whether the batch's statistics are used, and the running ones follow: not where these are frozen.
static bool uses_batch(const husk__schedule *schedule, const husk__node *node)
{
    const husk__value *values = schedule->graph->values;
    return node->params.norm.kind == HUSK_NORM_BATCH && husk__is_training(schedule) &&
           !values[node->inputs[RUNNING_MEAN]].frozen && !values[node->inputs[RUNNING_VARIANCE]].frozen;
}

static husk_status forward(husk__schedule *schedule, husk__node *node)
{
    bool updates = uses_batch(schedule, node), saves = husk__saves(schedule, node);
    husk__slot slots[8];
    for (int i = X; i <= BIAS; i++)
        slots[i] = husk__slot_read(schedule, node->inputs[i]);
    for (int i = RUNNING_MEAN; i <= RUNNING_VARIANCE; i++)
        slots[i] = updates ? husk__slot_update(schedule, node->inputs[i]) : husk__slot_read(schedule, node->inputs[i]);
    slots[Y_SLOT] = husk__slot_write(schedule, node->outputs[Y], 1u << X);
    slots[MEAN_SLOT] = saves ? husk__slot_write(schedule, saved(node, MEAN), 0) : husk__slot_none();
    slots[RSTD_SLOT] = saves ? husk__slot_write(schedule, saved(node, RSTD), 0) : husk__slot_none();
    husk__call *call = husk__call_add(schedule, node, run_norm, slots, 8);
    if (!call)
        return husk__train_no_memory(&schedule->scope);
    call->params.norm.training = updates;
    return HUSK_OK;
}

static husk_status backward(husk__schedule *schedule, husk__node *node)
{
    static const uint8_t bits[] = {HUSK_ACCUMULATE_INPUTS, HUSK_ACCUMULATE_PARAMETERS, HUSK_ACCUMULATE_PARAMETERS};
    husk__targets targets;
    husk_status status = husk__targets_begin(schedule, node, node->inputs, bits, 3, 0, &targets);
    if (status)
        return status;
    if (targets.slots[0].access == HUSK__WRITE)
        targets.slots[0].in_place = 1u << 4; // dx over dy, and nothing else
    const husk__slot slots[] = {husk__slot_read(schedule, node->inputs[X]),
                                husk__slot_read(schedule, node->inputs[SCALE]),
                                husk__slot_read(schedule, saved(node, MEAN)),
                                husk__slot_read(schedule, saved(node, RSTD)),
                                husk__slot_gradient(schedule, node->outputs[Y]),
                                targets.slots[0],
                                targets.slots[1],
                                targets.slots[2]};
    husk__call *call = husk__call_add(schedule, node, run_backward, slots, 8);
    if (!call)
        return husk__train_no_memory(&schedule->scope);
    call->params.norm.accumulate = targets.accumulate;
    call->params.norm.training = uses_batch(schedule, node);
    call->params.norm.variant = NULL;
    return husk__targets_settle(schedule, node, &targets);
}

static bool has_gradient(const husk__node *node, int32_t input)
{
    (void)node;
    return input <= BIAS;
}

static const husk__node_kind kind = {
    .name = "norm", .forward = forward, .backward = backward, .has_gradient = has_gradient};

// ---- building ----

bool husk__norm_shapes(husk__building *building, const husk_norm_params *params, const husk_tensor *x,
                       husk_tensor *scale, husk_tensor *statistics)
{
    char text[160];
    *scale = *statistics = *x;
    if ((unsigned)params->kind > HUSK_NORM_BATCH) {
        husk__graph_refuse(building, HUSK_INVALID_ARGUMENT, "params", "kind %u does not exist", (unsigned)params->kind);
        return false;
    }
    if (params->kind == HUSK_NORM_LAYER || params->kind == HUSK_NORM_RMS) {
        int32_t first;
        if (!husk__graph_axis(building, "params", "axis ", params->axis, x, "x", &first))
            return false;
        statistics->rank = first;
        scale->rank = x->rank - first;
        for (int32_t d = first; d < x->rank; d++)
            scale->shape[d - first] = x->shape[d];
        return true;
    }
    int64_t groups = params->groups ? params->groups : 1;
    if (x->rank < 2) {
        husk__graph_refuse(building, HUSK_INVALID_ARGUMENT, "x", "its shape is %s; [N, C, space...] is wanted",
                           husk__graph_shape_text(x, text));
        return false;
    }
    if (params->kind == HUSK_NORM_GROUP && x->shape[1] % groups) {
        husk__graph_refuse(building, HUSK_INVALID_ARGUMENT, "params", "%lld groups do not divide x's %lld channels",
                           (long long)groups, (long long)x->shape[1]);
        return false;
    }
    scale->rank = 1;
    scale->shape[0] = x->shape[1];
    *statistics = *scale;
    if (params->kind != HUSK_NORM_BATCH) {
        statistics->rank = 2;
        statistics->shape[0] = x->shape[0];
        statistics->shape[1] = params->kind == HUSK_NORM_GROUP ? groups : x->shape[1];
    }
    return true;
}

static bool fits(husk__building *building, const husk_tensor *t, const char *argument, const husk_tensor *wanted)
{
    char text[160], other[160];
    if (t->rank < 0 || husk__same_shape(t, wanted))
        return true;
    husk__graph_refuse(building, HUSK_INVALID_ARGUMENT, argument, "its shape is %s; %s is wanted",
                       husk__graph_shape_text(t, text), husk__graph_shape_text(wanted, other));
    return false;
}

static bool check_shape(husk__building *building, husk_value *value, const char *argument, const husk_tensor *wanted)
{
    husk_tensor t;
    return husk__graph_optional(building, value, argument, &t) && fits(building, &t, argument, wanted);
}

// As it is: it is written, too.
static bool check_statistic(husk__building *building, husk_value value, const char *argument, const husk_tensor *wanted)
{
    husk_tensor t;
    return value == HUSK_NO_VALUE ||
           (husk__graph_argument(building, value, argument, &t) && fits(building, &t, argument, wanted));
}

husk_value husk_graph_norm(husk_graph *graph, const char *name, const husk_norm_params *params, husk_value x,
                           husk_value scale, husk_value bias, husk_value running_mean, husk_value running_variance)
{
    const husk_norm_params defaults = husk_norm_defaults(HUSK_NORM_LAYER);
    husk__building building;
    husk_norm_params own;
    husk_tensor xt, wanted, statistics;
    if (!husk__graph_begin(&building, graph, "husk_graph_norm", "norm", name, true) ||
        !husk__graph_params(&building, &own, sizeof own, "husk_norm_defaults", params ? params : &defaults, "params") ||
        !husk__graph_computed(&building, &x, "x", &xt) ||
        !husk__norm_shapes(&building, &own, &xt, &wanted, &statistics) ||
        !check_shape(&building, &scale, "scale", &wanted) || !check_shape(&building, &bias, "bias", &wanted) ||
        !check_statistic(&building, running_mean, "running_mean", &wanted) ||
        !check_statistic(&building, running_variance, "running_variance", &wanted))
        return HUSK_NO_VALUE;
    bool is_batch = own.kind == HUSK_NORM_BATCH;
    if (is_batch != (running_mean != HUSK_NO_VALUE) || is_batch != (running_variance != HUSK_NO_VALUE))
        return husk__graph_refuse(&building, HUSK_INVALID_ARGUMENT, "running_mean",
                                  is_batch ? "batch normalisation needs it, and running_variance, for evaluation"
                                           : "only batch normalisation has running statistics");
    for (int i = 0; i < 2 && is_batch; i++)
        if (!graph->values[i ? running_variance : running_mean].is_statistic)
            return husk__graph_refuse(&building, HUSK_INVALID_ARGUMENT, i ? "running_variance" : "running_mean",
                                      "it has to be made by husk_graph_statistic");
    if (is_batch && husk_tensor_count(&xt) < 2 * xt.shape[1])
        return husk__graph_refuse(&building, HUSK_INVALID_ARGUMENT, "x", "a channel has one element; it needs two");
    const husk_value inputs[] = {x, scale, bias, running_mean, running_variance};
    husk__node *node = husk__graph_node(&building, &kind, inputs, 5);
    if (!node)
        return HUSK_NO_VALUE;
    own.size = sizeof own;
    own.accumulate = 0;
    own.training = 0;
    node->params.norm = own;
    husk_value y = husk__graph_result(&building, building.name, graph->dtype, xt.rank, xt.shape);
    for (int i = own.kind == HUSK_NORM_RMS; i < 2 && y; i++)
        if (!husk__graph_result(&building, NULL, husk__wide_dtype(graph), statistics.rank, statistics.shape))
            return HUSK_NO_VALUE;
    return y;
}
