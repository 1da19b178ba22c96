// SPDX-License-Identifier: MIT
// A sequence through every layer, and the numbers that training keeps on the way.
#include "ref/rnn/sequence.h"

#include <stdlib.h>
#include <string.h>

typedef husk_ref_rnn_sequence sequence;
typedef husk_ref_rnn_number number;

bool husk_ref_rnn_sequence_create(const husk_ref_rnn *op, sequence *s)
{
    const husk_rnn_params *params = op->params;
    s->op = op;
    s->steps = op->x->shape[0];
    s->batch = op->x->shape[1];
    s->input = op->x->shape[2];
    s->hidden = params->hidden_size;
    s->layers = params->layers != 0 ? params->layers : 1;
    s->directions = params->bidirectional ? 2 : 1;
    s->width = s->input > s->directions * s->hidden ? s->input : s->directions * s->hidden;
    size_t plane = (size_t)(s->steps * s->width);
    s->memory = calloc(4 * plane + 18 * (size_t)s->hidden + 1, sizeof(double));
    if (s->memory == NULL)
        return false;
    s->rows = s->memory;
    s->rows_error = s->rows + plane;
    s->above = s->rows_error + plane;
    s->above_error = s->above + plane;
    s->state = s->above_error + plane;
    s->kept = op->reserve != NULL ? (number *)(s->state + 8 * s->hidden) : NULL;
    return true;
}

// The device's own state before a step is exact: it is what the step really read.
static void load_observed(const sequence *s, int64_t time, int64_t b, int64_t direction, husk_ref_rnn_state *state)
{
    for (int64_t j = 0; j < s->hidden; j++) {
        int64_t index[3] = {time, b, direction * s->hidden + j};
        state->h[j] = husk_ref_load(s->observed, husk_ref_offset(s->observed, index));
        state->h_error[j] = 0.0;
    }
}

static void emit_states(const sequence *s, const int64_t *units, int64_t count, int64_t row, int64_t b,
                        const husk_ref_rnn_state *state)
{
    for (int64_t i = 0; i < count; i++) {
        int64_t index[3] = {row, b, units != NULL ? units[i] : i};
        s->emit(s->user, HUSK_REF_RNN_H_N, index, (number){state->h[index[2]], state->h_error[index[2]]});
        if (s->op->params->cell == HUSK_RNN_LSTM)
            s->emit(s->user, HUSK_REF_RNN_C_N, index, (number){state->c[index[2]], state->c_error[index[2]]});
    }
}

static void store_kept(const sequence *s, int64_t layer, int64_t direction, int64_t time, int64_t b,
                       const husk_ref_rnn_state *next)
{
    const husk_ref_array *reserve = s->op->reserve;
    int64_t kept = husk_ref_rnn_kept(s->op->params) * s->hidden;
    int64_t at = husk_ref_rnn_reserve_gates(s->op, layer, direction) + (time * s->batch + b) * kept;
    for (int64_t i = 0; i < kept; i++)
        husk_ref_store(reserve, at + i, s->kept[i].value);
    at = husk_ref_rnn_reserve_output(s->op, layer) + ((time * s->batch + b) * s->directions + direction) * s->hidden;
    for (int64_t j = 0; layer + 1 < s->layers && j < s->hidden; j++)
        husk_ref_store(reserve, at + j, next->h[j]);
}

static bool run_direction(const sequence *s, int64_t layer, int64_t direction, int64_t b, int64_t length)
{
    bool top = layer == s->layers - 1;
    const int64_t *units = top ? s->units : NULL;
    int64_t count = units != NULL ? s->unit_count : s->hidden;
    int64_t row = layer * s->directions + direction;
    memset(s->state, 0, (size_t)s->hidden * 8 * sizeof(*s->state));
    husk_ref_rnn_state now = husk_ref_rnn_state_at(s->state, s->hidden);
    husk_ref_rnn_state next = husk_ref_rnn_state_at(s->state + 4 * s->hidden, s->hidden);
    husk_ref_rnn_load_initial(s->op->h0, (const int64_t[3]){row, b, 0}, s->hidden, now.h);
    husk_ref_rnn_load_initial(s->op->c0, (const int64_t[3]){row, b, 0}, s->hidden, now.c);
    for (int64_t step_number = 0; step_number < length; step_number++) {
        int64_t time = direction == 0 ? step_number : length - 1 - step_number;
        if (top && s->observed != NULL && step_number > 0)
            load_observed(s, direction == 0 ? time - 1 : time + 1, b, direction, &now);
        if (!husk_ref_rnn_step_and_keep(s->op->params, &s->op->weights[row], s->rows + time * s->width,
                                        s->rows_error + time * s->width, &now, units, count, &next,
                                        s->op->product_factor, s->kept))
            return false;
        if (s->kept != NULL)
            store_kept(s, layer, direction, time, b, &next);
        for (int64_t i = 0; i < count; i++) {
            int64_t j = units != NULL ? units[i] : i;
            number h = {next.h[j], next.h_error[j]};
            int64_t index[3] = {time, b, direction * s->hidden + j};
            if (top)
                s->emit(s->user, HUSK_REF_RNN_Y, index, h);
            s->above[time * s->width + index[2]] = h.value;
            s->above_error[time * s->width + index[2]] = h.error;
        }
        husk_ref_rnn_state swap = now;
        now = next;
        next = swap;
    }
    emit_states(s, units, count, row, b, &now);
    for (int64_t time = length; top && time < s->steps; time++)
        for (int64_t i = 0; i < count; i++) {
            int64_t index[3] = {time, b, direction * s->hidden + (units != NULL ? units[i] : i)};
            s->emit(s->user, HUSK_REF_RNN_Y, index, (number){0.0, 0.0});
        }
    return true;
}

bool husk_ref_rnn_sequence_run(sequence *s, int64_t b)
{
    int64_t length = husk_ref_rnn_length(s->op, b);
    for (int64_t time = 0; time < length; time++)
        for (int64_t i = 0; i < s->input; i++) {
            int64_t index[3] = {time, b, i};
            s->rows[time * s->width + i] = husk_ref_load(s->op->x, husk_ref_offset(s->op->x, index));
            s->rows_error[time * s->width + i] = 0.0;
        }
    for (int64_t layer = 0; layer < s->layers; layer++) {
        for (int64_t direction = 0; direction < s->directions; direction++)
            if (!run_direction(s, layer, direction, b, length))
                return false;
        double *values = s->rows, *errors = s->rows_error;
        s->rows = s->above;
        s->rows_error = s->above_error;
        s->above = values;
        s->above_error = errors;
    }
    return true;
}
