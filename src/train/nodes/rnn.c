// SPDX-License-Identifier: MIT
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "train/graph/schedule.h"
#include "train/nodes/copy.h"

// A node's inputs are these, then four a direction of a layer: input, hidden, input_bias, hidden_bias.
enum { X, LENGTHS, H0, C0, WEIGHTS };
enum { Y, RESERVE, H_N, C_N }; // outputs; the last two where they are there

static int32_t direction_count(const husk_rnn_params *params)
{
    return (int32_t)(params->layers ? params->layers : 1) * (params->bidirectional ? 2 : 1);
}

// How many slots a call begins with: the node's inputs.
static int32_t input_count(const husk__call *call)
{
    return WEIGHTS + 4 * direction_count(&call->params.rnn);
}

static void list_weights(const husk__call *call, int32_t first, husk_rnn_weights *weights)
{
    for (int32_t i = 0; i < direction_count(&call->params.rnn); i++)
        weights[i] =
            (husk_rnn_weights){husk__tensor_of(call, first + 4 * i), husk__tensor_of(call, first + 4 * i + 1),
                               husk__tensor_of(call, first + 4 * i + 2), husk__tensor_of(call, first + 4 * i + 3)};
}

// Everything that a run or a plan of a call is given.
typedef struct arguments {
    husk_rnn_weights weights[HUSK__RNN_DIRECTIONS], wanted[HUSK__RNN_DIRECTIONS];
    husk_rnn_inputs inputs;
    husk_rnn_outputs outputs, output_gradients;
    husk_rnn_gradients gradients;
} arguments;

static void read_inputs(const husk__call *call, arguments *own)
{
    list_weights(call, WEIGHTS, own->weights);
    own->inputs =
        HUSK_RNN_INPUTS(.x = husk__tensor_of(call, X), .lengths = husk__tensor_of(call, LENGTHS),
                        .h0 = husk__tensor_of(call, H0), .c0 = husk__tensor_of(call, C0), .weights = own->weights);
}

static void read_forward(const husk__call *call, arguments *own)
{
    int32_t at = input_count(call);
    read_inputs(call, own);
    own->outputs = HUSK_RNN_OUTPUTS(.y = husk__tensor_of(call, at + Y), .reserve = husk__tensor_of(call, at + RESERVE),
                                    .h_n = husk__tensor_of(call, at + H_N), .c_n = husk__tensor_of(call, at + C_N));
}

static husk_status run_rnn(husk_graph *graph, const husk__call *call)
{
    arguments own;
    read_forward(call, &own);
    return husk_rnn_plan_run(call->plan, graph->queue, &own.inputs, &own.outputs);
}

static husk_status plan_rnn(husk_graph *graph, husk__call *call, husk_error *error)
{
    arguments own;
    read_forward(call, &own);
    return husk_rnn_plan_create(graph->context, &call->params.rnn, &own.inputs, &own.outputs, &call->plan, error);
}

static husk_status forward(husk__schedule *schedule, husk__node *node)
{
    int32_t count = node->input_count;
    husk__slot *slots = malloc(sizeof *slots * ((size_t)count + 4));
    if (!slots)
        return husk__train_no_memory(&schedule->scope);
    for (int32_t i = 0; i < count; i++)
        slots[i] = husk__slot_read(schedule, node->inputs[i]);
    for (int32_t i = 0; i < 4; i++) {
        bool is_there = i < node->output_count && (i != RESERVE || husk__saves(schedule, node));
        slots[count + i] = is_there ? husk__slot_write(schedule, node->outputs[i], 0) : husk__slot_none();
    }
    husk__call *call = husk__call_add(schedule, node, run_rnn, slots, count + 4);
    free(slots);
    if (!call)
        return husk__train_no_memory(&schedule->scope);
    call->plan_create = plan_rnn;
    return HUSK_OK;
}

// ---- gradients ----

// Slots of backward behind the inputs: y, reserve, the gradients of y, h_n and c_n, then those of the inputs.
static void read_backward(const husk__call *call, arguments *own)
{
    int32_t count = input_count(call), at = count, wanted = count + 5;
    read_inputs(call, own);
    own->outputs = HUSK_RNN_OUTPUTS(.y = husk__tensor_of(call, at), .reserve = husk__tensor_of(call, at + 1));
    own->output_gradients = HUSK_RNN_OUTPUTS(.y = husk__tensor_of(call, at + 2), .h_n = husk__tensor_of(call, at + 3),
                                             .c_n = husk__tensor_of(call, at + 4));
    list_weights(call, wanted + WEIGHTS, own->wanted);
    own->gradients =
        HUSK_RNN_GRADIENTS(.x = husk__tensor_of(call, wanted + X), .h0 = husk__tensor_of(call, wanted + H0),
                           .c0 = husk__tensor_of(call, wanted + C0), .weights = own->wanted);
}

static husk_status run_backward(husk_graph *graph, const husk__call *call)
{
    arguments own;
    read_backward(call, &own);
    return husk_rnn_backward_plan_run(call->plan, graph->queue, &own.inputs, &own.outputs, &own.output_gradients,
                                      &own.gradients);
}

static husk_status plan_backward(husk_graph *graph, husk__call *call, husk_error *error)
{
    arguments own;
    read_backward(call, &own);
    return husk_rnn_backward_plan_create(graph->context, &call->params.rnn, &own.inputs, &own.outputs,
                                         &own.output_gradients, &own.gradients, &call->plan, error);
}

static husk_status backward(husk__schedule *schedule, husk__node *node)
{
    int32_t count = node->input_count;
    uint8_t bits[WEIGHTS + 4 * HUSK__RNN_DIRECTIONS];
    for (int32_t i = 0; i < WEIGHTS + 4 * HUSK__RNN_DIRECTIONS; i++)
        bits[i] = i < WEIGHTS ? HUSK_ACCUMULATE_INPUTS : HUSK_ACCUMULATE_PARAMETERS;
    husk__targets targets;
    husk_status status = husk__targets_begin(schedule, node, node->inputs, bits, count, 0, &targets);
    if (status)
        return status;
    husk__slot slots[2 * (WEIGHTS + 4 * HUSK__RNN_DIRECTIONS) + 5];
    for (int32_t i = 0; i < count; i++)
        slots[i] = husk__slot_read(schedule, node->inputs[i]);
    slots[count] = husk__slot_read(schedule, node->outputs[Y]);
    slots[count + 1] = husk__slot_read(schedule, node->outputs[RESERVE]);
    slots[count + 2] = husk__slot_gradient(schedule, node->outputs[Y]);
    for (int32_t i = H_N; i <= C_N; i++)
        slots[count + 1 + i] =
            i < node->output_count ? husk__slot_gradient(schedule, node->outputs[i]) : husk__slot_none();
    for (int32_t i = 0; i < count; i++)
        slots[count + 5 + i] = targets.slots[i];
    husk__call *call = husk__call_add(schedule, node, run_backward, slots, 2 * count + 5);
    if (!call)
        return husk__train_no_memory(&schedule->scope);
    call->plan_create = plan_backward;
    call->params.rnn.accumulate = targets.accumulate;
    call->params.rnn.variant = NULL;
    return husk__targets_settle(schedule, node, &targets);
}

static bool has_gradient(const husk__node *node, int32_t input)
{
    (void)node;
    return input != LENGTHS;
}

static const husk__node_kind kind = {
    .name = "rnn", .forward = forward, .backward = backward, .has_gradient = has_gradient};

// ---- building ----

static int64_t gate_count(husk_rnn_cell cell)
{
    return cell == HUSK_RNN_LSTM ? 4 : cell == HUSK_RNN_GRU ? 3 : 1;
}

static bool check_shape(husk__building *building, husk_value *value, const char *argument, int32_t rank,
                        const int64_t *shape)
{
    husk_tensor t, wanted = husk_tensor_make(NULL, building->graph->dtype, rank, shape);
    char text[160], other[160];
    if (!husk__graph_optional(building, value, argument, &t))
        return false;
    if (t.rank < 0 || husk__same_shape(&t, &wanted))
        return true;
    husk__graph_refuse(building, HUSK_INVALID_ARGUMENT, argument, "its shape is %s; %s is wanted",
                       husk__graph_shape_text(&t, text), husk__graph_shape_text(&wanted, other));
    return false;
}

static bool check_params(husk__building *building, const husk_rnn_params *params, const husk_tensor *x)
{
    char text[160];
    if (x->rank != 3)
        husk__graph_refuse(building, HUSK_INVALID_ARGUMENT, "x", "its shape is %s; [steps, batch, features] is wanted",
                           husk__graph_shape_text(x, text));
    else if ((unsigned)params->cell > HUSK_RNN_GRU)
        husk__graph_refuse(building, HUSK_INVALID_ARGUMENT, "params", "cell %u does not exist", (unsigned)params->cell);
    else if (params->hidden_size < 1)
        husk__graph_refuse(building, HUSK_INVALID_ARGUMENT, "params", "hidden_size is %lld; 1 at least is wanted",
                           (long long)params->hidden_size);
    else if (params->hidden_size > INT32_MAX)
        husk__graph_refuse(building, HUSK_INVALID_ARGUMENT, "params", "hidden_size is %lld; at most %d is possible",
                           (long long)params->hidden_size, INT32_MAX);
    else if (params->layers < 0 || params->layers > HUSK__RNN_DIRECTIONS / 2)
        husk__graph_refuse(building, HUSK_INVALID_ARGUMENT, "params", "layers is %lld; graphs have 1 to %d",
                           (long long)params->layers, HUSK__RNN_DIRECTIONS / 2);
    else
        return true;
    return false;
}

static bool check_lengths(husk__building *building, husk_value lengths, int64_t batch)
{
    husk_tensor t;
    char text[160];
    if (lengths == HUSK_NO_VALUE)
        return true;
    if (!husk__graph_argument(building, lengths, "lengths", &t))
        return false;
    if (t.dtype == HUSK_I32 && t.rank == 1 && t.shape[0] == batch)
        return true;
    husk__graph_refuse(building, HUSK_INVALID_ARGUMENT, "lengths", "%s of %s; [%lld] of i32 is wanted",
                       husk__graph_shape_text(&t, text), husk_dtype_name(t.dtype), (long long)batch);
    return false;
}

static bool check_weights(husk__building *building, const husk_rnn_params *params, husk_value *weights,
                          int64_t features)
{
    int64_t h = params->hidden_size, rows = gate_count(params->cell) * h, wide = h * (params->bidirectional ? 2 : 1);
    for (int32_t i = 0; i < direction_count(params); i++) {
        int64_t inputs = i < (params->bidirectional ? 2 : 1) ? features : wide;
        for (int part = 0; part < 2; part++)
            if (weights[4 * i + part] == HUSK_NO_VALUE) {
                husk__graph_refuse(building, HUSK_INVALID_ARGUMENT, "weights", "number %d is HUSK_NO_VALUE",
                                   4 * i + part);
                return false;
            }
        if (!check_shape(building, &weights[4 * i], "weights: input", 2, (int64_t[]){rows, inputs}) ||
            !check_shape(building, &weights[4 * i + 1], "weights: hidden", 2, (int64_t[]){rows, h}) ||
            !check_shape(building, &weights[4 * i + 2], "weights: input_bias", 1, &rows) ||
            !check_shape(building, &weights[4 * i + 3], "weights: hidden_bias", 1, &rows))
            return false;
    }
    return true;
}

// The node and its results; every argument was checked.
static husk_value add(husk__building *building, const husk_rnn_params *params, const husk_tensor *x,
                      const husk_value *inputs, int32_t count, husk_value *h_n, husk_value *c_n)
{
    husk_graph *graph = building->graph;
    husk__node *node = husk__graph_node(building, &kind, inputs, count);
    if (!node)
        return HUSK_NO_VALUE;
    node->params.rnn = *params;
    node->params.rnn.size = sizeof *params;
    node->params.rnn.accumulate = 0;
    int64_t h = params->hidden_size, wide = h * (params->bidirectional ? 2 : 1);
    int64_t reserve = husk_rnn_reserve_size(&node->params.rnn, x);
    if (reserve < 1)
        return husk__graph_refuse(building, HUSK_INVALID_ARGUMENT, "params", "husk_rnn does not take them");
    husk_value y =
        husk__graph_result(building, building->name, graph->dtype, 3, (int64_t[]){x->shape[0], x->shape[1], wide});
    if (!y || !husk__graph_result(building, NULL, husk__wide_dtype(graph), 1, &reserve))
        return HUSK_NO_VALUE;
    const int64_t states[] = {direction_count(params), x->shape[1], h};
    if (h_n)
        *h_n = husk__graph_result(building, NULL, graph->dtype, 3, states);
    if (c_n) // behind h_n, always
        *c_n = husk__graph_result(building, NULL, graph->dtype, 3, states);
    return graph->failed ? HUSK_NO_VALUE : y;
}

husk_value husk_graph_rnn(husk_graph *graph, const char *name, const husk_rnn_params *params,
                          const husk_rnn_values *values, husk_value *h_n, husk_value *c_n)
{
    husk__building building;
    husk_rnn_params own;
    husk_rnn_values given;
    husk_tensor xt;
    if (h_n)
        *h_n = HUSK_NO_VALUE;
    if (c_n)
        *c_n = HUSK_NO_VALUE;
    if (!husk__graph_begin(&building, graph, "husk_graph_rnn", "rnn", name, true) ||
        !husk__graph_params(&building, &own, sizeof own, "HUSK_RNN_PARAMS", params, "params") ||
        !husk__graph_params(&building, &given, sizeof given, "HUSK_RNN_VALUES", values, "values") ||
        !husk__graph_computed(&building, &given.x, "x", &xt) || !check_params(&building, &own, &xt) ||
        !check_lengths(&building, given.lengths, xt.shape[1]))
        return HUSK_NO_VALUE;
    bool is_lstm = own.cell == HUSK_RNN_LSTM;
    if ((c_n || given.c0) && !is_lstm)
        return husk__graph_refuse(&building, HUSK_INVALID_ARGUMENT, c_n ? "c_n" : "c0", "only an LSTM has c0 and c_n");
    if (c_n && !h_n)
        return husk__graph_refuse(&building, HUSK_INVALID_ARGUMENT, "h_n", "it is NULL, though c_n is wanted");
    if (!given.weights)
        return husk__graph_refuse(&building, HUSK_INVALID_ARGUMENT, "weights", "it is NULL");
    const int64_t states[] = {direction_count(&own), xt.shape[1], own.hidden_size};
    if (!check_shape(&building, &given.h0, "h0", 3, states) || !check_shape(&building, &given.c0, "c0", 3, states))
        return HUSK_NO_VALUE;
    husk_value inputs[WEIGHTS + 4 * HUSK__RNN_DIRECTIONS] = {given.x, given.lengths, given.h0, given.c0};
    int32_t count = 4 * direction_count(&own);
    for (int32_t i = 0; i < count; i++)
        inputs[WEIGHTS + i] = given.weights[i];
    if (!check_weights(&building, &own, inputs + WEIGHTS, xt.shape[2]))
        return HUSK_NO_VALUE;
    return add(&building, &own, &xt, inputs, WEIGHTS + count, h_n, c_n);
}

husk_value husk_graph_rnn_layer(husk_graph *graph, const char *name, const husk_rnn_layer *layer, husk_value x,
                                husk_value lengths, husk_value *h_n, husk_value *c_n)
{
    husk__building building;
    husk_rnn_layer own;
    husk_rnn_params params;
    husk_tensor xt;
    if (h_n)
        *h_n = HUSK_NO_VALUE;
    if (c_n)
        *c_n = HUSK_NO_VALUE;
    if (!husk__graph_begin(&building, graph, "husk_graph_rnn_layer", "rnn", name, true) ||
        !husk__graph_params(&building, &own, sizeof own, "HUSK_RNN_LAYER", layer, "layer") ||
        !husk__graph_params(&building, &params, sizeof params, "HUSK_RNN_PARAMS", own.params, "layer: params") ||
        !husk__graph_number(&building, x, "x", &xt) || !check_params(&building, &params, &xt))
        return HUSK_NO_VALUE;
    params.size = sizeof params;
    int64_t h = params.hidden_size, rows = gate_count(params.cell) * h;
    int32_t directions = params.bidirectional ? 2 : 1;
    husk_initializer standard = HUSK_INITIALIZER(.kind = HUSK_INITIALIZER_UNIFORM, .spread = 1 / sqrtf((float)h));
    husk_value weights[4 * HUSK__RNN_DIRECTIONS];
    for (int32_t i = 0; i < direction_count(&params); i++) {
        static const char *const parts[] = {"weight_ih", "weight_hh", "bias_ih", "bias_hh"};
        const int64_t inputs = i < directions ? xt.shape[2] : h * directions;
        for (int part = 0; part < 4; part++) {
            char suffix[48];
            snprintf(suffix, sizeof suffix, "%s_l%d%s", parts[part], (int)(i / directions),
                     i % directions ? "_reverse" : "");
            weights[4 * i + part] = part >= 2 && own.no_bias
                                        ? HUSK_NO_VALUE
                                        : husk__graph_own_parameter(&building, suffix, part < 2 ? 2 : 1,
                                                                    (int64_t[]){rows, part == 0 ? inputs : h},
                                                                    part < 2 ? own.weight : own.bias, standard);
        }
    }
    husk_rnn_values values = {.size = sizeof values, .x = x, .lengths = lengths, .weights = weights};
    return husk_graph_rnn(graph, building.name, &params, &values, h_n, c_n);
}
