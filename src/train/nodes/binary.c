// SPDX-License-Identifier: MIT
#include "train/graph/build.h"
#include "train/graph/schedule.h"

static husk_status run_binary(husk_graph *graph, const husk__call *call)
{
    return husk_binary(graph->queue, &call->params.binary, husk__tensor_of(call, 0), husk__tensor_of(call, 1),
                       husk__tensor_of(call, 2));
}

static husk_status run_backward(husk_graph *graph, const husk__call *call)
{
    return husk_binary_backward(graph->queue, &call->params.binary, husk__tensor_of(call, 0), husk__tensor_of(call, 1),
                                husk__tensor_of(call, 2), husk__tensor_of(call, 3), husk__tensor_of(call, 4));
}

static husk_status forward(husk__schedule *schedule, husk__node *node)
{
    const husk__slot slots[] = {husk__slot_read(schedule, node->inputs[0]), husk__slot_read(schedule, node->inputs[1]),
                                husk__slot_write(schedule, node->outputs[0], 3)};
    return husk__call_add(schedule, node, run_binary, slots, 3) ? HUSK_OK : husk__train_no_memory(&schedule->scope);
}

// A residual sum: both gradients are dy itself. The second may be in dy's memory, then nothing is computed for it.
static bool passes_on(const husk__schedule *schedule, const husk__node *node)
{
    const husk_binary_params *params = &node->params.binary;
    const husk_tensor *y = husk__value_tensor(schedule, node->outputs[0]);
    return params->op == HUSK_BINARY_ADD && params->alpha == 1 && params->beta == 1 &&
           husk__same_shape(husk__value_tensor(schedule, node->inputs[0]), y) &&
           husk__same_shape(husk__value_tensor(schedule, node->inputs[1]), y);
}

static husk_status backward(husk__schedule *schedule, husk__node *node)
{
    husk__slot dy = husk__slot_gradient(schedule, node->outputs[0]);
    if (passes_on(schedule, node)) {
        husk_status status = HUSK_OK;
        for (int i = 0; i < 2 && !status; i++)
            if (husk__wants_gradient(schedule, node->inputs[i]))
                status = husk__add_gradient(schedule, node, dy, node->inputs[i]);
        return status;
    }
    husk__targets targets;
    husk_status status = husk__targets_begin(schedule, node, node->inputs, NULL, 2, 0, &targets);
    if (status)
        return status;
    bool reads = node->params.binary.op != HUSK_BINARY_ADD && node->params.binary.op != HUSK_BINARY_SUBTRACT;
    const husk__slot slots[] = {reads ? husk__slot_read(schedule, node->inputs[0]) : husk__slot_none(),
                                reads ? husk__slot_read(schedule, node->inputs[1]) : husk__slot_none(), dy,
                                targets.slots[0], targets.slots[1]};
    husk__call *call = husk__call_add(schedule, node, run_backward, slots, 5);
    if (!call)
        return husk__train_no_memory(&schedule->scope);
    call->params.binary.accumulate = targets.accumulate;
    call->params.binary.variant = NULL;
    return husk__targets_settle(schedule, node, &targets);
}

static bool has_gradient(const husk__node *node, int32_t input)
{
    (void)input;
    return node->params.binary.op < HUSK_BINARY_EQUAL;
}

static const husk__node_kind kind = {
    .name = "binary", .forward = forward, .backward = backward, .has_gradient = has_gradient};

// The shape that both broadcast to; false: none.
static bool broadcast(const husk_tensor *a, const husk_tensor *b, int32_t *rank, int64_t *shape)
{
    *rank = a->rank > b->rank ? a->rank : b->rank;
    for (int32_t i = 1; i <= *rank; i++) {
        int64_t x = i <= a->rank ? a->shape[a->rank - i] : 1, y = i <= b->rank ? b->shape[b->rank - i] : 1;
        if (x != y && x != 1 && y != 1)
            return false;
        shape[*rank - i] = x > y ? x : y;
    }
    return true;
}

husk_value husk_graph_binary(husk_graph *graph, const char *name, const husk_binary_params *params, husk_value a,
                             husk_value b)
{
    const husk_binary_params defaults = husk_binary_defaults(HUSK_BINARY_ADD);
    husk__building building;
    husk_binary_params own;
    husk_tensor at, bt;
    int32_t rank;
    int64_t shape[HUSK_MAX_RANK];
    char text[160], other[160];
    if (!husk__graph_begin(&building, graph, "husk_graph_binary", "binary", name, true) ||
        !husk__graph_params(&building, &own, sizeof own, "husk_binary_defaults", params ? params : &defaults,
                            "params") ||
        !husk__graph_number(&building, a, "a", &at) || !husk__graph_number(&building, b, "b", &bt))
        return HUSK_NO_VALUE;
    if ((unsigned)own.op > HUSK_BINARY_GREATER_EQUAL)
        return husk__graph_refuse(&building, HUSK_INVALID_ARGUMENT, "params", "op %u does not exist", (unsigned)own.op);
    if (!broadcast(&at, &bt, &rank, shape))
        return husk__graph_refuse(&building, HUSK_INVALID_ARGUMENT, "b",
                                  "its shape is %s, which does not go with a's, %s", husk__graph_shape_text(&bt, text),
                                  husk__graph_shape_text(&at, other));
    husk__node *node = husk__graph_node(&building, &kind, (husk_value[]){a, b}, 2);
    if (!node)
        return HUSK_NO_VALUE;
    own.size = sizeof own;
    own.accumulate = 0;
    node->params.binary = own;
    return husk__graph_result(&building, building.name, building.dtype, rank, shape);
}
