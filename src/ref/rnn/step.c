// SPDX-License-Identifier: MIT
// The cells: what a step makes of its inputs and the state before it, and how far that may be off.
#include "ref/rnn/step.h"

#include <math.h>
#include <stdlib.h>

#include "ref/elementwise/activation.h"

typedef husk_ref_rnn_number number;

int64_t husk_ref_rnn_kept(const husk_rnn_params *params)
{
    if (params->cell == HUSK_RNN_LSTM)
        return 5;
    return params->cell == HUSK_RNN_GRU ? (params->reset == HUSK_GRU_RESET_AFTER ? 4 : 3) : 1;
}

husk_ref_rnn_state husk_ref_rnn_state_at(double *memory, int64_t hidden)
{
    return (husk_ref_rnn_state){memory, memory + hidden, memory + 2 * hidden, memory + 3 * hidden};
}

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
    return (number){husk_ref_activate(act, 0.0f, x.value), husk_ref_activation_bound(act, 0.0f, x.value, x.error)};
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
    next->h_error[unit] = fabs(t.value) * o.error + o.value * t.error + 2.0 * u * fabs(next->h[unit]) + HUSK_REF_TINY;
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
    next->h_error[unit] = fabs(h0.value - n.value) * z.error + (1.0 - z.value) * n.error + z.value * h0.error +
                          4.0 * HUSK_REF_UNIT * (fabs(n.value) + fabs(h0.value));
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
        reset_error[j] = fabs(h) * r.error + r.value * s->previous->h_error[j] + HUSK_REF_UNIT * fabs(reset_h[j]);
    }
}

bool husk_ref_rnn_step_and_keep(const husk_rnn_params *params, const husk_ref_rnn_weights *weights, const double *x,
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
    return husk_ref_rnn_step_and_keep(params, weights, x, x_error, previous, units, unit_count, next, 0.0, NULL);
}
