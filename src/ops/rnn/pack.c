// SPDX-License-Identifier: MIT
// Packed weights of recurrent layers. The buffer holds, for each layer and direction, the hidden weights in
// panels, their biases and a copy of the input biases (cl/rnn/pack.cl); the input weights are packed by gemm,
// or copied to the end of the buffer.
#include <stdlib.h>

#include "base/checked.h"
#include "base/tensor.h"
#include "ops/rnn/border.h"

enum { PACK_ROWS = 64, PACK_ITEMS = 16, PACK_ROWS_OF_PANEL = 512, GATHER_ROWS = 64, GATHER_ITEMS = 64 };

void husk__rnn_describe_packed(const husk_plan *plan, husk__key *key)
{
    const husk__rnn_problem *problem = plan->problem;
    husk__key_i64(key, problem->cell == HUSK_RNN_RELU ? HUSK_RNN_TANH : problem->cell);
    husk__key_i64(key, problem->reset);
    husk__key_i64(key, problem->work);
    husk__key_i64(key, problem->inputs);
    husk__key_i64(key, problem->hidden);
    husk__key_i64(key, problem->layers);
    husk__key_i64(key, problem->directions);
    husk__key_i64(key, problem->has_input_bias + 2 * problem->has_hidden_bias);
    husk__key_i64(key, problem->precision); // by which the variant tile multiplies packed input weights
}

husk_status husk__rnn_pack_panels(const husk_plan *plan, husk_queue *queue, const husk_rnn_weights *weights,
                                  const husk_buffer *to, uint64_t byte_offset, bool has_input,
                                  uint64_t input_byte_offset, const husk__scope *scope)
{
    const husk__rnn_problem *problem = husk__rnn_worked(plan);
    const husk__rnn_state *state = plan->state;
    const int64_t pitch = state->layout.pitch;
    const uint32_t size = husk__rnn_size(problem);
    husk_tensor hidden = *weights->hidden, input = *weights->input;
    husk__tensor_resolve(&hidden);
    husk__tensor_resolve(&input);
    const int64_t units = problem->hidden, features = input.shape[1];
    const int64_t depth = has_input ? husk__max_i64(units, features) : units;
    const int64_t hidden_at = (int64_t)(byte_offset / size);
    const int64_t input_at = (int64_t)(input_byte_offset / size);
    const int64_t first_gates = husk__rnn_has_two_passes(problem) ? problem->gates - 1 : problem->gates;
    const husk__range range = {{(size_t)husk__divide_up(depth, PACK_ROWS_OF_PANEL),
                                (size_t)(pitch / state->layout.panel_units), has_input ? 2 : 1},
                               {1, 1, 1}};
    husk_status status = HUSK_OK;
    for (int64_t gate = 0; gate < problem->gates && status == HUSK_OK; gate += first_gates) {
        const int64_t to_at = hidden_at + gate * pitch * units;
        status = HUSK__LAUNCH(
            queue, state->pack, &range, scope, HUSK__ARG_TENSOR(&hidden),
            HUSK__ARG_I64(hidden.shape[0] > 1 ? hidden.strides[0] : units), HUSK__ARG_TENSOR(weights->hidden_bias),
            HUSK__ARG_I32(weights->hidden_bias != NULL), HUSK__ARG_TENSOR(&input),
            HUSK__ARG_I64(input.shape[0] > 1 ? input.strides[0] : features), HUSK__ARG_TENSOR(weights->input_bias),
            HUSK__ARG_I32(weights->input_bias != NULL), HUSK__ARG_BUFFER(to, (uint64_t)to_at * size, size),
            HUSK__ARG_I64(hidden_at + problem->gates * pitch * units + gate * pitch - to_at),
            HUSK__ARG_I64(input_at + gate * pitch * features - to_at),
            HUSK__ARG_I64(input_at + problem->gates * pitch * features + gate * pitch - to_at), HUSK__ARG_I32(units),
            HUSK__ARG_I32(features), HUSK__ARG_I32(state->unit_vectors), HUSK__ARG_I32(state->strip_vectors),
            HUSK__ARG_I32(gate), HUSK__ARG_I32(husk__min_i64(first_gates, problem->gates - gate)),
            HUSK__ARG_I32(PACK_ROWS_OF_PANEL));
    }
    return status;
}

husk_status husk__rnn_pack_hidden(const husk_plan *plan, husk_queue *queue, const husk_rnn_weights *weights,
                                  const husk_buffer *to, uint64_t byte_offset, const husk__scope *scope)
{
    const husk__rnn_problem *problem = husk__rnn_worked(plan);
    const husk__rnn_state *state = plan->state;
    const husk__rnn_layout *layout = &state->layout;
    const uint32_t size = husk__rnn_size(problem);
    husk_tensor hidden = *weights->hidden;
    husk__tensor_resolve(&hidden);
    const int64_t first_gates = husk__rnn_has_two_passes(problem) ? problem->gates - 1 : problem->gates;
    const int64_t biases = problem->gates * layout->pitch * problem->hidden;
    const husk__range range = {{(size_t)husk__divide_up(layout->panel_units, PACK_ITEMS),
                                (size_t)husk__divide_up(problem->hidden, PACK_ROWS),
                                (size_t)(layout->pitch / layout->panel_units)},
                               {PACK_ITEMS, 1, 1}};
    husk_status status = HUSK_OK;
    for (int64_t gate = 0; gate < problem->gates && status == HUSK_OK; gate += first_gates) {
        const int64_t at = (int64_t)(byte_offset / size) + gate * layout->pitch * problem->hidden;
        const int64_t bias_at = (int64_t)(byte_offset / size) + biases + gate * layout->pitch;
        status =
            HUSK__LAUNCH(queue, state->pack, &range, scope, HUSK__ARG_TENSOR(&hidden),
                         HUSK__ARG_I64(hidden.shape[0] > 1 ? hidden.strides[0] : problem->hidden),
                         HUSK__ARG_TENSOR(weights->hidden_bias), HUSK__ARG_I32(weights->hidden_bias != NULL),
                         HUSK__ARG_BUFFER(to, (uint64_t)at * size, size), HUSK__ARG_I64(bias_at - at),
                         HUSK__ARG_I32(problem->hidden), HUSK__ARG_I32(layout->panel_units), HUSK__ARG_I32(gate),
                         HUSK__ARG_I32(husk__min_i64(first_gates, problem->gates - gate)), HUSK__ARG_I32(PACK_ROWS));
    }
    return status;
}

// ---- packed weights ----

// Elements from a weight's start to its copy of the input bias, which ends its part of the buffer.
static int64_t input_bias_at(const husk__rnn_problem *problem, const husk__rnn_layout *layout)
{
    return layout->weight_stride - husk__round_up(problem->gates * problem->hidden, 64);
}

// Where the copy of input weights `index` lies: behind all parts, and behind the copies before it.
static int64_t input_copy_at(const husk__rnn_problem *problem, const husk__rnn_layout *layout,
                             husk_packed *const *parts, int64_t index)
{
    int64_t at = husk__rnn_weight_count(problem) * layout->weight_stride;
    for (int64_t i = 0; i < index; ++i)
        if (!parts[i])
            at += husk__round_up(
                problem->gates * problem->hidden * husk__rnn_layer_inputs(problem, i / problem->directions), 64);
    return at;
}

void husk__rnn_packed_inputs(const husk_plan *plan, const husk_packed *packed, int64_t index, husk_tensor *input,
                             husk_tensor *bias)
{
    const husk__rnn_problem *problem = husk__rnn_worked(plan);
    const husk__rnn_layout *layout = &((const husk__rnn_state *)plan->state)->layout;
    const int64_t rows = problem->gates * problem->hidden;
    *bias = husk_tensor_make(packed->buffer, problem->work, 1, &rows);
    bias->offset = index * layout->weight_stride + input_bias_at(problem, layout);
    if (packed->parts[index]) {
        *input = husk_packed_tensor(packed->parts[index]);
        return;
    }
    *input = husk_tensor_make(packed->buffer, problem->work, 2,
                              (int64_t[]){rows, husk__rnn_layer_inputs(problem, index / problem->directions)});
    input->offset = input_copy_at(problem, layout, packed->parts, index);
}

// A matrix or a row of any strides into the packed buffer.
static husk_status copy(const husk_plan *plan, husk_queue *queue, const husk_tensor *from, const husk_buffer *to,
                        int64_t at, const husk__scope *scope)
{
    const husk__rnn_state *state = plan->state;
    const uint32_t size = husk__rnn_size(husk__rnn_worked(plan));
    husk_tensor own = *from;
    husk__tensor_resolve(&own);
    const int64_t rows = own.rank == 2 ? own.shape[0] : 1, columns = own.shape[own.rank - 1];
    const husk__range range = {
        {(size_t)husk__divide_up(columns, GATHER_ITEMS), 1, (size_t)husk__divide_up(rows, GATHER_ROWS)},
        {GATHER_ITEMS, 1, 1}};
    return HUSK__LAUNCH(
        queue, state->gather, &range, scope, HUSK__ARG_TENSOR(&own), HUSK__ARG_I64(own.strides[0]), HUSK__ARG_I64(0),
        HUSK__ARG_I64(own.strides[own.rank - 1]), HUSK__ARG_I32(1), HUSK__ARG_TENSOR(NULL), HUSK__ARG_I32(0),
        HUSK__ARG_I32(0), HUSK__ARG_BUFFER(to, (uint64_t)at * size, size), HUSK__ARG_I64(columns), HUSK__ARG_I64(0),
        HUSK__ARG_I32(rows), HUSK__ARG_I32(0), HUSK__ARG_I32(rows), HUSK__ARG_I32(columns), HUSK__ARG_I32(GATHER_ROWS));
}

// Input weights by gemm. *part stays NULL where it takes none, and for so few rows that reading plain weights
// once is faster than multiplying by panels.
static husk_status pack_input(const husk_plan *plan, husk_queue *queue, const husk_tensor *input, int64_t index,
                              husk_packed **part)
{
    const husk__rnn_problem *problem = husk__rnn_worked(plan);
    const husk__rnn_state *state = plan->state;
    *part = NULL;
    if (state->strip_vectors > 0 || husk__rnn_takes_few(problem))
        return HUSK_OK;
    husk_status status = husk_gemm_plan_pack(state->products[index], queue, input, part);
    return status == HUSK_UNSUPPORTED ? HUSK_OK : status;
}

static husk_status fill(const husk_plan *plan, husk_queue *queue, const husk_rnn_weights *weights,
                        const husk_packed *packed, const husk__scope *scope)
{
    const husk__rnn_problem *problem = husk__rnn_worked(plan);
    const husk__rnn_state *state = plan->state;
    const husk__rnn_layout *layout = &state->layout;
    const uint64_t size = husk__rnn_size(problem);
    husk_status status = HUSK_OK;
    for (int64_t i = 0; i < husk__rnn_weight_count(problem) && status == HUSK_OK; ++i) {
        const int64_t at = i * layout->weight_stride;
        if (state->strip_vectors > 0) {
            const int64_t layer = i / problem->directions;
            const int64_t input_at = husk__rnn_input_panels_at(problem, layout, layer) +
                                     i % problem->directions * husk__rnn_input_panels(problem, layout, layer);
            status = husk__rnn_pack_panels(plan, queue, &weights[i], packed->buffer, (uint64_t)at * size, true,
                                           (uint64_t)input_at * size, scope);
            continue;
        }
        status = husk__rnn_pack_hidden(plan, queue, &weights[i], packed->buffer, (uint64_t)at * size, scope);
        if (status == HUSK_OK && weights[i].input_bias)
            status =
                copy(plan, queue, weights[i].input_bias, packed->buffer, at + input_bias_at(problem, layout), scope);
        if (status == HUSK_OK && !packed->parts[i])
            status = copy(plan, queue, weights[i].input, packed->buffer,
                          input_copy_at(problem, layout, packed->parts, i), scope);
    }
    return status;
}

static husk_status pack_work(const husk_plan *plan, husk_queue *queue, const husk_rnn_weights *weights,
                             husk_packed **packed, const husk__scope *scope)
{
    const husk__rnn_problem *problem = husk__rnn_worked(plan);
    const husk__rnn_layout *layout = &((const husk__rnn_state *)plan->state)->layout;
    const int64_t count = husk__rnn_weight_count(problem);
    const husk_tensor logical =
        husk_tensor_make(NULL, problem->work, 3, (int64_t[]){count, problem->gates * problem->hidden, problem->hidden});
    husk_packed **parts = calloc((size_t)count, sizeof *parts);
    if (!parts)
        return husk__fail(scope, HUSK_OUT_OF_HOST_MEMORY, "no host memory for packed weights");
    husk_status status = HUSK_OK;
    for (int64_t i = 0; i < count && status == HUSK_OK; ++i)
        status = pack_input(plan, queue, weights[i].input, i, &parts[i]);
    const int64_t elements = ((const husk__rnn_state *)plan->state)->strip_vectors > 0
                                 ? husk__rnn_input_panels_at(problem, layout, problem->layers)
                                 : input_copy_at(problem, layout, parts, count);
    const uint64_t bytes = (uint64_t)elements * husk__rnn_size(problem);
    if (status == HUSK_OK)
        status = husk__packed_create(plan, bytes, &logical, packed, scope);
    if (status != HUSK_OK) {
        for (int64_t i = 0; i < count; ++i)
            husk_packed_release(parts[i]);
        free(parts);
        return status;
    }
    (*packed)->parts = parts;
    (*packed)->part_count = (size_t)count;
    (*packed)->flags = (problem->has_input_bias ? HUSK__RNN_PACKED_INPUT_BIAS : 0u) |
                       (problem->has_hidden_bias ? HUSK__RNN_PACKED_HIDDEN_BIAS : 0u);
    status = fill(plan, queue, weights, *packed, scope);
    if (status != HUSK_OK) {
        husk_packed_release(*packed);
        *packed = NULL;
    }
    return status;
}

// Packed weights of f16 and bf16 are f32.
husk_status husk__rnn_pack(const husk_plan *plan, husk_queue *queue, const husk_rnn_weights *weights,
                           husk_packed **packed, const husk__scope *scope)
{
    const husk__rnn_problem *problem = husk__rnn_worked(plan);
    if (!husk__rnn_is_narrow(problem))
        return pack_work(plan, queue, weights, packed, scope);
    husk__scratch scratch;
    husk_status status =
        husk__scratch_begin(queue, (uint64_t)husk__rnn_border_weights_room(problem) * sizeof(float), &scratch, scope);
    if (status != HUSK_OK)
        return status;
    husk__rnn_border border;
    husk__rnn_border_begin(&border, scratch.buffer, 0);
    husk__rnn_border_weights(&border, queue, weights, husk__rnn_weight_count(problem), border.weights);
    status = border.status;
    if (status == HUSK_OK)
        status = pack_work(plan, queue, border.weights, packed, scope);
    husk__scratch_end(queue, &scratch);
    return status;
}
