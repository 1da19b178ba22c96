// SPDX-License-Identifier: MIT
#include "train/graph/schedule.h"
#include "train/nodes/copy.h"

static husk_status run_embedding(husk_graph *graph, const husk__call *call)
{
    return husk_embedding(graph->queue, &call->params.embedding, husk__tensor_of(call, 0), husk__tensor_of(call, 1),
                          husk__tensor_of(call, 2));
}

static husk_status run_backward(husk_graph *graph, const husk__call *call)
{
    return husk_embedding_backward(graph->queue, &call->params.embedding, husk__tensor_of(call, 0),
                                   husk__tensor_of(call, 1), husk__tensor_of(call, 2));
}

static husk_status forward(husk__schedule *schedule, husk__node *node)
{
    const husk__slot slots[] = {husk__slot_read(schedule, node->inputs[0]), husk__slot_read(schedule, node->inputs[1]),
                                husk__slot_write(schedule, node->outputs[0], 0)};
    return husk__call_add(schedule, node, run_embedding, slots, 3) ? HUSK_OK : husk__train_no_memory(&schedule->scope);
}

static husk_status backward(husk__schedule *schedule, husk__node *node)
{
    static const uint8_t bits[] = {HUSK_ACCUMULATE_PARAMETERS};
    husk__targets targets;
    husk_status status = husk__targets_begin(schedule, node, node->inputs, bits, 1, 0, &targets);
    if (status)
        return status;
    const husk__slot slots[] = {husk__slot_read(schedule, node->inputs[1]),
                                husk__slot_gradient(schedule, node->outputs[0]), targets.slots[0]};
    husk__call *call = husk__call_add(schedule, node, run_backward, slots, 3);
    if (!call)
        return husk__train_no_memory(&schedule->scope);
    call->params.embedding.accumulate = targets.accumulate;
    call->params.embedding.variant = NULL;
    const husk_tensor *table = husk__value_tensor(schedule, node->inputs[0]);
    call->workspace = 8 * (uint64_t)(table->shape[0] + husk_tensor_count(&slots[0].tensor));
    return husk__targets_settle(schedule, node, &targets);
}

static bool has_gradient(const husk__node *node, int32_t input)
{
    (void)node;
    return input == 0;
}

static const husk__node_kind kind = {
    .name = "embedding", .forward = forward, .backward = backward, .has_gradient = has_gradient};

husk_value husk_graph_embedding(husk_graph *graph, const char *name, const husk_embedding_params *params,
                                husk_value table, husk_value indices)
{
    husk__building building;
    husk_embedding_params own;
    husk_tensor tt, it;
    char text[160];
    if (!husk__graph_begin(&building, graph, "husk_graph_embedding", "embedding", name, true) ||
        !husk__graph_params(&building, &own, sizeof own, "HUSK_EMBEDDING_PARAMS", params, "params") ||
        !husk__graph_computed(&building, &table, "table", &tt) ||
        !husk__graph_argument(&building, indices, "indices", &it))
        return HUSK_NO_VALUE;
    if (tt.rank != 2)
        return husk__graph_refuse(&building, HUSK_INVALID_ARGUMENT, "table",
                                  "its shape is %s; [rows, columns] is wanted", husk__graph_shape_text(&tt, text));
    if ((it.dtype != HUSK_I32 && it.dtype != HUSK_I64) || it.rank >= HUSK_MAX_RANK)
        return husk__graph_refuse(&building, HUSK_INVALID_ARGUMENT, "indices",
                                  "%d dimensions of %s; at most %d of i32 or i64 are wanted", (int)it.rank,
                                  husk_dtype_name(it.dtype), HUSK_MAX_RANK - 1);
    husk__node *node = husk__graph_node(&building, &kind, (husk_value[]){table, indices}, 2);
    if (!node)
        return HUSK_NO_VALUE;
    own.size = sizeof own;
    own.accumulate = 0;
    node->params.embedding = own;
    it.shape[it.rank] = tt.shape[1];
    return husk__graph_result(&building, building.name, graph->dtype, it.rank + 1, it.shape);
}
