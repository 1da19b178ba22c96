// SPDX-License-Identifier: MIT
// How a run of recurrent layers' gradients goes through layers and time. For each layer, the top one first: the steps
// from the last to the first leave the gates' gradients of all time steps; gemm's gradients, one for each direction and
// side, make of them those of the layer's inputs, weights and biases.
#include <stdlib.h>
#include <string.h>

#include "base/checked.h"
#include "base/tensor.h"
#include "ops/rnn_backward_problem.h"
#include "ops/rnn_border.h"

typedef husk__rnn_backward_problem problem;
typedef husk__rnn_backward_layout layout;
typedef husk__rnn_backward_state state;
typedef husk__rnn_backward_run arguments;

// The same numbers as in cl/lib/rnn_backward.clh.
enum { CELL_TANH, CELL_RELU, CELL_LSTM, CELL_GRU_AFTER, CELL_GRU_BEFORE };
enum { PASS_FIRST = 1, PASS_SECOND = 2 };
enum { ALIGNMENT = 256, DIRECTION_UNIT = 64, ROW_UNIT = 16, PACK_ROWS = 512, MAX_ARGUMENTS = 64 };

int husk__rnn_backward_cell(const husk__rnn_problem *forward)
{
    switch (forward->cell) {
    case HUSK_RNN_LSTM:
        return CELL_LSTM;
    case HUSK_RNN_GRU:
        return husk__rnn_has_two_passes(forward) ? CELL_GRU_BEFORE : CELL_GRU_AFTER;
    case HUSK_RNN_RELU:
        return CELL_RELU;
    default:
        return CELL_TANH;
    }
}

// ---- what is needed ----

// The lowest layer of which any gradient is wanted; those below are left out.
static int64_t lowest_layer(const problem *own)
{
    if (own->has_dx || own->has_dh0 || own->has_dc0)
        return 0;
    for (int64_t i = 0; i < husk__rnn_weight_count(&own->forward); ++i) {
        const husk__rnn_wanted *wanted = &own->wanted[i];
        if (wanted->input || wanted->hidden || wanted->input_bias || wanted->hidden_bias)
            return i / own->forward.directions;
    }
    return own->forward.layers;
}

// Whether a layer's states before every step are needed: for the hidden weights.
static bool needs_previous(const problem *own, int64_t layer)
{
    bool needed = false;
    for (int64_t d = 0; d < own->forward.directions; ++d)
        needed = needed || own->wanted[layer * own->forward.directions + d].hidden;
    return needed;
}

// ---- sizes ----

static uint64_t reserve(uint64_t *next, uint32_t size, int64_t elements)
{
    const uint64_t at = *next;
    *next += (uint64_t)husk__round_up(elements * (int64_t)size, ALIGNMENT);
    return at;
}

// Everything of f16 and bf16 as f32: what forward's border has room for, and the gradients.
static int64_t border_total(const problem *own)
{
    const husk__rnn_problem *forward = &own->forward;
    const husk_tensor *const tensors[] = {&own->dy, &own->dh_n, &own->dc_n, &own->dx, &own->dh0, &own->dc0};
    const bool is_there[] = {own->has_dy, own->has_dh_n, own->has_dc_n, own->has_dx, own->has_dh0, own->has_dc0};
    if (!husk__rnn_is_narrow(forward))
        return 0;
    int64_t room = husk__rnn_border_total(forward) + husk__rnn_border_weights_room(forward);
    for (int i = 0; i < 6; ++i)
        room += is_there[i] ? husk__rnn_border_room(tensors[i]) : 0;
    return room;
}

void husk__rnn_backward_lay_out(const problem *own, int64_t panel_units, layout *made)
{
    const husk__rnn_problem *forward = &own->forward;
    const int64_t rows = forward->steps * forward->batch, directions = forward->directions;
    const int cell = husk__rnn_backward_cell(forward);
    const uint32_t size = husk__rnn_size(forward);
    *made = (layout){.columns = cell == CELL_GRU_AFTER ? 4 : forward->gates,
                     .previous_parts = cell == CELL_GRU_BEFORE ? 2 : 1,
                     .panel_units = panel_units};
    bool has_previous = false;
    for (int64_t layer = 0; layer < forward->layers; ++layer)
        has_previous = has_previous || needs_previous(own, layer);
    // Rows whose distance is no power of two do not meet in a cache's sets.
    made->rows_pitch = husk__round_up(forward->gates * forward->hidden, ROW_UNIT) + ROW_UNIT;
    made->pitch = panel_units > 0 ? husk__round_up(forward->hidden, panel_units) : forward->hidden;
    made->gradients_direction = husk__round_up(rows * made->columns * forward->hidden, DIRECTION_UNIT);
    made->previous_direction =
        has_previous ? husk__round_up(rows * made->previous_parts * forward->hidden, DIRECTION_UNIT) : 0;
    made->rows_direction =
        husk__round_up(forward->batch * (2 * made->rows_pitch + made->pitch), DIRECTION_UNIT);
    made->packed_direction = panel_units > 0 ? forward->gates * forward->hidden * made->pitch : 0;
    const int64_t below = rows * directions * forward->hidden;
    uint64_t next = ALIGNMENT; // never nothing: what binds memory does not ask whether tensors are empty
    made->gradients = reserve(&next, size, directions * made->gradients_direction);
    made->previous = reserve(&next, size, directions * made->previous_direction);
    made->rows = reserve(&next, size, directions * made->rows_direction);
    made->packed = reserve(&next, size, directions * made->packed_direction);
    made->below[0] = reserve(&next, size, forward->layers > 2 ? below : 0);
    made->below[1] = reserve(&next, size, forward->layers > 1 ? below : 0);
    made->border = reserve(&next, size, border_total(own));
    made->total = next + ALIGNMENT;
}

double husk__rnn_backward_flops(const husk__candidate *candidate)
{
    const problem *own = candidate->problem;
    const husk__candidate forward = {&own->forward, candidate->traits, candidate->configuration};
    return 2.0 * husk__rnn_flops(&forward);
}

// ---- the multiplications over all steps ----

// One of a layer's and direction's: gemm's gradients of a [time, batch, k] times b [n, k] transposed, from dy
// [time, batch, n]. What is not wanted has no rank.
typedef struct part {
    husk_tensor a, b, dy, da, db, dbias;
    uint32_t accumulate;
    bool is_needed;
} part;

static husk_tensor scratch_tensor(const husk__scratch *scratch, uint64_t byte_offset, int64_t beyond,
                                  const problem *own, int64_t features, int64_t row)
{
    const husk__rnn_problem *forward = &own->forward;
    husk_tensor made = husk_tensor_make(scratch ? scratch->buffer : NULL, forward->work, 3,
                                        (int64_t[]){forward->steps, forward->batch, features});
    made.strides[0] = forward->batch * row;
    made.strides[1] = row;
    made.strides[2] = 1;
    made.offset = (int64_t)(byte_offset / husk__rnn_size(forward)) + beyond;
    return made;
}

// Rows first... of a weight [rows, columns] or a bias [rows]; without memory where `given` is NULL.
static husk_tensor rows_of(const problem *own, const husk_tensor *given, int32_t rank, int64_t first, int64_t rows,
                           int64_t columns, int64_t row)
{
    husk_tensor made =
        husk_tensor_make(given ? given->buffer : NULL, own->forward.work, rank, (int64_t[]){rows, columns});
    made.strides[0] = rank == 2 ? row : 1;
    made.strides[rank - 1] = 1;
    made.offset = (given ? given->offset : 0) + first * made.strides[0];
    return made;
}

static const husk_rnn_weights *weight_at(const husk_rnn_weights *weights, int64_t index)
{
    return weights ? &weights[index] : NULL;
}

// What a layer's gradient by its inputs is written to, for the layer below.
static uint64_t below_at(const layout *own, int64_t layer)
{
    return own->below[layer % 2];
}

static husk_tensor layer_input(const problem *own, const arguments *run, int64_t layer)
{
    if (layer > 0) {
        const husk_tensor nothing = {0};
        return husk__rnn_reserve_output(&own->forward, run ? run->outputs->reserve : &nothing, layer - 1);
    }
    husk_tensor x = own->forward.x;
    x.buffer = run ? run->inputs->x->buffer : NULL;
    x.offset = run ? run->inputs->x->offset : 0;
    return x;
}

static husk_tensor input_gradient(const problem *own, const layout *places, const arguments *run,
                                  const husk__scratch *scratch, int64_t layer)
{
    const int64_t features = husk__rnn_layer_inputs(&own->forward, layer);
    if (layer > 0)
        return scratch_tensor(scratch, below_at(places, layer), 0, own, features, features);
    husk_tensor dx = own->dx;
    dx.buffer = run ? run->gradients->x->buffer : NULL;
    dx.offset = run ? run->gradients->x->offset : 0;
    return dx;
}

// Columns first_column... of the gates' gradients, rows first... of the input weights; adds: da has something already.
static part input_part(const problem *own, const layout *places, const arguments *run, const husk__scratch *scratch,
                       int64_t index, int64_t first_column, int64_t first, int64_t gates, bool adds)
{
    const husk__rnn_problem *forward = &own->forward;
    const int64_t layer = index / forward->directions, direction = index % forward->directions;
    const int64_t units = forward->hidden, rows = gates * units, features = husk__rnn_layer_inputs(forward, layer);
    const husk__rnn_wanted *wanted = &own->wanted[index];
    const husk_rnn_weights *weights = run ? &run->inputs->weights[index] : NULL;
    const husk_rnn_weights *gradients = run ? weight_at(run->gradients->weights, index) : NULL;
    part made = {.dy = scratch_tensor(scratch, places->gradients,
                                      direction * places->gradients_direction + first_column * units, own, rows,
                                      places->columns * units)};
    const bool wants_input = layer > 0 ? lowest_layer(own) < layer : own->has_dx;
    if (wants_input) {
        made.b = rows_of(own, weights ? weights->input : NULL, 2, first * units, rows, features,
                         forward->rows[index].input);
        made.da = input_gradient(own, places, run, scratch, layer);
    }
    if (wanted->input) {
        made.a = layer_input(own, run, layer);
        made.db = rows_of(own, gradients ? gradients->input : NULL, 2, first * units, rows, features,
                          wanted->rows.input);
    }
    if (wanted->input_bias)
        made.dbias = rows_of(own, gradients ? gradients->input_bias : NULL, 1, first * units, rows, 0, 1);
    made.accumulate = own->accumulate & HUSK_ACCUMULATE_PARAMETERS;
    if (adds || direction > 0 || (layer == 0 && own->accumulate & HUSK_ACCUMULATE_INPUTS))
        made.accumulate |= HUSK_ACCUMULATE_INPUTS;
    made.is_needed = wants_input || wanted->input || wanted->input_bias;
    return made;
}

// The same of the hidden weights, with part `previous` of the states before.
static part hidden_part(const problem *own, const layout *places, const arguments *run, const husk__scratch *scratch,
                        int64_t index, int64_t first_column, int64_t first, int64_t gates, int64_t previous)
{
    const husk__rnn_problem *forward = &own->forward;
    const int64_t direction = index % forward->directions, units = forward->hidden, rows = gates * units;
    const husk__rnn_wanted *wanted = &own->wanted[index];
    const husk_rnn_weights *gradients = run ? weight_at(run->gradients->weights, index) : NULL;
    part made = {.dy = scratch_tensor(scratch, places->gradients,
                                      direction * places->gradients_direction + first_column * units, own, rows,
                                      places->columns * units),
                 .accumulate = own->accumulate & HUSK_ACCUMULATE_PARAMETERS,
                 .is_needed = wanted->hidden || wanted->hidden_bias};
    if (wanted->hidden) {
        made.a = scratch_tensor(scratch, places->previous,
                                direction * places->previous_direction + previous * units, own, units,
                                places->previous_parts * units);
        made.db = rows_of(own, gradients ? gradients->hidden : NULL, 2, first * units, rows, units,
                          wanted->rows.hidden);
    }
    if (wanted->hidden_bias)
        made.dbias = rows_of(own, gradients ? gradients->hidden_bias : NULL, 1, first * units, rows, 0, 1);
    return made;
}

// No rows at all: a matrix, since strides of an empty batch may say that it is one for all.
static void flatten(husk_tensor *tensor)
{
    if (tensor->rank == 0)
        return;
    tensor->rank = 2;
    tensor->shape[0] = 0;
    tensor->shape[1] = tensor->shape[2];
    tensor->strides[0] = tensor->shape[2];
    tensor->strides[1] = 1;
}

// All of one layer and direction. run and scratch are NULL while a plan is made.
static void parts_of(const problem *own, const layout *places, const arguments *run, const husk__scratch *scratch,
                     int64_t index, part parts[HUSK__RNN_BACKWARD_PARTS])
{
    memset(parts, 0, HUSK__RNN_BACKWARD_PARTS * sizeof *parts);
    switch (husk__rnn_backward_cell(&own->forward)) {
    case CELL_GRU_AFTER: // columns n r z q
        parts[0] = input_part(own, places, run, scratch, index, 1, 0, 2, false);
        parts[1] = input_part(own, places, run, scratch, index, 0, 2, 1, true);
        parts[2] = hidden_part(own, places, run, scratch, index, 1, 0, 3, 0);
        break;
    case CELL_GRU_BEFORE: // r and z read h', n reads r . h'
        parts[0] = input_part(own, places, run, scratch, index, 0, 0, 3, false);
        parts[1] = hidden_part(own, places, run, scratch, index, 0, 0, 2, 0);
        parts[2] = hidden_part(own, places, run, scratch, index, 2, 2, 1, 1);
        break;
    default:
        parts[0] = input_part(own, places, run, scratch, index, 0, 0, own->forward.gates, false);
        parts[1] = hidden_part(own, places, run, scratch, index, 0, 0, own->forward.gates, 0);
    }
    for (int p = 0; p < HUSK__RNN_BACKWARD_PARTS && own->forward.steps * own->forward.batch == 0; ++p) {
        flatten(&parts[p].a);
        flatten(&parts[p].dy);
        flatten(&parts[p].da);
    }
}

static const husk_tensor *if_there(const husk_tensor *tensor)
{
    return tensor->rank > 0 ? tensor : NULL;
}

static husk_status plan_part(husk_plan *plan, const part *made, husk_plan **product, const husk__scope *scope)
{
    const problem *own = plan->problem;
    const husk_gemm_params params = HUSK_GEMM_PARAMS(.transpose_b = 1, .precision = own->forward.precision,
                                                     .accumulate = made->accumulate);
    husk_error error = {0};
    husk_status status = husk_gemm_backward_plan_create(
        plan->context, &params, if_there(&made->a), if_there(&made->b), NULL, NULL, &made->dy, if_there(&made->da),
        if_there(&made->db), if_there(&made->dbias), NULL, product, &error);
    if (status != HUSK_OK)
        return husk__fail_opencl(scope, status, error.opencl_code, "gradients of the products: %s", error.text);
    husk__plan_adopt(*product);
    return HUSK_OK;
}

husk_status husk__rnn_backward_prepare(husk_plan *plan, state *made, const husk__scope *scope)
{
    const problem *own = plan->problem;
    husk_status status = HUSK_OK;
    for (int64_t i = 0; i < husk__rnn_weight_count(&own->forward); ++i) {
        part parts[HUSK__RNN_BACKWARD_PARTS];
        if (i / own->forward.directions < lowest_layer(own))
            continue;
        parts_of(own, &made->layout, NULL, NULL, i, parts);
        for (int p = 0; p < HUSK__RNN_BACKWARD_PARTS && status == HUSK_OK; ++p)
            if (parts[p].is_needed)
                status = plan_part(plan, &parts[p], &made->products[i][p], scope);
    }
    return status;
}

void husk__rnn_backward_unprepare(husk_plan *plan)
{
    state *made = plan->state;
    if (!made)
        return;
    for (int i = 0; i < HUSK__RNN_MAX_WEIGHTS; ++i)
        for (int p = 0; p < HUSK__RNN_BACKWARD_PARTS; ++p)
            husk_plan_release(made->products[i][p]);
    free(made);
}

static husk_status multiply(const husk_plan *plan, husk_queue *queue, const arguments *run,
                            const husk__scratch *scratch, int64_t index)
{
    const problem *own = plan->problem;
    const state *made = plan->state;
    part parts[HUSK__RNN_BACKWARD_PARTS];
    parts_of(own, &made->layout, run, scratch, index, parts);
    husk_status status = HUSK_OK;
    for (int p = 0; p < HUSK__RNN_BACKWARD_PARTS && status == HUSK_OK; ++p)
        if (parts[p].is_needed)
            status = husk_gemm_backward_plan_run(made->products[index][p], queue, 1.0f, if_there(&parts[p].a),
                                                 if_there(&parts[p].b), 0.0f, NULL, NULL, &parts[p].dy,
                                                 if_there(&parts[p].da), if_there(&parts[p].db),
                                                 if_there(&parts[p].dbias), NULL);
    return status;
}

// ---- the steps ----

typedef struct argument_list {
    size_t count;
    husk__arg arguments[MAX_ARGUMENTS];
} argument_list;

static void add(argument_list *list, husk__arg argument)
{
    list->arguments[list->count++] = argument;
}

static void add_i64(argument_list *list, int64_t number)
{
    add(list, HUSK__ARG_I64(number));
}

static void add_i32(argument_list *list, int64_t number)
{
    add(list, HUSK__ARG_I32(number));
}

// A state of a layer's first direction: where it begins, its rows, its directions, and whether it is there.
static void add_state(argument_list *list, const husk_tensor *given, const husk_tensor *planned, int64_t first)
{
    husk_tensor own = *planned;
    if (given) {
        own.buffer = given->buffer;
        own.offset = given->offset + first * own.strides[0];
    }
    add(list, HUSK__ARG_TENSOR(given ? &own : NULL));
    add_i64(list, own.strides[1]);
    add_i64(list, own.strides[0]);
    add_i32(list, given != NULL);
}

static void add_sequence(argument_list *list, const husk_tensor *tensor)
{
    add(list, HUSK__ARG_TENSOR(tensor));
    add_i64(list, tensor ? tensor->strides[0] : 0);
    add_i64(list, tensor ? tensor->strides[1] : 0);
}

static husk_tensor placed(const husk_tensor *planned, const husk_tensor *given)
{
    husk_tensor made = *planned;
    made.buffer = given->buffer;
    made.offset = given->offset;
    return made;
}

// Hidden weights as the step kernel takes them: packed for all directions, or where they lie.
static void add_weights(argument_list *list, const husk_plan *plan, const arguments *run,
                        const husk__scratch *scratch, int64_t first)
{
    const problem *own = plan->problem;
    const state *made = plan->state;
    if (made->pack) {
        add(list, HUSK__ARG_BUFFER(scratch->buffer, made->layout.packed, husk__rnn_size(&own->forward)));
        add_i64(list, made->layout.packed_direction);
        return;
    }
    const int64_t last = first + own->forward.directions - 1;
    add(list, HUSK__ARG_TENSOR(run->inputs->weights[first].hidden));
    add(list, HUSK__ARG_TENSOR(run->inputs->weights[last].hidden));
    add_i64(list, own->forward.rows[first].hidden);
    add_i64(list, own->forward.rows[last].hidden);
}

static void add_shared(argument_list *list, const husk_plan *plan, const arguments *run,
                       const husk__scratch *scratch, int64_t layer)
{
    const problem *own = plan->problem;
    const husk__rnn_problem *forward = &own->forward;
    const state *made = plan->state;
    const layout *places = &made->layout;
    const int64_t first = layer * forward->directions;
    const uint32_t size = husk__rnn_size(forward);
    const bool is_top = layer + 1 == forward->layers;
    const husk_rnn_inputs *inputs = run->inputs;
    const husk_rnn_outputs *output_gradients = run->output_gradients;
    const husk_tensor kept = husk__rnn_reserve_gates(forward, run->outputs->reserve, layer, 0);
    const husk_tensor y = is_top ? placed(&forward->y, run->outputs->y)
                                 : husk__rnn_reserve_output(forward, run->outputs->reserve, layer);
    const int64_t features = forward->directions * forward->hidden;
    husk_tensor dy = {0};
    if (!is_top)
        dy = scratch_tensor(scratch, below_at(places, layer + 1), 0, own, features, features);
    else if (own->has_dy)
        dy = placed(&own->dy, output_gradients->y);
    const bool has_dy = !is_top || own->has_dy;
    add(list, HUSK__ARG_TENSOR(&kept));
    add_i64(list, husk__rnn_reserve_direction(forward));
    add_weights(list, plan, run, scratch, first);
    add(list, HUSK__ARG_TENSOR(inputs->lengths));
    add_i32(list, inputs->lengths != NULL);
    add_state(list, inputs->h0, &forward->h0, first);
    add_state(list, inputs->c0, &forward->c0, first);
    add_sequence(list, &y);
    add_sequence(list, has_dy ? &dy : NULL);
    add_i32(list, has_dy);
    add_state(list, own->has_dh_n ? output_gradients->h_n : NULL, &own->dh_n, first);
    add_state(list, own->has_dc_n ? output_gradients->c_n : NULL, &own->dc_n, first);
    add_state(list, own->has_dh0 ? run->gradients->h0 : NULL, &own->dh0, first);
    add_state(list, own->has_dc0 ? run->gradients->c0 : NULL, &own->dc0, first);
    add_i32(list, (own->accumulate & HUSK_ACCUMULATE_INPUTS) != 0);
    add(list, HUSK__ARG_BUFFER(scratch->buffer, places->gradients, size));
    add_i64(list, places->gradients_direction);
    add(list, HUSK__ARG_BUFFER(scratch->buffer, places->previous, size));
    add_i64(list, places->previous_direction);
    add_i32(list, needs_previous(own, layer));
    add(list, HUSK__ARG_BUFFER(scratch->buffer, places->rows, size));
    add_i64(list, places->rows_direction);
    add_i32(list, places->rows_pitch);
    add_i32(list, forward->steps);
    add_i32(list, forward->batch);
    add_i32(list, forward->hidden);
    add_i32(list, husk__rnn_backward_cell(forward));
}

static husk_status pack(const husk_plan *plan, husk_queue *queue, const arguments *run, const husk__scratch *scratch,
                        int64_t layer, const husk__scope *scope)
{
    const problem *own = plan->problem;
    const husk__rnn_problem *forward = &own->forward;
    const state *made = plan->state;
    const int64_t first = layer * forward->directions, last = first + forward->directions - 1;
    const int64_t rows = forward->gates * forward->hidden;
    const husk__range range = {{(size_t)husk__divide_up(rows, PACK_ROWS),
                                (size_t)(made->layout.pitch / made->layout.panel_units), (size_t)forward->directions},
                               {1, 1, 1}};
    return HUSK__LAUNCH(queue, made->pack, &range, scope, HUSK__ARG_TENSOR(run->inputs->weights[first].hidden),
                        HUSK__ARG_TENSOR(run->inputs->weights[last].hidden),
                        HUSK__ARG_I64(forward->rows[first].hidden), HUSK__ARG_I64(forward->rows[last].hidden),
                        HUSK__ARG_BUFFER(scratch->buffer, made->layout.packed, husk__rnn_size(&own->forward)),
                        HUSK__ARG_I64(made->layout.packed_direction), HUSK__ARG_I32(rows),
                        HUSK__ARG_I32(forward->hidden), HUSK__ARG_I32(PACK_ROWS));
}

static husk_status run_steps(const husk_plan *plan, husk_queue *queue, const arguments *run,
                             const husk__scratch *scratch, int64_t layer, const husk__scope *scope)
{
    const problem *own = plan->problem;
    const husk__rnn_problem *forward = &own->forward;
    const state *made = plan->state;
    const husk__rnn_grid *grid = &made->grid;
    const husk__range range = {{grid->groups[0], grid->groups[1], (size_t)forward->directions},
                               {grid->items[0], grid->items[1], 1}};
    const int last_pass = husk__rnn_has_two_passes(forward) ? PASS_SECOND : PASS_FIRST;
    const int64_t end = own->has_dh0 || own->has_dc0 ? -1 : 0;
    argument_list list;
    list.count = 0; // the rest is written before it is read
    add_shared(&list, plan, run, scratch, layer);
    if (made->pack) {
        add_i32(&list, grid->group_panels);
        add_i32(&list, grid->group_rows);
        add_i32(&list, made->is_far);
    }
    const size_t shared = list.count;
    if (grid->is_whole) {
        add_i32(&list, forward->steps - 1);
        add_i32(&list, forward->steps - end);
        add_i32(&list, PASS_FIRST | PASS_SECOND);
        return husk__launch(queue, made->step, &range, list.arguments, list.count, scope);
    }
    for (int64_t step = forward->steps - 1; step >= end; --step)
        for (int pass = PASS_FIRST; pass <= (step < 0 ? PASS_FIRST : last_pass); ++pass) {
            list.count = shared;
            add_i32(&list, step);
            if (made->pack)
                add_i32(&list, 1);
            add_i32(&list, pass);
            husk_status status = husk__launch(queue, made->step, &range, list.arguments, list.count, scope);
            if (status != HUSK_OK)
                return status;
        }
    return HUSK_OK;
}

// All tensors of f32 or all of f64.
static husk_status run_layers(const husk_plan *plan, husk_queue *queue, const arguments *run,
                              const husk__scratch *scratch, const husk__scope *scope)
{
    const problem *own = plan->problem;
    const state *made = plan->state;
    husk_status status = HUSK_OK;
    for (int64_t layer = own->forward.layers - 1; layer >= lowest_layer(own) && status == HUSK_OK; --layer) {
        if (own->forward.batch > 0 && made->pack)
            status = pack(plan, queue, run, scratch, layer, scope);
        if (own->forward.batch > 0 && status == HUSK_OK)
            status = run_steps(plan, queue, run, scratch, layer, scope);
        for (int64_t d = 0; d < own->forward.directions && status == HUSK_OK; ++d)
            status = multiply(plan, queue, run, scratch, layer * own->forward.directions + d);
    }
    return status;
}

// ---- f16 and bf16 ----

enum { PARTS = 4 };

// A gradient's stand-in, with what is there where it is added to.
static const husk_tensor *enter_gradient(husk__rnn_border *border, husk_queue *queue, const husk_tensor *gradient,
                                         bool adds)
{
    return adds ? husk__rnn_border_in(border, queue, gradient) : husk__rnn_border_place(border, gradient);
}

static void enter_weights(const problem *own, husk__rnn_border *border, husk_queue *queue,
                          const husk_rnn_weights *gradients, husk_rnn_weights *made)
{
    const bool adds = (own->accumulate & HUSK_ACCUMULATE_PARAMETERS) != 0;
    for (int64_t i = 0; i < husk__rnn_weight_count(&own->forward); ++i)
        made[i] = (husk_rnn_weights){enter_gradient(border, queue, gradients[i].input, adds),
                                     enter_gradient(border, queue, gradients[i].hidden, adds),
                                     enter_gradient(border, queue, gradients[i].input_bias, adds),
                                     enter_gradient(border, queue, gradients[i].hidden_bias, adds)};
}

static void leave_weights(const problem *own, husk__rnn_border *border, husk_queue *queue,
                          const husk_rnn_weights *made, const husk_rnn_weights *gradients)
{
    for (int64_t i = 0; i < husk__rnn_weight_count(&own->forward); ++i) {
        const husk_tensor *const from[PARTS] = {made[i].input, made[i].hidden, made[i].input_bias,
                                                made[i].hidden_bias};
        const husk_tensor *const to[PARTS] = {gradients[i].input, gradients[i].hidden, gradients[i].input_bias,
                                              gradients[i].hidden_bias};
        for (int p = 0; p < PARTS; ++p)
            husk__rnn_border_out(border, queue, from[p], to[p]);
    }
}

static husk_status run_narrow(const husk_plan *plan, husk_queue *queue, const arguments *run,
                              const husk__scratch *scratch, const husk__scope *scope)
{
    const problem *own = plan->problem;
    const state *plan_state = plan->state;
    const int64_t count = husk__rnn_weight_count(&own->forward);
    const bool adds = (own->accumulate & HUSK_ACCUMULATE_INPUTS) != 0;
    husk__rnn_border border;
    husk__rnn_border_begin(&border, scratch->buffer, plan_state->layout.border);
    husk_rnn_inputs inputs = *run->inputs;
    husk_rnn_outputs outputs = *run->outputs, output_gradients = *run->output_gradients;
    husk_rnn_gradients gradients = *run->gradients;
    husk_rnn_weights weights[HUSK__RNN_MAX_WEIGHTS];
    inputs.x = husk__rnn_border_in(&border, queue, inputs.x);
    inputs.h0 = husk__rnn_border_in(&border, queue, inputs.h0);
    inputs.c0 = husk__rnn_border_in(&border, queue, inputs.c0);
    husk__rnn_border_weights(&border, queue, inputs.weights, count, border.weights);
    inputs.weights = border.weights;
    outputs.y = husk__rnn_border_in(&border, queue, outputs.y);
    output_gradients.y = husk__rnn_border_in(&border, queue, output_gradients.y);
    output_gradients.h_n = husk__rnn_border_in(&border, queue, output_gradients.h_n);
    output_gradients.c_n = husk__rnn_border_in(&border, queue, output_gradients.c_n);
    gradients.x = enter_gradient(&border, queue, gradients.x, adds);
    gradients.h0 = enter_gradient(&border, queue, gradients.h0, adds);
    gradients.c0 = enter_gradient(&border, queue, gradients.c0, adds);
    if (gradients.weights)
        enter_weights(own, &border, queue, run->gradients->weights, weights);
    gradients.weights = gradients.weights ? weights : NULL;
    const arguments own_run = {&inputs, &outputs, &output_gradients, &gradients};
    husk_status status = border.status;
    if (status == HUSK_OK)
        status = run_layers(plan, queue, &own_run, scratch, scope);
    if (status != HUSK_OK)
        return status;
    husk__rnn_border_out(&border, queue, gradients.x, run->gradients->x);
    husk__rnn_border_out(&border, queue, gradients.h0, run->gradients->h0);
    husk__rnn_border_out(&border, queue, gradients.c0, run->gradients->c0);
    if (gradients.weights)
        leave_weights(own, &border, queue, weights, run->gradients->weights);
    return border.status;
}

husk_status husk__rnn_backward_run_layers(const husk_plan *plan, husk_queue *queue, const void *untyped,
                                          const husk__scratch *scratch, const husk__scope *scope)
{
    const problem *own = plan->problem;
    return husk__rnn_is_narrow(&own->forward) ? run_narrow(plan, queue, untyped, scratch, scope)
                                              : run_layers(plan, queue, untyped, scratch, scope);
}
