// SPDX-License-Identifier: MIT
// The gradients of recurrent layers: every sequence by itself, from the top layer down and from the last step to the
// first, with a bound on the error of everything on the way (ref/rnn/rnn.h).
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "ref/elementwise/activation.h"
#include "ref/rnn/rnn.h"

static const double u = HUSK_REF_UNIT;

typedef husk_ref_rnn_number number;

// Sums under way, `count` of them: values, sums of absolute terms, and what errors of the terms make of them.
typedef struct sums {
    double *values, *magnitudes, *inherited;
} sums;

static number factor(number x, double by, double roundings)
{
    const double value = x.value * by;
    return (number){value, fabs(by) * x.error + roundings * u * fabs(value) + 4.0 * HUSK_REF_TINY};
}

static number plus(number a, number b)
{
    return (number){a.value + b.value, a.error + b.error + 2.0 * u * (fabs(a.value) + fabs(b.value))};
}

// What a product of `length` terms errs by; engine: as forward's product_factor, where one may multiply, else 0.
static double product_bound(double engine, int64_t length, double magnitude)
{
    return husk_ref_sum_bound(0.0, length, magnitude) + engine * u * magnitude;
}

// A product of `length` terms, whose errors come together as independent ones do.
static number product_of(const sums *s, int64_t i, int64_t length, double engine)
{
    return (number){s->values[i], product_bound(engine, length, s->magnitudes[i]) + sqrt(s->inherited[i])};
}

// ---- one layer's and direction's weights, and their gradients under way ----

typedef struct cell {
    int64_t features; // I_l
    double *input, *hidden;
    sums d_input, d_hidden, d_input_bias, d_hidden_bias;
} cell;

typedef struct run {
    const husk_ref_rnn_backward *op;
    const husk_rnn_params *params;
    int64_t steps, batch, hidden, layers, directions, gates, kept;
    int64_t width; // features of a row below or above: max(I, D H)
    cell cells[HUSK_REF_RNN_MAX_WEIGHTS];
    double *above, *above_error; // [T][width]: the gradient of the layer's outputs
    sums below;                  // [T][width]: of its inputs
    sums product;                // [H]
    number *gate, *state_gate;   // [G][H]: a step's gates' gradients, by inputs and by the state
    number *dh, *carry;          // [H]
    double *h, *x, *reset_h;     // [H], [width], [H]
    double copies, total;        // of the sequence under way: how many there are, and the sum of their signs
    void *memory[64 + 16 * HUSK_REF_RNN_MAX_WEIGHTS];
    int memories;
    bool is_short;
} run;

static double *doubles(run *r, int64_t count)
{
    double *made = calloc((size_t)count + 1, sizeof(*made));
    r->memory[r->memories++] = made;
    r->is_short = r->is_short || made == NULL;
    return made;
}

static sums make_sums(run *r, int64_t count)
{
    sums made;
    made.values = doubles(r, count);
    made.magnitudes = doubles(r, count);
    made.inherited = doubles(r, count);
    return made;
}

static void clear_sums(const sums *s, int64_t count)
{
    memset(s->values, 0, (size_t)count * sizeof(double));
    memset(s->magnitudes, 0, (size_t)count * sizeof(double));
    memset(s->inherited, 0, (size_t)count * sizeof(double));
}

static double *copy_matrix(run *r, const husk_ref_array *matrix)
{
    double *made = doubles(r, matrix->shape[0] * matrix->shape[1]);
    for (int64_t i = 0; made != NULL && i < matrix->shape[0]; i++)
        for (int64_t j = 0; j < matrix->shape[1]; j++)
            made[i * matrix->shape[1] + j] = husk_ref_load(matrix, i * matrix->strides[0] + j * matrix->strides[1]);
    return made;
}

static void make_run(const husk_ref_rnn_backward *op, run *r)
{
    const husk_ref_rnn *forward = op->forward;
    *r = (run){.op = op, .params = forward->params};
    r->steps = forward->x->shape[0];
    r->batch = forward->x->shape[1];
    r->hidden = r->params->hidden_size;
    r->layers = r->params->layers != 0 ? r->params->layers : 1;
    r->directions = r->params->bidirectional ? 2 : 1;
    r->gates = r->params->cell == HUSK_RNN_LSTM ? 4 : r->params->cell == HUSK_RNN_GRU ? 3 : 1;
    r->kept = husk_ref_rnn_kept(r->params);
    r->width = forward->x->shape[2] > r->directions * r->hidden ? forward->x->shape[2] : r->directions * r->hidden;
    const int64_t rows = r->gates * r->hidden;
    for (int64_t i = 0; i < r->layers * r->directions; i++) {
        cell *c = &r->cells[i];
        c->features = i < r->directions ? forward->x->shape[2] : r->directions * r->hidden;
        c->input = copy_matrix(r, forward->weights[i].input);
        c->hidden = copy_matrix(r, forward->weights[i].hidden);
        c->d_input = make_sums(r, rows * c->features);
        c->d_hidden = make_sums(r, rows * r->hidden);
        c->d_input_bias = make_sums(r, rows);
        c->d_hidden_bias = make_sums(r, rows);
    }
    r->above = doubles(r, r->steps * r->width);
    r->above_error = doubles(r, r->steps * r->width);
    r->below = make_sums(r, r->steps * r->width);
    r->product = make_sums(r, r->hidden);
    r->gate = (number *)doubles(r, 2 * rows);
    r->state_gate = (number *)doubles(r, 2 * rows);
    r->dh = (number *)doubles(r, 2 * r->hidden);
    r->carry = (number *)doubles(r, 2 * r->hidden);
    r->h = doubles(r, r->hidden);
    r->x = doubles(r, r->width);
    r->reset_h = doubles(r, r->hidden);
}

// ---- where a step is ----

typedef struct place {
    int64_t layer, direction, b, length, step, time, back; // back: the time of the step before
} place;

static double kept_at(const run *r, const place *p, int64_t time, int64_t part, int64_t unit)
{
    const int64_t at = husk_ref_rnn_reserve_gates(r->op->forward, p->layer, p->direction) +
                       ((time * r->batch + p->b) * r->kept + part) * r->hidden + unit;
    return husk_ref_load(r->op->reserve, at * r->op->reserve->strides[0]);
}

static double output_at(const run *r, const place *p, int64_t layer, int64_t time, int64_t feature)
{
    const int64_t index[3] = {time, p->b, feature};
    if (layer + 1 == r->layers)
        return husk_ref_load(r->op->y, husk_ref_offset(r->op->y, index));
    const int64_t at = husk_ref_rnn_reserve_output(r->op->forward, layer) +
                       (time * r->batch + p->b) * r->directions * r->hidden + feature;
    return husk_ref_load(r->op->reserve, at * r->op->reserve->strides[0]);
}

static double state_at(const run *r, const place *p, const husk_ref_array *states, int64_t unit)
{
    const int64_t index[3] = {p->layer * r->directions + p->direction, p->b, unit};
    return states != NULL ? husk_ref_load(states, husk_ref_offset(states, index)) : 0.0;
}

// ---- products ----

// product = the transposed rows first... of the weights times the gates' gradients of the state.
static void multiply(run *r, const double *weights, const number *gates, int64_t first, int64_t count)
{
    clear_sums(&r->product, r->hidden);
    for (int64_t k = first; k < first + count; k++)
        for (int64_t j = 0; j < r->hidden; j++) {
            const double weight = weights[k * r->hidden + j], error = weight * gates[k].error;
            r->product.values[j] += weight * gates[k].value;
            r->product.magnitudes[j] += fabs(weight * gates[k].value);
            r->product.inherited[j] += error * error;
        }
}

// vector_error is in parts of each element, state_error the same for all.
static void add_outer(const run *r, const sums *to, const number *gates, int64_t rows, int64_t first,
                      const double *vector, int64_t columns, double vector_error, double state_error)
{
    for (int64_t k = first; k < first + rows; k++) {
        const double error = gates[k].error + vector_error * fabs(gates[k].value);
        const double from_state = state_error * fabs(gates[k].value);
        for (int64_t j = 0; j < columns; j++) {
            const int64_t at = k * columns + j;
            to->values[at] += r->total * (gates[k].value * vector[j]);
            to->magnitudes[at] += r->copies * fabs(gates[k].value * vector[j]);
            to->inherited[at] += r->copies * (fabs(vector[j]) * error + from_state);
        }
    }
}

// What a step adds to the gradients of weights, biases and inputs.
static void add_step(run *r, const place *p)
{
    const cell *c = &r->cells[p->layer * r->directions + p->direction];
    const int64_t rows = r->gates * r->hidden;
    const bool before = r->params->cell == HUSK_RNN_GRU && r->params->reset == HUSK_GRU_RESET_BEFORE;
    static const double one = 1.0;
    const double below = p->layer > 0 ? r->op->state_error : 0.0, back = p->step > 0 ? r->op->state_error : 0.0;
    for (int64_t i = 0; i < c->features; i++) {
        const int64_t index[3] = {p->time, p->b, i};
        const husk_ref_array *x = r->op->forward->x;
        r->x[i] =
            p->layer == 0 ? husk_ref_load(x, husk_ref_offset(x, index)) : output_at(r, p, p->layer - 1, p->time, i);
    }
    add_outer(r, &c->d_input, r->gate, rows, 0, r->x, c->features, 0.0, below);
    add_outer(r, &c->d_input_bias, r->gate, rows, 0, &one, 1, 0.0, 0.0);
    add_outer(r, &c->d_hidden_bias, r->state_gate, rows, 0, &one, 1, 0.0, 0.0);
    add_outer(r, &c->d_hidden, r->state_gate, before ? 2 * r->hidden : rows, 0, r->h, r->hidden, 0.0, back);
    if (before)
        add_outer(r, &c->d_hidden, r->state_gate, r->hidden, 2 * r->hidden, r->reset_h, r->hidden, u, back);
    for (int64_t k = 0; k < rows; k++)
        for (int64_t i = 0; i < c->features; i++) {
            const double weight = c->input[k * c->features + i], error = weight * r->gate[k].error;
            const int64_t at = p->time * r->width + i;
            r->below.values[at] += weight * r->gate[k].value;
            r->below.magnitudes[at] += fabs(weight * r->gate[k].value);
            r->below.inherited[at] += error * error;
        }
}

// ---- the cells: from dh and what is carried to the gates' gradients and what is carried on ----

static double sigmoid_slope(double value)
{
    return value * (1.0 - value);
}

static double sigmoid_bend(double value)
{
    return fabs(1.0 - 2.0 * value);
}

static double tanh_slope(double value)
{
    return (1.0 - value) * (1.0 + value);
}

static double tanh_bend(double value)
{
    return 2.0 * fabs(value);
}

// Times a number that was kept and a slope at another one: both are off by the states' error.
static number factors(const run *r, number x, double kept, double slope, double bend, double roundings)
{
    number made = factor(x, kept * slope, roundings);
    made.error += r->op->state_error * fabs(x.value) * (fabs(slope) + fabs(kept) * bend);
    return made;
}

static void lstm_unit(run *r, const place *p, int64_t j)
{
    const int64_t h = r->hidden;
    const double i = kept_at(r, p, p->time, 0, j), f = kept_at(r, p, p->time, 1, j);
    const double g = kept_at(r, p, p->time, 2, j), o = kept_at(r, p, p->time, 3, j);
    const double c = kept_at(r, p, p->time, 4, j);
    const double before = p->step == 0 ? state_at(r, p, r->op->forward->c0, j) : kept_at(r, p, p->back, 4, j);
    const double t = tanh(c), t_error = husk_ref_activation_bound(HUSK_ACT_TANH, 0.0f, c, 0.0);
    const number dh = r->dh[j];
    number through_h = factors(r, dh, o, tanh_slope(t), tanh_bend(t), 6.0);
    through_h.error += 2.0 * fabs(dh.value * o * t) * t_error;
    number dc = plus(through_h, r->carry[j]);
    number out = factors(r, dh, t, sigmoid_slope(o), sigmoid_bend(o), 6.0);
    out.error += fabs(dh.value * sigmoid_slope(o)) * t_error;
    r->gate[j] = factors(r, dc, g, sigmoid_slope(i), sigmoid_bend(i), 6.0);
    r->gate[h + j] = factors(r, dc, before, sigmoid_slope(f), sigmoid_bend(f), 6.0);
    r->gate[2 * h + j] = factors(r, dc, i, tanh_slope(g), tanh_bend(g), 6.0);
    r->gate[3 * h + j] = out;
    r->carry[j] = factors(r, dc, f, 1.0, 0.0, 1.0);
}

static void gru_unit(run *r, const place *p, int64_t j)
{
    const int64_t h = r->hidden;
    const double z = kept_at(r, p, p->time, 1, j), n = kept_at(r, p, p->time, 2, j);
    const number dh = r->dh[j], dn = factors(r, dh, 1.0 - z, tanh_slope(n), tanh_bend(n), 8.0);
    r->gate[h + j] = factors(r, dh, r->h[j] - n, sigmoid_slope(z), sigmoid_bend(z), 7.0);
    r->gate[2 * h + j] = dn;
    r->carry[j] = factors(r, dh, z, 1.0, 0.0, 1.0);
    if (r->params->reset == HUSK_GRU_RESET_AFTER) {
        const double reset = kept_at(r, p, p->time, 0, j), q = kept_at(r, p, p->time, 3, j);
        r->gate[j] = factors(r, dn, q, sigmoid_slope(reset), sigmoid_bend(reset), 6.0);
        r->state_gate[2 * h + j] = factors(r, dn, reset, 1.0, 0.0, 1.0);
    }
}

// RESET_BEFORE: r's gradient, when n's of all units are there.
static void reset_units(run *r, const place *p, const double *weights)
{
    multiply(r, weights, r->gate, 2 * r->hidden, r->hidden);
    for (int64_t j = 0; j < r->hidden; j++) {
        const double reset = kept_at(r, p, p->time, 0, j);
        const number dv = product_of(&r->product, j, r->hidden, 0.0);
        r->gate[j] = factors(r, dv, r->h[j], sigmoid_slope(reset), sigmoid_bend(reset), 6.0);
        r->carry[j] = plus(r->carry[j], factors(r, dv, reset, 1.0, 0.0, 1.0));
        r->reset_h[j] = reset * r->h[j];
    }
}

static void run_step(run *r, const place *p)
{
    const cell *c = &r->cells[p->layer * r->directions + p->direction];
    for (int64_t j = 0; j < r->hidden; j++)
        r->h[j] = p->step == 0 ? state_at(r, p, r->op->forward->h0, j)
                               : output_at(r, p, p->layer, p->back, p->direction * r->hidden + j);
    for (int64_t j = 0; j < r->hidden; j++) {
        const int64_t at = p->time * r->width + p->direction * r->hidden + j;
        const number above = {r->above[at], r->above_error[at]};
        r->dh[j] = plus(r->dh[j], above);
        if (r->params->cell == HUSK_RNN_LSTM) {
            lstm_unit(r, p, j);
        } else if (r->params->cell == HUSK_RNN_GRU) {
            gru_unit(r, p, j);
        } else {
            const double h = kept_at(r, p, p->time, 0, j);
            if (r->params->cell == HUSK_RNN_RELU)
                r->gate[j] = factor(r->dh[j], h > 0.0 ? 1.0 : 0.0, 4.0);
            else
                r->gate[j] = factors(r, r->dh[j], 1.0, tanh_slope(h), tanh_bend(h), 4.0);
        }
    }
    const bool is_gru = r->params->cell == HUSK_RNN_GRU;
    const bool after = is_gru && r->params->reset == HUSK_GRU_RESET_AFTER;
    if (is_gru && !after)
        reset_units(r, p, c->hidden);
    memcpy(r->state_gate, r->gate, (size_t)((after ? 2 : r->gates) * r->hidden) * sizeof(*r->gate));
    add_step(r, p);
    // The state before: what is carried beside the product is c's for an LSTM, else h's own.
    const int64_t terms = (is_gru && !after ? 2 : r->gates) * r->hidden;
    multiply(r, c->hidden, r->state_gate, 0, terms);
    for (int64_t j = 0; j < r->hidden; j++) {
        r->dh[j] = product_of(&r->product, j, terms, 0.0);
        if (is_gru)
            r->dh[j] = plus(r->dh[j], r->carry[j]);
    }
}

static void store_state(const run *r, const place *p, husk_ref_rnn_gradient *to, const number *numbers)
{
    for (int64_t j = 0; to->values != NULL && j < r->hidden; j++) {
        const int64_t at = ((p->layer * r->directions + p->direction) * r->batch + p->b) * r->hidden + j;
        to->values[at] = numbers[j].value;
        to->bounds[at] = numbers[j].error;
    }
}

static void run_direction(run *r, int64_t layer, int64_t direction, int64_t b, husk_ref_rnn_gradients *made)
{
    place p = {.layer = layer, .direction = direction, .b = b, .length = husk_ref_rnn_length(r->op->forward, b)};
    for (int64_t j = 0; j < r->hidden; j++) {
        r->dh[j] = (number){state_at(r, &p, r->op->dh_n, j), 0.0};
        r->carry[j] = (number){state_at(r, &p, r->op->dc_n, j), 0.0};
    }
    for (p.step = p.length - 1; p.step >= 0; p.step--) {
        p.time = direction == 0 ? p.step : p.length - 1 - p.step;
        p.back = direction == 0 ? p.time - 1 : p.time + 1;
        run_step(r, &p);
    }
    store_state(r, &p, &made->h0, r->dh);
    store_state(r, &p, &made->c0, r->carry);
}

static void run_sequence(run *r, int64_t b, husk_ref_rnn_gradients *made)
{
    const husk_ref_array *dy = r->op->dy;
    const size_t plane = (size_t)(r->steps * r->width);
    r->copies = r->total = r->op->like == NULL;
    for (int64_t other = 0; r->op->like != NULL && other < r->batch; other++)
        if (r->op->like[other] == b) {
            r->copies++;
            r->total += r->op->sign[other];
        }
    memset(r->above, 0, plane * sizeof(double));
    memset(r->above_error, 0, plane * sizeof(double));
    for (int64_t time = 0; dy != NULL && time < r->steps; time++)
        for (int64_t i = 0; i < r->directions * r->hidden; i++)
            r->above[time * r->width + i] = husk_ref_load(dy, husk_ref_offset(dy, (const int64_t[3]){time, b, i}));
    for (int64_t layer = r->layers - 1; layer >= 0; layer--) {
        clear_sums(&r->below, (int64_t)plane);
        for (int64_t direction = 0; direction < r->directions; direction++)
            run_direction(r, layer, direction, b, made);
        for (int64_t i = 0; i < (int64_t)plane; i++) {
            const number sum =
                product_of(&r->below, i, r->directions * r->gates * r->hidden, r->op->forward->product_factor);
            r->above[i] = sum.value;
            r->above_error[i] = sum.error;
        }
    }
    const int64_t features = made->x.shape[2];
    for (int64_t time = 0; time < r->steps; time++)
        for (int64_t i = 0; i < features; i++) {
            made->x.values[(time * r->batch + b) * features + i] = r->above[time * r->width + i];
            made->x.bounds[(time * r->batch + b) * features + i] = r->above_error[time * r->width + i];
        }
}

// ---- results ----

static bool make_gradient(husk_ref_rnn_gradient *made, int32_t rank, const int64_t *shape, int64_t terms)
{
    int64_t count = 1;
    *made = (husk_ref_rnn_gradient){.rank = rank, .terms = terms};
    for (int32_t d = 0; d < rank; d++) {
        made->shape[d] = shape[d];
        count *= shape[d];
    }
    made->values = calloc((size_t)count + 1, sizeof(double));
    made->bounds = calloc((size_t)count + 1, sizeof(double));
    return made->values != NULL && made->bounds != NULL;
}

static bool finish_weight(husk_ref_rnn_gradient *made, int32_t rank, int64_t rows, int64_t columns, const sums *from,
                          int64_t terms, double engine)
{
    if (!make_gradient(made, rank, (const int64_t[]){rows, columns}, terms))
        return false;
    for (int64_t i = 0; i < rows * (rank == 2 ? columns : 1); i++) {
        made->values[i] = from->values[i];
        made->bounds[i] = product_bound(engine, terms, from->magnitudes[i]) + from->inherited[i];
    }
    return true;
}

static bool make_results(const run *r, husk_ref_rnn_gradients *made)
{
    const int64_t state[3] = {r->layers * r->directions, r->batch, r->hidden}, rows = r->gates * r->hidden;
    *made = (husk_ref_rnn_gradients){0};
    return make_gradient(&made->x, 3, r->op->forward->x->shape, r->directions * rows) &&
           make_gradient(&made->h0, 3, state, rows) &&
           (r->params->cell != HUSK_RNN_LSTM || make_gradient(&made->c0, 3, state, 1));
}

bool husk_ref_rnn_backward_run(const husk_ref_rnn_backward *op, husk_ref_rnn_gradients *made)
{
    run *r = malloc(sizeof(*r));
    *made = (husk_ref_rnn_gradients){0};
    if (r == NULL)
        return false;
    make_run(op, r);
    bool done = !r->is_short && make_results(r, made);
    for (int64_t b = 0; done && b < r->batch; b++)
        if (op->like == NULL || op->like[b] == b)
            run_sequence(r, b, made);
    const int64_t rows = r->gates * r->hidden, terms = r->steps * r->batch;
    for (int64_t i = 0; done && i < r->layers * r->directions; i++) {
        const cell *c = &r->cells[i];
        husk_ref_rnn_gradient *weights = made->weights[i];
        const double engine = op->forward->product_factor;
        done = finish_weight(&weights[0], 2, rows, c->features, &c->d_input, terms, engine) &&
               finish_weight(&weights[1], 2, rows, r->hidden, &c->d_hidden, terms, engine) &&
               finish_weight(&weights[2], 1, rows, 1, &c->d_input_bias, terms, 0.0) &&
               finish_weight(&weights[3], 1, rows, 1, &c->d_hidden_bias, terms, 0.0);
    }
    for (int i = 0; i < r->memories; i++)
        free(r->memory[i]);
    free(r);
    return done;
}

void husk_ref_rnn_gradients_release(husk_ref_rnn_gradients *made)
{
    husk_ref_rnn_gradient *states[] = {&made->x, &made->h0, &made->c0};
    for (int i = 0; i < 3; i++) {
        free(states[i]->values);
        free(states[i]->bounds);
    }
    for (int i = 0; i < HUSK_REF_RNN_MAX_WEIGHTS; i++)
        for (int part = 0; part < 4; part++) {
            free(made->weights[i][part].values);
            free(made->weights[i][part].bounds);
        }
    *made = (husk_ref_rnn_gradients){0};
}

void husk_ref_rnn_gradient_compare(const husk_ref_rnn_backward *op, const husk_ref_rnn_gradient *gradient,
                                   const husk_ref_array *before, const husk_ref_array *actual, husk_ref_report *report)
{
    int64_t index[3] = {0};
    for (int32_t d = 0; d < gradient->rank; d++)
        if (gradient->shape[d] == 0)
            return;
    do {
        const bool repeats = gradient->rank == 3 && op->like != NULL;
        const int64_t from[3] = {index[0], repeats ? op->like[index[1]] : index[1], index[2]};
        const int64_t at = husk_ref_position_of(gradient->rank, gradient->shape, from);
        const double value = (repeats ? op->sign[index[1]] : 1.0) * gradient->values[at];
        const double there = before != NULL ? husk_ref_load(before, husk_ref_offset(before, index)) : 0.0;
        const double bound = husk_ref_bound_in(
            actual->dtype, gradient->bounds[at] +
                               (before != NULL ? husk_ref_sum_bound(0.0, gradient->terms, fabs(there)) : 0.0) +
                               (before != NULL ? u * fabs(value) : 0.0));
        const double rounding = bound > 0.0 ? husk_ref_round_bound(actual->dtype, fabs(value + there) + bound) : 0.0;
        const double got = husk_ref_load(actual, husk_ref_offset(actual, index));
        husk_ref_report_add(report, gradient->rank, index, value + there, bound + rounding, got);
        if (gradient->bounds[at] > 0.0)
            husk_ref_report_add_zero(report, value, bound + rounding, got - there);
    } while (husk_ref_index_next(gradient->rank, gradient->shape, index));
}
