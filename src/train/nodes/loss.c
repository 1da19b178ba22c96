// SPDX-License-Identifier: MIT
#include "train/graph/schedule.h"
#include "train/nodes/copy.h"

enum { X, TARGET, WEIGHT, POSITIVE, LOSS, DX }; // slots

static husk_status run_loss(husk_graph *graph, const husk__call *call)
{
    return husk_loss(graph->queue, &call->params.loss, husk__tensor_of(call, X), husk__tensor_of(call, TARGET),
                     husk__tensor_of(call, WEIGHT), husk__tensor_of(call, POSITIVE), husk__tensor_of(call, LOSS));
}

static husk_status run_backward(husk_graph *graph, const husk__call *call)
{
    return husk_loss_backward(graph->queue, &call->params.loss, husk__tensor_of(call, X), husk__tensor_of(call, TARGET),
                              husk__tensor_of(call, WEIGHT), husk__tensor_of(call, POSITIVE),
                              husk__tensor_of(call, LOSS), husk__tensor_of(call, DX));
}

static husk_status forward(husk__schedule *schedule, husk__node *node)
{
    husk__slot slots[5];
    for (int i = 0; i < 4; i++)
        slots[i] = husk__slot_read(schedule, node->inputs[i]);
    slots[LOSS] = husk__slot_write(schedule, node->outputs[0], 0);
    return husk__call_add(schedule, node, run_loss, slots, 5) ? HUSK_OK : husk__train_no_memory(&schedule->scope);
}

static husk_status backward(husk__schedule *schedule, husk__node *node)
{
    husk__targets targets;
    husk_status status = husk__targets_begin(schedule, node, node->inputs, NULL, 1, 1u << X, &targets);
    if (status)
        return status;
    husk__slot slots[6];
    for (int i = 0; i < 4; i++)
        slots[i] = husk__slot_read(schedule, node->inputs[i]);
    slots[LOSS] = husk__slot_gradient(schedule, node->outputs[0]);
    slots[DX] = targets.slots[0];
    husk__call *call = husk__call_add(schedule, node, run_backward, slots, 6);
    if (!call)
        return husk__train_no_memory(&schedule->scope);
    call->params.loss.accumulate = targets.accumulate;
    call->params.loss.variant = NULL;
    return husk__targets_settle(schedule, node, &targets);
}

static bool has_gradient(const husk__node *node, int32_t input)
{
    (void)node;
    return input == X;
}

static const husk__node_kind kind = {
    .name = "loss", .forward = forward, .backward = backward, .has_gradient = has_gradient};

// ---- building ----

static bool is_of_rows(husk_loss_kind loss)
{
    return loss == HUSK_LOSS_CROSS_ENTROPY || loss == HUSK_LOSS_NEGATIVE_LOG;
}

// x's shape without the classes.
static husk_tensor rows_of(const husk_tensor *x)
{
    husk_tensor rows = *x;
    if (x->rank == 1)
        rows.rank = 0;
    else {
        for (int32_t d = 2; d < x->rank; d++)
            rows.shape[d - 1] = x->shape[d];
        rows.rank--;
    }
    return rows;
}

static bool check_target(husk__building *building, husk_loss_kind loss, const husk_tensor *x, husk_value *target)
{
    husk_tensor t;
    char text[160], wanted[160];
    if (!husk__graph_argument(building, *target, "target", &t))
        return false;
    bool is_label = t.dtype == HUSK_I32 || t.dtype == HUSK_I64;
    if (t.dtype == building->graph->dtype && !husk__graph_wide(building, target, "target", false, &t))
        return false;
    if (is_of_rows(loss) && is_label) {
        husk_tensor rows = rows_of(x);
        if (husk__same_shape(&t, &rows))
            return true;
        husk__graph_refuse(building, HUSK_INVALID_ARGUMENT, "target",
                           "labels of shape %s; x's without the classes is %s", husk__graph_shape_text(&t, text),
                           husk__graph_shape_text(&rows, wanted));
    } else if (t.dtype != x->dtype || loss == HUSK_LOSS_NEGATIVE_LOG)
        husk__graph_refuse(building, HUSK_INVALID_ARGUMENT, "target", "its dtype is %s; %s%s is wanted",
                           husk_dtype_name(t.dtype), is_of_rows(loss) ? "i32 or i64, labels" : "",
                           loss == HUSK_LOSS_NEGATIVE_LOG ? ""
                           : is_of_rows(loss)             ? ", or x's"
                                                          : "x's");
    else if (!husk__same_shape(&t, x))
        husk__graph_refuse(building, HUSK_INVALID_ARGUMENT, "target", "its shape is %s, x's is %s",
                           husk__graph_shape_text(&t, text), husk__graph_shape_text(x, wanted));
    else
        return true;
    return false;
}

static bool broadcasts(husk__building *building, const husk_tensor *t, const husk_tensor *x, const char *argument)
{
    char text[160], wanted[160];
    bool fits = t->rank <= x->rank;
    for (int32_t d = 1; d <= t->rank && fits; d++)
        fits = t->shape[t->rank - d] == 1 || t->shape[t->rank - d] == x->shape[x->rank - d];
    if (!fits)
        husk__graph_refuse(building, HUSK_INVALID_ARGUMENT, argument,
                           "its shape is %s; what can be broadcast to x's, %s, is wanted",
                           husk__graph_shape_text(t, text), husk__graph_shape_text(x, wanted));
    return fits;
}

static bool check_weights(husk__building *building, husk_loss_kind loss, const husk_tensor *x, husk_value *weight,
                          husk_value *positive)
{
    husk_tensor w, p;
    char text[160];
    if (!husk__graph_wide(building, weight, "weight", true, &w) ||
        !husk__graph_wide(building, positive, "positive_weight", true, &p))
        return false;
    int64_t classes = x->rank == 1 ? x->shape[0] : x->rank > 1 ? x->shape[1] : 0;
    if (w.rank >= 0 && is_of_rows(loss) && (w.rank != 1 || w.shape[0] != classes))
        husk__graph_refuse(building, HUSK_INVALID_ARGUMENT, "weight", "its shape is %s; [%lld] is wanted, the classes",
                           husk__graph_shape_text(&w, text), (long long)classes);
    else if (w.rank >= 0 && !is_of_rows(loss) && loss != HUSK_LOSS_BINARY_LOGITS)
        husk__graph_refuse(building, HUSK_INVALID_ARGUMENT, "weight", "%s has none", husk_loss_kind_name(loss));
    else if (p.rank >= 0 && loss != HUSK_LOSS_BINARY_LOGITS)
        husk__graph_refuse(building, HUSK_INVALID_ARGUMENT, "positive_weight", "%s has none",
                           husk_loss_kind_name(loss));
    else
        return loss != HUSK_LOSS_BINARY_LOGITS ||
               (broadcasts(building, &w, x, "weight") && broadcasts(building, &p, x, "positive_weight"));
    return false;
}

husk_value husk_graph_loss(husk_graph *graph, const char *name, const husk_loss_params *params, husk_value x,
                           husk_value target, husk_value weight, husk_value positive_weight)
{
    const husk_loss_params defaults = husk_loss_defaults(HUSK_LOSS_CROSS_ENTROPY);
    husk__building building;
    husk_loss_params own;
    husk_tensor xt;
    char text[160];
    if (!husk__graph_begin(&building, graph, "husk_graph_loss", "loss", name, true) ||
        !husk__graph_params(&building, &own, sizeof own, "husk_loss_defaults", params ? params : &defaults, "params") ||
        !husk__graph_wide(&building, &x, "x", false, &xt))
        return HUSK_NO_VALUE;
    if ((unsigned)own.kind > HUSK_LOSS_DIVERGENCE || (unsigned)own.reduction > HUSK_LOSS_NONE)
        return husk__graph_refuse(&building, HUSK_INVALID_ARGUMENT, "params", "kind %u or reduction %u does not exist",
                                  (unsigned)own.kind, (unsigned)own.reduction);
    if (is_of_rows(own.kind) && xt.rank < 1)
        return husk__graph_refuse(&building, HUSK_INVALID_ARGUMENT, "x",
                                  "its shape is %s; [C] or [N, C, ...] is wanted", husk__graph_shape_text(&xt, text));
    if (!check_target(&building, own.kind, &xt, &target) ||
        !check_weights(&building, own.kind, &xt, &weight, &positive_weight))
        return HUSK_NO_VALUE;
    husk__node *node = husk__graph_node(&building, &kind, (husk_value[]){x, target, weight, positive_weight}, 4);
    if (!node)
        return HUSK_NO_VALUE;
    own.size = sizeof own;
    own.accumulate = 0;
    node->params.loss = own;
    husk_tensor shape = is_of_rows(own.kind) ? rows_of(&xt) : xt;
    return husk__graph_result(&building, building.name, xt.dtype, own.reduction == HUSK_LOSS_NONE ? shape.rank : 0,
                              shape.shape);
}
