// SPDX-License-Identifier: MIT
#include "train/graph/schedule.h"
#include "train/nodes/copy.h"
#include "train/nodes/dropout.h"

enum { Q, K, V, MASK, Y, LOG_SUM, DY, DQ, DK, DV }; // slots; inputs are the first four

static husk_attention_params now(const husk_graph *graph, const husk__call *call)
{
    husk_attention_params params = call->params.attention;
    params.seed = graph->seed;
    params.offset = husk__dropout_offset(graph, call->node);
    return params;
}

static husk_status run_attention(husk_graph *graph, const husk__call *call)
{
    husk_attention_params params = now(graph, call);
    return husk_attention(graph->queue, &params, husk__tensor_of(call, Q), husk__tensor_of(call, K),
                          husk__tensor_of(call, V), husk__tensor_of(call, MASK), husk__tensor_of(call, Y),
                          husk__tensor_of(call, LOG_SUM));
}

static husk_status run_backward(husk_graph *graph, const husk__call *call)
{
    husk_attention_params params = now(graph, call);
    const husk_tensor *t[10];
    for (int i = 0; i < 10; i++)
        t[i] = husk__tensor_of(call, i);
    return husk_attention_backward(graph->queue, &params, t[Q], t[K], t[V], t[MASK], t[Y], t[LOG_SUM], t[DY], t[DQ],
                                   t[DK], t[DV]);
}

static husk_status forward(husk__schedule *schedule, husk__node *node)
{
    husk__slot slots[6];
    for (int i = 0; i < 4; i++)
        slots[i] = husk__slot_read(schedule, node->inputs[i]);
    slots[Y] = husk__slot_write(schedule, node->outputs[0], 0);
    slots[LOG_SUM] = husk__saves(schedule, node) ? husk__slot_write(schedule, node->outputs[1], 0) : husk__slot_none();
    husk__call *call = husk__call_add(schedule, node, run_attention, slots, 6);
    if (!call)
        return husk__train_no_memory(&schedule->scope);
    if (!husk__is_training(schedule))
        call->params.attention.dropout = 0;
    return HUSK_OK;
}

static husk_status backward(husk__schedule *schedule, husk__node *node)
{
    husk__targets targets;
    husk_status status = husk__targets_begin(schedule, node, node->inputs, NULL, 3, 0, &targets);
    if (status)
        return status;
    husk__slot slots[10];
    for (int i = 0; i < 4; i++)
        slots[i] = husk__slot_read(schedule, node->inputs[i]);
    slots[Y] = husk__slot_read(schedule, node->outputs[0]);
    slots[LOG_SUM] = husk__slot_read(schedule, node->outputs[1]);
    slots[DY] = husk__slot_gradient(schedule, node->outputs[0]);
    for (int i = 0; i < 3; i++)
        slots[DQ + i] = targets.slots[i];
    husk__call *call = husk__call_add(schedule, node, run_backward, slots, 10);
    if (!call)
        return husk__train_no_memory(&schedule->scope);
    call->params.attention.accumulate = targets.accumulate;
    call->params.attention.variant = NULL;
    return husk__targets_settle(schedule, node, &targets);
}

static bool has_gradient(const husk__node *node, int32_t input)
{
    (void)node;
    return input <= V;
}

static const husk__node_kind kind = {
    .name = "attention", .forward = forward, .backward = backward, .has_gradient = has_gradient};

static bool check(husk__building *building, const husk_tensor *t, const char *argument)
{
    char text[160];
    if (t->rank == 4 && (t->shape[3] == 1 || t->strides[3] == 1))
        return true;
    husk__graph_refuse(building, HUSK_INVALID_ARGUMENT, argument, "its shape is %s%s", husk__graph_shape_text(t, text),
                       t->rank == 4 ? "; the last dimension has to be packed (husk_graph_copy)"
                                    : "; [batch, heads, length, width] is wanted");
    return false;
}

static bool check_mask(husk__building *building, husk_value *mask, const int64_t scores[4])
{
    husk_tensor t;
    char text[160];
    if (*mask == HUSK_NO_VALUE)
        return true;
    if (!husk__graph_argument(building, *mask, "mask", &t))
        return false;
    if (t.dtype == husk__wide_dtype(building->graph) && !husk__graph_computed(building, mask, "mask", &t))
        return false;
    bool fits = t.rank <= 4 && (t.dtype == building->graph->dtype || t.dtype == HUSK_U8);
    for (int32_t d = 0; d < t.rank && fits; d++)
        fits = t.shape[d] == 1 || t.shape[d] == scores[4 - t.rank + d];
    if (!fits)
        husk__graph_refuse(
            building, HUSK_INVALID_ARGUMENT, "mask",
            "%s of %s; what broadcasts to [%lld, %lld, %lld, %lld], of u8 or the graph's dtype, is wanted",
            husk__graph_shape_text(&t, text), husk_dtype_name(t.dtype), (long long)scores[0], (long long)scores[1],
            (long long)scores[2], (long long)scores[3]);
    return fits;
}

husk_value husk_graph_attention(husk_graph *graph, const char *name, const husk_attention_params *params, husk_value q,
                                husk_value k, husk_value v, husk_value mask)
{
    husk__building building;
    husk_attention_params own;
    husk_tensor qt, kt, vt;
    char text[160], other[160];
    if (!husk__graph_begin(&building, graph, "husk_graph_attention", "attention", name, true) ||
        !husk__graph_params(&building, &own, sizeof own, "HUSK_ATTENTION_PARAMS", params, "params") ||
        !husk__graph_computed(&building, &q, "q", &qt) || !husk__graph_computed(&building, &k, "k", &kt) ||
        !husk__graph_computed(&building, &v, "v", &vt) || !check(&building, &qt, "q") || !check(&building, &kt, "k") ||
        !check(&building, &vt, "v"))
        return HUSK_NO_VALUE;
    if (kt.shape[0] != qt.shape[0] || qt.shape[1] % kt.shape[1] || kt.shape[3] != qt.shape[3])
        return husk__graph_refuse(&building, HUSK_INVALID_ARGUMENT, "k",
                                  "its shape is %s, which does not go with q's, %s", husk__graph_shape_text(&kt, text),
                                  husk__graph_shape_text(&qt, other));
    if (vt.shape[0] != kt.shape[0] || vt.shape[1] != kt.shape[1] || vt.shape[2] != kt.shape[2])
        return husk__graph_refuse(&building, HUSK_INVALID_ARGUMENT, "v",
                                  "its shape is %s, which does not go with k's, %s", husk__graph_shape_text(&vt, text),
                                  husk__graph_shape_text(&kt, other));
    if (!(own.dropout >= 0 && own.dropout <= 1) || (unsigned)own.causal > HUSK_CAUSAL_BOTTOM_RIGHT)
        return husk__graph_refuse(&building, HUSK_INVALID_ARGUMENT, "params", "dropout %g or causal %u does not exist",
                                  (double)own.dropout, (unsigned)own.causal);
    if (!check_mask(&building, &mask, (int64_t[]){qt.shape[0], qt.shape[1], qt.shape[2], kt.shape[2]}))
        return HUSK_NO_VALUE;
    husk__node *node = husk__graph_node(&building, &kind, (husk_value[]){q, k, v, mask}, 4);
    if (!node)
        return HUSK_NO_VALUE;
    own.size = sizeof own;
    own.accumulate = 0;
    node->params.attention = own;
    // In memory the heads of a position lie beside each other: what the next layer reads is a view without a copy.
    const int64_t shape[] = {qt.shape[0], qt.shape[1], qt.shape[2], vt.shape[3]};
    husk_value y = husk__graph_result(&building, building.name, graph->dtype, 4, shape);
    if (!y || !husk__graph_result(&building, NULL, husk__wide_dtype(graph), 3, shape))
        return HUSK_NO_VALUE;
    husk_tensor *tensor = &graph->values[y].tensor;
    tensor->strides[1] = shape[3];
    tensor->strides[2] = shape[1] * shape[3];
    return y;
}
