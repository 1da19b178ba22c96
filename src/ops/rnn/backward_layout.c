// SPDX-License-Identifier: MIT
// The gradients of recurrent layers: what is needed, where it lies in scratch memory, and how many time steps are done
// at once.
#include "base/checked.h"
#include "base/tensor.h"
#include "ops/rnn/backward_problem.h"
#include "ops/shared/gemm_backward.h"

typedef husk__rnn_backward_problem problem;
typedef husk__rnn_backward_layout layout;

enum { DIRECTION_UNIT = 64, ROW_UNIT = 16 };

int husk__rnn_backward_cell(const husk__rnn_problem *forward)
{
    switch (forward->cell) {
    case HUSK_RNN_LSTM:
        return HUSK__RNN_BACKWARD_LSTM;
    case HUSK_RNN_GRU:
        return husk__rnn_has_two_passes(forward) ? HUSK__RNN_BACKWARD_GRU_BEFORE : HUSK__RNN_BACKWARD_GRU_AFTER;
    case HUSK_RNN_RELU:
        return HUSK__RNN_BACKWARD_RELU;
    default:
        return HUSK__RNN_BACKWARD_TANH;
    }
}

// ---- what is needed ----

int64_t husk__rnn_backward_lowest(const problem *own)
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

bool husk__rnn_backward_needs_previous(const problem *own, int64_t layer)
{
    bool needed = false;
    for (int64_t d = 0; d < own->forward.directions; ++d)
        needed = needed || own->wanted[layer * own->forward.directions + d].hidden;
    return needed;
}

static bool any_needs_previous(const problem *own)
{
    bool needed = false;
    for (int64_t layer = 0; layer < own->forward.layers; ++layer)
        needed = needed || husk__rnn_backward_needs_previous(own, layer);
    return needed;
}

// ---- sizes ----

// One direction's, in elements; those of gates and states as the chunk has them.
static void size_directions(const problem *own, layout *made)
{
    const husk__rnn_problem *forward = &own->forward;
    const int64_t rows = made->chunk * forward->batch;
    made->gradients_direction = husk__round_up(rows * made->columns * forward->hidden, DIRECTION_UNIT);
    made->previous_direction =
        any_needs_previous(own) ? husk__round_up(rows * made->previous_parts * forward->hidden, DIRECTION_UNIT) : 0;
    made->rows_direction = husk__round_up(forward->batch * (2 * made->rows_pitch + made->pitch), DIRECTION_UNIT);
    made->packed_direction = made->panel_units > 0 ? forward->gates * forward->hidden * made->pitch : 0;
}

static void place(const problem *own, layout *made)
{
    const husk__rnn_problem *forward = &own->forward;
    const int64_t below = forward->steps * forward->batch * forward->directions * forward->hidden;
    const uint32_t size = husk__rnn_size(forward);
    uint64_t next = HUSK__RNN_ALIGNMENT; // never nothing: what binds memory does not ask whether tensors are empty
    size_directions(own, made);
    made->gradients = husk__rnn_reserve(&next, size, made->at_once * made->gradients_direction);
    made->previous = husk__rnn_reserve(&next, size, made->at_once * made->previous_direction);
    made->rows = husk__rnn_reserve(&next, size, made->at_once * made->rows_direction);
    made->packed = husk__rnn_reserve(&next, size, made->at_once * made->packed_direction);
    made->below[0] = husk__rnn_reserve(&next, size, forward->layers > 2 ? below : 0);
    made->below[1] = husk__rnn_reserve(&next, size, forward->layers > 1 ? below : 0);
    made->border = husk__rnn_reserve(&next, size, husk__rnn_backward_border_total(own));
    made->total = next + HUSK__RNN_ALIGNMENT;
}

// With what the products need beside it, where the caller's limit is for all. They take more where it is left.
static bool fits(const problem *own, int64_t chunk, layout *made)
{
    const husk__rnn_problem *forward = &own->forward;
    made->chunk = chunk;
    place(own, made);
    uint64_t total = made->total;
    if (forward->limit_is_given)
        total += husk__gemm_backward_bias_bytes(chunk * forward->batch, made->columns * forward->hidden, forward->work);
    return total <= forward->workspace_limit;
}

// Chunks of one length, but for the first to be done, which has what is left.
static void even_out(const problem *own, layout *made)
{
    const int64_t steps = own->forward.steps;
    made->chunks = husk__max_i64(husk__divide_up(steps, husk__max_i64(made->chunk, 1)), 1);
    made->chunk = husk__divide_up(steps, made->chunks);
    place(own, made);
}

// All steps of all directions at once, as a rule; else one direction after the other, as many steps as fit, and one at
// least.
void husk__rnn_backward_lay_out(const problem *own, int64_t panel_units, layout *made)
{
    const husk__rnn_problem *forward = &own->forward;
    const int cell = husk__rnn_backward_cell(forward);
    *made = (layout){.at_once = forward->directions,
                     .columns = cell == HUSK__RNN_BACKWARD_GRU_AFTER ? 4 : forward->gates,
                     .previous_parts = cell == HUSK__RNN_BACKWARD_GRU_BEFORE ? 2 : 1,
                     .panel_units = panel_units};
    // Rows whose distance is no power of two do not meet in a cache's sets.
    made->rows_pitch = husk__round_up(forward->gates * forward->hidden, ROW_UNIT) + ROW_UNIT;
    made->pitch = panel_units > 0 ? husk__round_up(forward->hidden, panel_units) : forward->hidden;
    if (!fits(own, forward->steps, made)) {
        made->at_once = 1;
        int64_t least = husk__min_i64(forward->steps, 1), most = forward->steps;
        while (least < most) { // the longest chunk that fits
            const int64_t middle = least + (most - least + 1) / 2;
            if (fits(own, middle, made))
                least = middle;
            else
                most = middle - 1;
        }
        made->chunk = least;
    }
    even_out(own, made);
}

husk__rnn_problem husk__rnn_backward_launched(const problem *own, const layout *places)
{
    husk__rnn_problem launched = own->forward;
    launched.steps = places->chunk;
    launched.directions = places->at_once;
    return launched;
}

// ---- places ----

husk__rnn_backward_span husk__rnn_backward_span_of(const problem *own, const layout *places, int64_t chunk,
                                                   int64_t direction)
{
    const int64_t begin = (places->chunks - 1 - chunk) * places->chunk;
    const int64_t end = chunk == 0 ? own->forward.steps : begin + places->chunk;
    return (husk__rnn_backward_span){chunk, begin, end, direction, places->at_once};
}

husk_tensor husk__rnn_backward_scratch(const husk__rnn_problem *forward, const husk__scratch *scratch,
                                       uint64_t byte_offset, int64_t beyond, int64_t steps, int64_t features,
                                       int64_t row)
{
    husk_tensor made = husk_tensor_make(scratch ? scratch->buffer : NULL, forward->work, 3,
                                        (int64_t[]){steps, forward->batch, features});
    made.strides[0] = forward->batch * row;
    made.strides[1] = row;
    made.strides[2] = 1;
    made.offset = (int64_t)(byte_offset / husk__rnn_size(forward)) + beyond;
    return made;
}
