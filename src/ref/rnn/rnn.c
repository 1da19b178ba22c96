// SPDX-License-Identifier: MIT
#include "ref/rnn/rnn.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "ref/elementwise/activation.h"
#include "ref/random.h"

// A value and the error it may carry.
typedef struct number {
    double value, error;
} number;

// A sum under way: its value, the sum of absolute terms, and the squares of the errors that come in.
typedef struct gate_sum {
    double value, magnitude, squares, engine; // engine: what a matrix engine may err by
} gate_sum;

static void add_products(gate_sum *sum, const husk_ref_array *matrix, int64_t row, const double *vector,
                         const double *error)
{
    for (int64_t i = 0; i < matrix->shape[1]; i++) {
        double weight = husk_ref_load(matrix, row * matrix->strides[0] + i * matrix->strides[1]);
        sum->value += weight * vector[i];
        sum->magnitude += fabs(weight * vector[i]);
        if (error != NULL)
            sum->squares += weight * error[i] * (weight * error[i]);
    }
}

static void add_bias(gate_sum *sum, const husk_ref_array *bias, int64_t row)
{
    if (bias == NULL)
        return;
    double value = husk_ref_load(bias, row * bias->strides[0]);
    sum->value += value;
    sum->magnitude += fabs(value);
}

static number finish_sum(const gate_sum *sum, int64_t length)
{
    return (number){sum->value, husk_ref_sum_bound(0.0, length, sum->magnitude) + sum->engine + sqrt(sum->squares)};
}

static number activate(husk_act act, number x)
{
    return (number){husk_ref_activate(act, 0.0f, x.value),
                    husk_ref_activation_bound(act, 0.0f, x.value, x.error)};
}

// What one step of one unit reads.
typedef struct step {
    const husk_rnn_params *params;
    const husk_ref_rnn_weights *weights;
    const double *x, *x_error;
    const husk_ref_rnn_state *previous;
    const double *reset_h, *reset_error; // RESET_BEFORE: r . h'
    int64_t length;                      // I + H
    double product_factor;
    number *kept;                        // receives what training keeps, [kept][H]; or NULL
} step;

static void keep(const step *s, int64_t part, int64_t unit, number value)
{
    if (s->kept != NULL)
        s->kept[part * s->params->hidden_size + unit] = value;
}

// W x + b of one row, which may be a matrix engine's.
static void add_inputs(gate_sum *sum, const step *s, int64_t row)
{
    add_products(sum, s->weights->input, row, s->x, s->x_error);
    add_bias(sum, s->weights->input_bias, row);
    sum->engine += s->product_factor * HUSK_REF_UNIT * sum->magnitude;
}

// W x + b + R h' + d of one row, with another vector in h's place where hidden is given.
static number full_gate(const step *s, int64_t row, const double *hidden, const double *hidden_error)
{
    gate_sum sum = {0};
    add_inputs(&sum, s, row);
    add_products(&sum, s->weights->hidden, row, hidden, hidden_error);
    add_bias(&sum, s->weights->hidden_bias, row);
    return finish_sum(&sum, s->length);
}

static number previous_gate(const step *s, int64_t row)
{
    return full_gate(s, row, s->previous->h, s->previous->h_error);
}

static void lstm_unit(const step *s, int64_t unit, int64_t hidden, const husk_ref_rnn_state *next)
{
    const double u = HUSK_REF_UNIT;
    number i = activate(HUSK_ACT_SIGMOID, previous_gate(s, unit));
    number f = activate(HUSK_ACT_SIGMOID, previous_gate(s, hidden + unit));
    number g = activate(HUSK_ACT_TANH, previous_gate(s, 2 * hidden + unit));
    number o = activate(HUSK_ACT_SIGMOID, previous_gate(s, 3 * hidden + unit));
    number c0 = {s->previous->c[unit], s->previous->c_error[unit]};
    number c = {f.value * c0.value + i.value * g.value, 0.0};
    c.error = fabs(c0.value) * f.error + f.value * c0.error + fabs(g.value) * i.error + i.value * g.error +
              4.0 * u * (fabs(f.value * c0.value) + fabs(i.value * g.value));
    number t = activate(HUSK_ACT_TANH, c);
    next->c[unit] = c.value;
    next->c_error[unit] = c.error;
    next->h[unit] = o.value * t.value;
    next->h_error[unit] =
        fabs(t.value) * o.error + o.value * t.error + 2.0 * u * fabs(next->h[unit]) + HUSK_REF_TINY;
    keep(s, 0, unit, i);
    keep(s, 1, unit, f);
    keep(s, 2, unit, g);
    keep(s, 3, unit, o);
    keep(s, 4, unit, c);
}

// The argument of n's tanh where the reset gate is applied after the product.
static number reset_after(const step *s, int64_t row, number r)
{
    gate_sum input = {0}, hidden = {0};
    add_inputs(&input, s, row);
    add_products(&hidden, s->weights->hidden, row, s->previous->h, s->previous->h_error);
    add_bias(&hidden, s->weights->hidden_bias, row);
    number p = finish_sum(&input, s->length), q = finish_sum(&hidden, s->length);
    keep(s, 3, row - 2 * s->params->hidden_size, q);
    double error =
        p.error + r.value * q.error + fabs(q.value) * r.error + 2.0 * HUSK_REF_UNIT * fabs(r.value * q.value);
    return (number){p.value + r.value * q.value, error};
}

static void gru_unit(const step *s, int64_t unit, int64_t hidden, const husk_ref_rnn_state *next)
{
    number r = activate(HUSK_ACT_SIGMOID, previous_gate(s, unit));
    number z = activate(HUSK_ACT_SIGMOID, previous_gate(s, hidden + unit));
    number argument = s->params->reset == HUSK_GRU_RESET_BEFORE
                          ? full_gate(s, 2 * hidden + unit, s->reset_h, s->reset_error)
                          : reset_after(s, 2 * hidden + unit, r);
    number n = activate(HUSK_ACT_TANH, argument);
    number h0 = {s->previous->h[unit], s->previous->h_error[unit]};
    next->h[unit] = (1.0 - z.value) * n.value + z.value * h0.value;
    next->h_error[unit] = fabs(h0.value - n.value) * z.error + (1.0 - z.value) * n.error +
                          z.value * h0.error + 4.0 * HUSK_REF_UNIT * (fabs(n.value) + fabs(h0.value));
    keep(s, 0, unit, r);
    keep(s, 1, unit, z);
    keep(s, 2, unit, n);
}

// r . h' of every unit, for RESET_BEFORE: each unit's n reads all of them.
static void reset_before(const step *s, int64_t hidden, double *reset_h, double *reset_error)
{
    for (int64_t j = 0; j < hidden; j++) {
        number r = activate(HUSK_ACT_SIGMOID, previous_gate(s, j));
        double h = s->previous->h[j];
        reset_h[j] = r.value * h;
        reset_error[j] =
            fabs(h) * r.error + r.value * s->previous->h_error[j] + HUSK_REF_UNIT * fabs(reset_h[j]);
    }
}

static bool step_and_keep(const husk_rnn_params *params, const husk_ref_rnn_weights *weights, const double *x,
                          const double *x_error, const husk_ref_rnn_state *previous, const int64_t *units,
                          int64_t unit_count, const husk_ref_rnn_state *next, double product_factor, number *kept)
{
    int64_t hidden = params->hidden_size;
    step s = {.params = params,
              .weights = weights,
              .x = x,
              .x_error = x_error,
              .previous = previous,
              .length = weights->input->shape[1] + hidden,
              .product_factor = product_factor,
              .kept = kept};
    double *scratch = NULL;
    if (params->cell == HUSK_RNN_GRU && params->reset == HUSK_GRU_RESET_BEFORE) {
        scratch = malloc((size_t)hidden * 2 * sizeof(*scratch));
        if (scratch == NULL)
            return false;
        reset_before(&s, hidden, scratch, scratch + hidden);
        s.reset_h = scratch;
        s.reset_error = scratch + hidden;
    }
    for (int64_t i = 0; i < (units != NULL ? unit_count : hidden); i++) {
        int64_t unit = units != NULL ? units[i] : i;
        if (params->cell == HUSK_RNN_LSTM) {
            lstm_unit(&s, unit, hidden, next);
        } else if (params->cell == HUSK_RNN_GRU) {
            gru_unit(&s, unit, hidden, next);
        } else {
            husk_act act = params->cell == HUSK_RNN_RELU ? HUSK_ACT_RELU : HUSK_ACT_TANH;
            number h = activate(act, previous_gate(&s, unit));
            next->h[unit] = h.value;
            next->h_error[unit] = h.error;
            keep(&s, 0, unit, h);
        }
    }
    free(scratch);
    return true;
}

bool husk_ref_rnn_step(const husk_rnn_params *params, const husk_ref_rnn_weights *weights, const double *x,
                       const double *x_error, const husk_ref_rnn_state *previous, const int64_t *units,
                       int64_t unit_count, const husk_ref_rnn_state *next)
{
    return step_and_keep(params, weights, x, x_error, previous, units, unit_count, next, 0.0, NULL);
}

// ---- what training keeps ----

enum { RESERVE_UNIT = 64 }; // parts of the reserve begin at multiples of so many elements

int64_t husk_ref_rnn_kept(const husk_rnn_params *params)
{
    if (params->cell == HUSK_RNN_LSTM)
        return 5;
    return params->cell == HUSK_RNN_GRU ? (params->reset == HUSK_GRU_RESET_AFTER ? 4 : 3) : 1;
}

static int64_t directions_of(const husk_rnn_params *params)
{
    return params->bidirectional ? 2 : 1;
}

static int64_t reserve_part(const husk_ref_rnn *op, int64_t row)
{
    int64_t elements = op->x->shape[0] * op->x->shape[1] * row * op->params->hidden_size;
    return (elements + RESERVE_UNIT - 1) / RESERVE_UNIT * RESERVE_UNIT;
}

int64_t husk_ref_rnn_reserve_gates(const husk_ref_rnn *op, int64_t layer, int64_t direction)
{
    int64_t directions = directions_of(op->params), gates = reserve_part(op, husk_ref_rnn_kept(op->params));
    return layer * (directions * gates + reserve_part(op, directions)) + direction * gates;
}

int64_t husk_ref_rnn_reserve_output(const husk_ref_rnn *op, int64_t layer)
{
    return husk_ref_rnn_reserve_gates(op, layer, directions_of(op->params));
}

// Where the results of a sequence go.
typedef enum output { OUTPUT_Y, OUTPUT_H, OUTPUT_C } output;
typedef void (*emit_fn)(void *user, output which, const int64_t index[3], number value);

// One sequence of the batch on its way through the layers.
typedef struct sequence {
    const husk_ref_rnn *op;
    const husk_ref_array *observed; // y as the device computed it, or NULL
    const int64_t *units;           // of the top layer; NULL: all
    int64_t unit_count;
    emit_fn emit;
    void *user;
    int64_t steps, batch, input, hidden, layers, directions; // T, B, I, H, L, D
    int64_t width;                                           // features of a row below: max(I, D H)
    double *rows, *rows_error;                               // [T][width]: what the layer reads
    double *above, *above_error;                             // [T][width]: what it writes for the next one
    double *state;                                           // two states of 4 H
    number *kept;                                            // of a step, where there is a reserve; or NULL
    double *memory;
} sequence;

static bool sequence_create(const husk_ref_rnn *op, sequence *s)
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

static husk_ref_rnn_state state_at(double *memory, int64_t hidden)
{
    return (husk_ref_rnn_state){memory, memory + hidden, memory + 2 * hidden, memory + 3 * hidden};
}

static void load_initial(const husk_ref_array *initial, const int64_t index[3], int64_t hidden,
                         double *values)
{
    for (int64_t j = 0; initial != NULL && j < hidden; j++)
        values[j] = husk_ref_load(initial, husk_ref_offset(initial, index) + j * initial->strides[2]);
}

// The device's own state before a step is exact: it is what the step really read.
static void load_observed(const sequence *s, int64_t time, int64_t b, int64_t direction,
                          husk_ref_rnn_state *state)
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
        s->emit(s->user, OUTPUT_H, index, (number){state->h[index[2]], state->h_error[index[2]]});
        if (s->op->params->cell == HUSK_RNN_LSTM)
            s->emit(s->user, OUTPUT_C, index, (number){state->c[index[2]], state->c_error[index[2]]});
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
    husk_ref_rnn_state now = state_at(s->state, s->hidden);
    husk_ref_rnn_state next = state_at(s->state + 4 * s->hidden, s->hidden);
    load_initial(s->op->h0, (const int64_t[3]){row, b, 0}, s->hidden, now.h);
    load_initial(s->op->c0, (const int64_t[3]){row, b, 0}, s->hidden, now.c);
    for (int64_t step_number = 0; step_number < length; step_number++) {
        int64_t time = direction == 0 ? step_number : length - 1 - step_number;
        if (top && s->observed != NULL && step_number > 0)
            load_observed(s, direction == 0 ? time - 1 : time + 1, b, direction, &now);
        if (!step_and_keep(s->op->params, &s->op->weights[row], s->rows + time * s->width,
                           s->rows_error + time * s->width, &now, units, count, &next, s->op->product_factor,
                           s->kept))
            return false;
        if (s->kept != NULL)
            store_kept(s, layer, direction, time, b, &next);
        for (int64_t i = 0; i < count; i++) {
            int64_t j = units != NULL ? units[i] : i;
            number h = {next.h[j], next.h_error[j]};
            int64_t index[3] = {time, b, direction * s->hidden + j};
            if (top)
                s->emit(s->user, OUTPUT_Y, index, h);
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
            s->emit(s->user, OUTPUT_Y, index, (number){0.0, 0.0});
        }
    return true;
}

int64_t husk_ref_rnn_length(const husk_ref_rnn *op, int64_t b)
{
    const int64_t steps = op->x->shape[0];
    if (op->lengths == NULL)
        return steps;
    double given = husk_ref_load(op->lengths, b * op->lengths->strides[0]);
    return given < 0.0 ? 0 : (given > (double)steps ? steps : (int64_t)given);
}

static bool run_sequence(sequence *s, int64_t b)
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

static void emit_to_arrays(void *user, output which, const int64_t index[3], number value)
{
    const husk_ref_array *array = ((const husk_ref_array **)user)[which];
    if (array != NULL)
        husk_ref_store(array, husk_ref_offset(array, index), value.value);
}

bool husk_ref_rnn_run(const husk_ref_rnn *op, const husk_ref_array *y, const husk_ref_array *h_n,
                      const husk_ref_array *c_n)
{
    const husk_ref_array *arrays[3] = {y, h_n, c_n};
    sequence s = {.emit = emit_to_arrays, .user = arrays};
    if (!sequence_create(op, &s))
        return false;
    bool done = true;
    for (int64_t b = 0; done && b < s.batch; b++)
        done = run_sequence(&s, b);
    free(s.memory);
    return done;
}

// ---- a device's reserve ----

// One running step: everything it read is the device's own, and exact.
static bool check_step(const husk_ref_rnn *op, const husk_ref_array *y, const husk_ref_array *reserve, int64_t layer,
                       int64_t direction, int64_t b, int64_t length, int64_t step_number, double *memory,
                       husk_ref_report *report)
{
    const husk_rnn_params *params = op->params;
    int64_t hidden = params->hidden_size, directions = directions_of(params), batch = op->x->shape[1];
    int64_t layers = params->layers != 0 ? params->layers : 1, row = layer * directions + direction;
    int64_t time = direction == 0 ? step_number : length - 1 - step_number, back = direction == 0 ? time - 1 : time + 1;
    int64_t kept = husk_ref_rnn_kept(params) * hidden, gates = husk_ref_rnn_reserve_gates(op, layer, direction);
    int64_t features = layer == 0 ? op->x->shape[2] : directions * hidden;
    husk_ref_rnn_state now = state_at(memory, hidden), next = state_at(memory + 4 * hidden, hidden);
    number *numbers = (number *)(memory + 8 * hidden);
    double *x = memory + 18 * hidden;
    memset(memory, 0, (size_t)(8 * hidden) * sizeof(*memory));
    for (int64_t i = 0; i < features; i++) {
        const int64_t index[3] = {time, b, i};
        x[i] = layer == 0 ? husk_ref_load(op->x, husk_ref_offset(op->x, index))
                          : husk_ref_load(reserve, husk_ref_rnn_reserve_output(op, layer - 1) +
                                                       (time * batch + b) * features + i);
    }
    if (step_number == 0) {
        load_initial(op->h0, (const int64_t[3]){row, b, 0}, hidden, now.h);
        load_initial(op->c0, (const int64_t[3]){row, b, 0}, hidden, now.c);
    }
    for (int64_t j = 0; step_number > 0 && j < hidden; j++) {
        const int64_t feature = direction * hidden + j, index[3] = {back, b, feature};
        if (layer + 1 == layers)
            now.h_error[j] = sqrt((double)hidden) *
                             husk_ref_round_bound(y->dtype, fabs(husk_ref_load(y, husk_ref_offset(y, index))));
        now.h[j] = layer + 1 == layers
                       ? husk_ref_load(y, husk_ref_offset(y, index))
                       : husk_ref_load(reserve, husk_ref_rnn_reserve_output(op, layer) +
                                                    (back * batch + b) * directions * hidden + feature);
        if (params->cell == HUSK_RNN_LSTM)
            now.c[j] = husk_ref_load(reserve, gates + (back * batch + b) * kept + 4 * hidden + j);
    }
    if (!step_and_keep(params, &op->weights[row], x, NULL, &now, NULL, 0, &next, op->product_factor, numbers))
        return false;
    for (int64_t i = 0; i < kept; i++) {
        const int64_t index[3] = {row, time * batch + b, i};
        husk_ref_report_add(report, 3, index, numbers[i].value, husk_ref_bound_in(reserve->dtype, numbers[i].error),
                            husk_ref_load(reserve, gates + index[1] * kept + i));
    }
    for (int64_t j = 0; layer + 1 < layers && j < hidden; j++) {
        const int64_t index[3] = {time, b, direction * hidden + j};
        husk_ref_report_add(report, 3, index, next.h[j], husk_ref_bound_in(reserve->dtype, next.h_error[j]),
                            husk_ref_load(reserve, husk_ref_rnn_reserve_output(op, layer) +
                                                       (time * batch + b) * directions * hidden + index[2]));
    }
    return true;
}

bool husk_ref_rnn_reserve_check(const husk_ref_rnn *op, const husk_ref_array *y, const husk_ref_array *reserve,
                                husk_ref_report *report)
{
    const husk_rnn_params *params = op->params;
    int64_t hidden = params->hidden_size, layers = params->layers != 0 ? params->layers : 1;
    int64_t features = 2 * hidden > op->x->shape[2] ? 2 * hidden : op->x->shape[2];
    double *memory = malloc((size_t)(18 * hidden + features) * sizeof(*memory));
    bool done = memory != NULL;
    for (int64_t layer = 0; layer < layers; layer++)
        for (int64_t direction = 0; direction < directions_of(params); direction++)
            for (int64_t b = 0; b < op->x->shape[1]; b++) {
                int64_t length = husk_ref_rnn_length(op, b);
                for (int64_t i = 0; done && i < length; i++)
                    done = check_step(op, y, reserve, layer, direction, b, length, i, memory, report);
            }
    free(memory);
    return done;
}

typedef struct comparison {
    const husk_ref_array *arrays[3];
    husk_ref_report *reports[3];
} comparison;

static void emit_to_reports(void *user, output which, const int64_t index[3], number value)
{
    const comparison *to = user;
    const husk_ref_array *array = to->arrays[which];
    if (array == NULL)
        return;
    husk_ref_report *report = to->reports[which];
    value.error = husk_ref_bound_in(array->dtype, value.error);
    const double rounding =
        value.error > 0.0 ? husk_ref_round_bound(array->dtype, fabs(value.value) + value.error) : 0.0;
    const double actual = husk_ref_load(array, husk_ref_offset(array, index));
    husk_ref_report_add(report, 3, index, value.value, value.error + rounding, actual);
    if (value.error > 0.0)
        husk_ref_report_add_zero(report, value.value, value.error + rounding, actual);
}

// count of the numbers below limit, the first and the last among them, ascending.
static int64_t sample_numbers(int64_t limit, int64_t count, husk_ref_random *random, int64_t *numbers)
{
    if (count >= limit) {
        for (int64_t i = 0; i < limit; i++)
            numbers[i] = i;
        return limit;
    }
    numbers[0] = 0;
    for (int64_t i = 1; i < count; i++) // one from each of count - 1 stretches of 1 .. limit - 1
        numbers[i] = i + 1 == count ? limit - 1
                                    : 1 + (i - 1) * (limit - 1) / (count - 1) +
                                          husk_ref_random_below(random, (limit - 1) / (count - 1));
    return count;
}

// How many sequences and units of the top layer to compare.
static void choose_sample(const sequence *s, int64_t *sequences, int64_t *units)
{
    const double limit = 16.0 * HUSK_REF_COMPLETE_COST;
    const husk_rnn_params *params = s->op->params;
    int64_t gates = params->cell == HUSK_RNN_LSTM ? 4 : (params->cell == HUSK_RNN_GRU ? 3 : 1);
    double unit_cost = 0.0, lower_cost = 0.0; // of one sequence over all of time
    for (int64_t layer = 0; layer < s->layers; layer++) {
        double input = (double)(layer == 0 ? s->input : s->directions * s->hidden);
        double cost = (double)(s->steps * s->directions * gates) * (input + (double)s->hidden);
        if (layer < s->layers - 1)
            lower_cost += cost * (double)s->hidden;
        else
            unit_cost = cost;
    }
    *sequences = s->batch;
    *units = s->hidden;
    if ((lower_cost + unit_cost * (double)s->hidden) * (double)s->batch <= HUSK_REF_COMPLETE_COST)
        return;
    *sequences = s->batch < 4 ? s->batch : 4;
    bool all_units =
        s->layers > 1 || s->observed == NULL ||
        (params->cell == HUSK_RNN_GRU && params->reset == HUSK_GRU_RESET_BEFORE);
    if (!all_units) {
        int64_t enough = 2048 / (s->steps * s->directions * *sequences) + 1;
        *units = enough > 16 ? enough : 16;
        *units = *units < s->hidden ? *units : s->hidden;
    }
    while (*sequences > 1 && (lower_cost + unit_cost * (double)*units) * (double)*sequences > limit)
        *sequences /= 2;
    while (!all_units && *units > 4 && unit_cost * (double)*units > limit)
        *units /= 2;
}

static bool has_nan(const husk_ref_array *array, int64_t index[3])
{
    do {
        if (isnan(husk_ref_load(array, husk_ref_offset(array, index))))
            return true;
    } while (husk_ref_index_next(3, array->shape, index));
    return false;
}

bool husk_ref_rnn_check(const husk_ref_rnn *op, const husk_ref_array *y, const husk_ref_array *h_n,
                        const husk_ref_array *c_n, uint64_t seed, husk_ref_report *y_report,
                        husk_ref_report *state_report)
{
    comparison to = {{y, h_n, c_n}, {y_report, state_report, state_report}};
    const bool is_rounded = y->dtype == HUSK_F16 || y->dtype == HUSK_BF16;
    sequence s = {.observed = is_rounded ? NULL : y, .emit = emit_to_reports, .user = &to};
    if (!sequence_create(op, &s))
        return false;
    husk_ref_random random = {.seed = seed};
    int64_t sequence_count, unit_count;
    choose_sample(&s, &sequence_count, &unit_count);
    int64_t *numbers = malloc((size_t)(s.batch + s.hidden + 1) * sizeof(*numbers));
    bool done = numbers != NULL;
    if (done) {
        bool complete = sequence_count == s.batch && unit_count == s.hidden;
        sequence_count = sample_numbers(s.batch, sequence_count, &random, numbers);
        s.units = numbers + s.batch;
        s.unit_count = sample_numbers(s.hidden, unit_count, &random, numbers + s.batch);
        for (int64_t i = 0; done && i < sequence_count; i++)
            done = run_sequence(&s, numbers[i]);
        // What was not sampled is not NaN either; where the samples passed, no NaN is right.
        for (int i = 0; i < 3 && !complete; i++) {
            int64_t index[3] = {0};
            if (to.arrays[i] != NULL && to.reports[i]->failures == 0 && has_nan(to.arrays[i], index))
                husk_ref_report_add(to.reports[i], 3, index, 0.0, 0.0, NAN);
        }
    }
    free(numbers);
    free(s.memory);
    return done;
}
