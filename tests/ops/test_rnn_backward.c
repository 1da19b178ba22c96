// SPDX-License-Identifier: MIT
// ctest: tiers=default,long,dtypes timeout=180 with=rnn_case
// Gradients of recurrent layers: finite differences and the adjoint identity; what forward keeps; every cell, option
// and variant against the reference; the same bits every time; bad input.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "rnn_case.h"

static const char *const variants[] = {NULL, "panel:8x2", "panel:6x2", "tile:32x32", "tile:16x16", "tile:4x16"};
enum { VARIANTS = sizeof(variants) / sizeof(variants[0]), PARTS = 4, CELLS = 5 };
static const char name[] = "rnn_backward";

// Forward's variants, whose reserves are one another's.
static const char *const forward_variants[] = {NULL, "panel", "tile:16x16"};

// ---- one configuration: forward, with a reserve, and the gradients ----

typedef struct config {
    rnn_shape shape;
    uint32_t accumulate;
    bool has_dy, has_dh_n, has_dc_n;
    bool wants_x, wants_h0, wants_c0, wants[PARTS];
    test_layout dx_layout;
    const char *forward;
} config;

typedef struct training {
    config config;
    rnn_case c;
    test_tensor reserve, dy, dh_n, dc_n, dx, dh0, dc0, d_weights[RNN_MAX_WEIGHTS][PARTS];
    husk_rnn_weights list[RNN_MAX_WEIGHTS];
    husk_ref_rnn forward;
    husk_rnn_outputs outputs, output_gradients;
    husk_rnn_gradients gradients;
} training;

static test_tensor make_gradient(const config *c, uint32_t bit, int32_t rank, const int64_t *shape, test_layout layout,
                                 uint64_t seed)
{
    const husk_dtype dtype = c->shape.dtype != 0 ? c->shape.dtype : HUSK_F32;
    return c->accumulate & bit ? test_inout_of(dtype, rank, shape, layout, seed, 1.0f)
                               : test_output(dtype, rank, shape, layout);
}

static void make_weight_gradients(training *t, test_layout rows)
{
    const config *c = &t->config;
    for (int i = 0; i < t->c.weight_count; i++) {
        const husk_tensor **to[PARTS] = {&t->list[i].input, &t->list[i].hidden, &t->list[i].input_bias,
                                         &t->list[i].hidden_bias};
        for (int part = 0; part < PARTS; part++) {
            const husk_tensor *like = &t->c.tensors[i][part % 2].tensor;
            if (!c->wants[part])
                continue;
            t->d_weights[i][part] =
                make_gradient(c, HUSK_ACCUMULATE_PARAMETERS, part < 2 ? 2 : 1, like->shape,
                              part < 2 ? rows : TEST_PACKED, c->shape.seed + 50 + (uint64_t)(4 * i + part));
            *to[part] = &t->d_weights[i][part].tensor;
        }
    }
    t->gradients.weights = t->list;
}

static void make_output_gradients(training *t, test_layout rows)
{
    const config *c = &t->config;
    const rnn_shape *s = &c->shape;
    const int64_t directions = s->bidirectional ? 2 : 1;
    const int64_t y[3] = {s->steps, s->batch, directions * s->hidden};
    const int64_t state[3] = {s->layers * directions, s->batch, s->hidden};
    const husk_dtype dtype = s->dtype != 0 ? s->dtype : HUSK_F32;
    if (c->has_dy) {
        t->dy = test_input_of(dtype, 3, y, rows, s->seed + 30, 1.0f);
        t->output_gradients.y = &t->dy.tensor;
    }
    if (c->has_dh_n) {
        t->dh_n = test_input_of(dtype, 3, state, rows, s->seed + 31, 1.0f);
        t->output_gradients.h_n = &t->dh_n.tensor;
    }
    if (c->has_dc_n && s->cell == HUSK_RNN_LSTM) {
        t->dc_n = test_input_of(dtype, 3, state, rows, s->seed + 32, 1.0f);
        t->output_gradients.c_n = &t->dc_n.tensor;
    }
    if (c->wants_x) {
        t->dx = make_gradient(c, HUSK_ACCUMULATE_INPUTS, 3, t->c.x.tensor.shape, c->dx_layout, s->seed + 40);
        t->gradients.x = &t->dx.tensor;
    }
    if (c->wants_h0) {
        t->dh0 = make_gradient(c, HUSK_ACCUMULATE_INPUTS, 3, state, rows, s->seed + 41);
        t->gradients.h0 = &t->dh0.tensor;
    }
    if (c->wants_c0 && s->cell == HUSK_RNN_LSTM) {
        t->dc0 = make_gradient(c, HUSK_ACCUMULATE_INPUTS, 3, state, rows, s->seed + 42);
        t->gradients.c0 = &t->dc0.tensor;
    }
}

// Runs forward. The training must not move.
static void make(const config *c, training *t)
{
    *t = (training){.config = *c};
    rnn_case_make(&c->shape, &t->c);
    const int64_t count = husk_rnn_reserve_size(&t->c.params, &t->c.x.tensor);
    ck_assert_int_ge(count, 0);
    t->reserve = test_output(c->shape.dtype == HUSK_F64 ? HUSK_F64 : HUSK_F32, 1, &count, TEST_PACKED);
    t->c.outputs.reserve = &t->reserve.tensor;
    ck_assert(rnn_case_run(&t->c, c->forward, RNN_IMMEDIATE));
    test_fetch(&t->reserve);
    t->c.params.accumulate = c->accumulate;
    t->outputs = HUSK_RNN_OUTPUTS(.y = &t->c.y.tensor, .reserve = &t->reserve.tensor);
    t->output_gradients = HUSK_RNN_OUTPUTS(.y = NULL);
    t->gradients = HUSK_RNN_GRADIENTS(.x = NULL);
    t->forward = (husk_ref_rnn){.params = &t->c.params,
                                .x = &t->c.x.array,
                                .lengths = t->c.inputs.lengths != NULL ? &t->c.lengths.array : NULL,
                                .h0 = t->c.inputs.h0 != NULL ? &t->c.h0.array : NULL,
                                .c0 = t->c.inputs.c0 != NULL ? &t->c.c0.array : NULL,
                                .weights = t->c.ref_weights};
    const test_layout rows = c->shape.are_rows_apart ? TEST_PADDED : TEST_PACKED;
    make_output_gradients(t, rows);
    make_weight_gradients(t, rows);
}

static void each_gradient(training *t, void (*action)(test_tensor *tensor))
{
    test_tensor *const states[] = {&t->dx, &t->dh0, &t->dc0};
    for (int i = 0; i < 3; i++)
        if (states[i]->tensor.buffer != NULL)
            action(states[i]);
    for (int i = 0; i < t->c.weight_count; i++)
        for (int part = 0; part < PARTS; part++)
            if (t->d_weights[i][part].tensor.buffer != NULL)
                action(&t->d_weights[i][part]);
}

static void release(training *t)
{
    each_gradient(t, test_release);
    test_release(&t->reserve);
    test_release(&t->dy);
    test_release(&t->dh_n);
    test_release(&t->dc_n);
    rnn_case_release(&t->c);
}

static husk_ref_rnn_backward reference_of(const training *t)
{
    return (husk_ref_rnn_backward){.forward = &t->forward,
                                   .y = &t->c.y.array,
                                   .reserve = &t->reserve.array,
                                   .dy = t->output_gradients.y != NULL ? &t->dy.array : NULL,
                                   .dh_n = t->output_gradients.h_n != NULL ? &t->dh_n.array : NULL,
                                   .dc_n = t->output_gradients.c_n != NULL ? &t->dc_n.array : NULL};
}

static void compare(const training *t, const husk_ref_rnn_backward *op, const husk_ref_rnn_gradient *expected,
                    const test_tensor *actual, uint32_t bit, const char *variant, const char *what)
{
    char text[300], shape[256];
    if (actual->tensor.buffer == NULL)
        return;
    husk_ref_report report = {0};
    husk_ref_rnn_gradient_compare(op, expected, t->config.accumulate & bit ? &actual->before : NULL, &actual->array,
                                  &report);
    report.zeros = 0; // ReLU's gradients may be zero anywhere
    rnn_case_text(&t->c, RNN_IMMEDIATE, shape, sizeof(shape));
    snprintf(text, sizeof(text), "%s of %s", what, shape);
    test_accept(name, variant, text, &report);
}

static void verify(training *t, const husk_ref_rnn_gradients *expected, const char *variant)
{
    static const char *const parts[PARTS] = {"input", "hidden", "input_bias", "hidden_bias"};
    const husk_ref_rnn_backward op = reference_of(t);
    each_gradient(t, test_fetch);
    compare(t, &op, &expected->x, &t->dx, HUSK_ACCUMULATE_INPUTS, variant, "x");
    compare(t, &op, &expected->h0, &t->dh0, HUSK_ACCUMULATE_INPUTS, variant, "h0");
    compare(t, &op, &expected->c0, &t->dc0, HUSK_ACCUMULATE_INPUTS, variant, "c0");
    for (int i = 0; i < t->c.weight_count; i++)
        for (int part = 0; part < PARTS; part++) {
            char what[48];
            snprintf(what, sizeof(what), "weights[%d].%s", i, parts[part]);
            compare(t, &op, &expected->weights[i][part], &t->d_weights[i][part], HUSK_ACCUMULATE_PARAMETERS, variant,
                    what);
        }
}

static husk_status call(training *t, const char *variant)
{
    husk_rnn_params params = t->c.params;
    params.variant = variant;
    return husk_rnn_backward(test_queue(), &params, &t->c.inputs, &t->outputs, &t->output_gradients, &t->gradients);
}

static void run_variant(training *t, const husk_ref_rnn_gradients *expected, const char *variant)
{
    each_gradient(t, test_restore);
    if (test_ran(call(t, variant), name, variant))
        verify(t, expected, variant);
}

static void run_all(const config *c)
{
    training t;
    make(c, &t);
    husk_ref_report report = {0};
    ck_assert(husk_ref_rnn_reserve_check(&t.forward, &t.c.y.array, &t.reserve.array, &report));
    report.zeros = 0;
    test_accept("rnn", c->forward, "the reserve", &report);
    husk_ref_rnn_gradients expected;
    const husk_ref_rnn_backward op = reference_of(&t);
    ck_assert(husk_ref_rnn_backward_run(&op, &expected));
    for (int v = 0; v < VARIANTS; v++)
        run_variant(&t, &expected, variants[v]);
    husk_ref_rnn_gradients_release(&expected);
    release(&t);
}

static rnn_shape shape_of(int cell, int64_t steps, int64_t batch, int64_t inputs, int64_t hidden)
{
    return (rnn_shape){.cell = cell < 4 ? (husk_rnn_cell)cell : HUSK_RNN_GRU,
                       .reset = cell == 4 ? HUSK_GRU_RESET_BEFORE : HUSK_GRU_RESET_AFTER,
                       .steps = steps,
                       .batch = batch,
                       .inputs = inputs,
                       .hidden = hidden,
                       .layers = 1,
                       .has_h0 = true,
                       .has_c0 = true,
                       .has_input_bias = true,
                       .has_hidden_bias = true,
                       .seed = 11};
}

static config everything(rnn_shape shape)
{
    return (config){.shape = shape,
                    .has_dy = true,
                    .has_dh_n = true,
                    .has_dc_n = true,
                    .wants_x = true,
                    .wants_h0 = true,
                    .wants_c0 = true,
                    .wants = {true, true, true, true}};
}

// ---- the reference is the gradient ----

typedef struct linear {
    husk_ref_array inputs[3 + RNN_MAX_WEIGHTS * PARTS]; // x, h0, c0, weights
    husk_ref_array y, h_n, c_n, all, d_all, reserve, lengths;
    husk_ref_rnn_weights weights[RNN_MAX_WEIGHTS];
    int32_t lengths_data[8];
    husk_ref_rnn op;
    husk_rnn_params params;
    int count; // of inputs
} linear;

// y, h_n and c_n in a row.
static void forward(void *user)
{
    linear *l = user;
    const husk_ref_array *const from[] = {&l->y, &l->h_n, &l->c_n};
    ck_assert(husk_ref_rnn_run(&l->op, &l->y, &l->h_n, &l->c_n));
    double *to = l->all.data;
    for (int i = 0; i < 3; i++) {
        const int64_t count = husk_ref_array_count(from[i]);
        memcpy(to, from[i]->data, (size_t)count * sizeof(double));
        to += count;
    }
}

static void make_linear(linear *l, int cell, int64_t layers, bool bidirectional, bool has_lengths, uint64_t seed,
                        double scale)
{
    const int64_t steps = 4, batch = 3, inputs = 3, hidden = 4, directions = bidirectional ? 2 : 1;
    const int64_t gates = cell == 2 ? 4 : cell > 2 ? 3 : 1, rows = gates * hidden;
    *l = (linear){.params = HUSK_RNN_PARAMS(.cell = cell < 4 ? (husk_rnn_cell)cell : HUSK_RNN_GRU,
                                            .hidden_size = hidden, .layers = layers, .bidirectional = bidirectional,
                                            .reset = cell == 4 ? HUSK_GRU_RESET_BEFORE : HUSK_GRU_RESET_AFTER)};
    const int64_t x[] = {steps, batch, inputs}, state[] = {layers * directions, batch, hidden};
    const int64_t y[] = {steps, batch, directions * hidden};
    l->inputs[0] = test_array(3, x, seed, 1.0);
    l->inputs[1] = test_array(3, state, seed + 1, 1.0);
    l->inputs[2] = test_array(3, state, seed + 2, 1.0);
    l->count = 3;
    for (int64_t i = 0; i < layers * directions; i++) {
        const int64_t features = i < directions ? inputs : directions * hidden;
        husk_ref_array *w = &l->inputs[l->count];
        w[0] = test_array(2, (const int64_t[]){rows, features}, seed + 10 + (uint64_t)(4 * i), scale);
        w[1] = test_array(2, (const int64_t[]){rows, hidden}, seed + 11 + (uint64_t)(4 * i), scale);
        w[2] = test_array(1, &rows, seed + 12 + (uint64_t)(4 * i), scale);
        w[3] = test_array(1, &rows, seed + 13 + (uint64_t)(4 * i), scale);
        l->weights[i] = (husk_ref_rnn_weights){&w[0], &w[1], &w[2], &w[3]};
        l->count += PARTS;
    }
    l->y = test_array(3, y, 0, 0.0);
    l->h_n = test_array(3, state, 0, 0.0);
    l->c_n = test_array(3, state, 0, 0.0);
    const int64_t all = husk_ref_array_count(&l->y) + 2 * husk_ref_array_count(&l->h_n), room = 20000;
    l->all = test_array(1, &all, 0, 0.0);
    l->d_all = test_array(1, &all, seed + 5, 1.0);
    l->reserve = test_array(1, &room, 0, 0.0);
    memcpy(l->lengths_data, (const int32_t[]){2, 4, 0}, 3 * sizeof(int32_t));
    l->lengths = husk_ref_array_make(l->lengths_data, HUSK_I32, 1, &batch);
    l->op = (husk_ref_rnn){.params = &l->params, .x = &l->inputs[0], .lengths = has_lengths ? &l->lengths : NULL,
                           .h0 = &l->inputs[1], .c0 = cell == 2 ? &l->inputs[2] : NULL, .weights = l->weights,
                           .reserve = &l->reserve};
    ck_assert_int_le(husk_ref_rnn_reserve_gates(&l->op, layers, 0), room);
}

static void release_linear(linear *l)
{
    for (int i = 0; i < l->count; i++)
        test_array_release(&l->inputs[i]);
    husk_ref_array *const others[] = {&l->y, &l->h_n, &l->c_n, &l->all, &l->d_all, &l->reserve};
    for (size_t i = 0; i < sizeof(others) / sizeof(*others); i++)
        test_array_release(others[i]);
}

static void backward(const linear *l, husk_ref_rnn_gradients *made)
{
    double *at = l->d_all.data;
    const husk_ref_array dy = husk_ref_array_make(at, HUSK_F64, 3, l->y.shape);
    at += husk_ref_array_count(&l->y);
    const husk_ref_array dh_n = husk_ref_array_make(at, HUSK_F64, 3, l->h_n.shape);
    at += husk_ref_array_count(&l->h_n);
    const husk_ref_array dc_n = husk_ref_array_make(at, HUSK_F64, 3, l->c_n.shape);
    const husk_ref_rnn_backward op = {.forward = &l->op, .y = &l->y, .reserve = &l->reserve, .dy = &dy, .dh_n = &dh_n,
                                      .dc_n = l->params.cell == HUSK_RNN_LSTM ? &dc_n : NULL};
    ck_assert(husk_ref_rnn_backward_run(&op, made));
}

static const husk_ref_rnn_gradient *gradient_of(const husk_ref_rnn_gradients *made, int input)
{
    return input == 0   ? &made->x
           : input == 1 ? &made->h0
           : input == 2 ? &made->c0
                        : &made->weights[(input - 3) / PARTS][(input - 3) % PARTS];
}

START_TEST(differences)
{
    linear l;
    make_linear(&l, _i % CELLS, 1 + _i / CELLS % 2, _i / (2 * CELLS) % 2, _i / (4 * CELLS), 900 + (uint64_t)_i, 0.8);
    for (int i = 5; _i % CELLS == HUSK_RNN_RELU && i < l.count; i += PARTS) // biases that leave some units alive
        for (int64_t j = 0; j < husk_ref_array_count(&l.inputs[i]); j++)
            ((double *)l.inputs[i].data)[j] += 0.5;
    forward(&l);
    husk_ref_rnn_gradients made;
    backward(&l, &made);
    for (int i = 0; i < l.count; i++) {
        const husk_ref_rnn_gradient *gradient = gradient_of(&made, i);
        if (gradient->values == NULL) // c0 of what has none
            continue;
        const husk_ref_array array =
            husk_ref_array_make(gradient->values, HUSK_F64, gradient->rank, gradient->shape);
        test_differences(name, forward, &l, &l.inputs[i], &l.all, &l.d_all, &array, (uint64_t)(_i + i));
    }
    husk_ref_rnn_gradients_release(&made);
    release_linear(&l);
}
END_TEST

// ReLU of what is positive is linear: <y, dy> = <x, dx> + <h0, dh0>.
START_TEST(adjoint)
{
    linear l;
    make_linear(&l, HUSK_RNN_RELU, 2, _i % 2, _i / 2, 30 + (uint64_t)_i, 0.5);
    for (int i = 0; i < l.count; i++)
        for (int64_t j = 0; j < husk_ref_array_count(&l.inputs[i]); j++)
        {
            double *value = (double *)l.inputs[i].data + j;
            *value = i >= 3 && (i - 3) % PARTS >= 2 ? 0.0 : fabs(*value);
        }
    forward(&l);
    husk_ref_rnn_gradients made;
    backward(&l, &made);
    double left = test_dot(&l.all, &l.d_all), right = 0.0, scale = 0.0;
    for (int i = 0; i < 2; i++) {
        const husk_ref_rnn_gradient *gradient = gradient_of(&made, i);
        for (int64_t j = 0; j < husk_ref_array_count(&l.inputs[i]); j++) {
            right += ((double *)l.inputs[i].data)[j] * gradient->values[j];
            scale += fabs(((double *)l.inputs[i].data)[j] * gradient->values[j]);
        }
    }
    ck_assert_msg(fabs(left - right) <= 1e-12 * scale, "%.17g and %.17g", left, right);
    husk_ref_rnn_gradients_release(&made);
    release_linear(&l);
}
END_TEST

// ---- every variant against the reference ----

static config draw(int number)
{
    husk_ref_random random = {.seed = 5000 + (uint64_t)number};
    config c = everything(shape_of(number % CELLS, TEST_PICK(&random, 1, 2, 3, 5, 9), 1, 1, 1));
    rnn_shape *s = &c.shape;
    s->batch = test_pick_size(&random, TEST_PICK(&random, 4, 8, 16), test_is_long() ? 65 : 20);
    s->inputs = test_pick_size(&random, 16, 40);
    s->hidden = test_pick_size(&random, TEST_PICK(&random, 16, 32), test_is_long() ? 150 : 70);
    s->layers = TEST_PICK(&random, 1, 1, 2, 3);
    s->bidirectional = test_one_in(&random, 3);
    s->has_lengths = test_one_in(&random, 2);
    s->has_h0 = test_one_in(&random, 2);
    s->has_c0 = test_one_in(&random, 2);
    s->has_h_n = test_one_in(&random, 2);
    s->has_input_bias = !test_one_in(&random, 3);
    s->has_hidden_bias = !test_one_in(&random, 3);
    s->are_rows_apart = test_one_in(&random, 3);
    s->x_layout = test_pick_layout(&random);
    s->seed = 70 + 1000 * (uint64_t)number;
    c.dx_layout = test_pick_layout(&random);
    c.accumulate = (uint32_t)TEST_PICK(&random, 0, 0, 1, 2, 3);
    c.has_dy = !test_one_in(&random, 5);
    c.has_dh_n = !c.has_dy || test_one_in(&random, 2);
    c.has_dc_n = test_one_in(&random, 2);
    c.wants_x = !test_one_in(&random, 4);
    c.wants_h0 = test_one_in(&random, 2);
    c.wants_c0 = test_one_in(&random, 2);
    for (int part = 0; part < PARTS; part++)
        c.wants[part] = !test_one_in(&random, 4);
    c.wants[1] = c.wants[1] || !(c.wants_x || c.wants[0] || c.wants[2] || c.wants[3]);
    c.forward = forward_variants[number % 3];
    return c;
}

START_TEST(drawn)
{
    const config c = draw(_i);
    run_all(&c);
}
END_TEST

START_TEST(with_everything)
{
    config c = everything(shape_of(_i % CELLS, 5, 13, 9, 37));
    c.shape.layers = 2;
    c.shape.bidirectional = c.shape.has_lengths = c.shape.are_rows_apart = true;
    c.shape.x_layout = c.dx_layout = TEST_SPREAD;
    c.accumulate = _i / CELLS ? HUSK_ACCUMULATE_ALL : 0;
    c.forward = forward_variants[_i % 3];
    run_all(&c);
}
END_TEST

// f16, bf16 and f64: every cell with everything, in two layouts.
static config narrow_config(husk_dtype dtype, int i)
{
    config c = everything(shape_of(i % CELLS, 4, 6, 9, 21));
    c.shape.dtype = dtype;
    c.shape.layers = 2;
    c.shape.bidirectional = c.shape.has_lengths = true;
    c.shape.are_rows_apart = i / (2 * CELLS);
    c.shape.x_layout = c.dx_layout = c.shape.are_rows_apart ? TEST_REVERSED : TEST_PACKED;
    c.accumulate = i / (2 * CELLS) ? HUSK_ACCUMULATE_ALL : 0;
    return c;
}

START_TEST(narrow)
{
    const config c = narrow_config(_i / CELLS % 2 ? HUSK_BF16 : HUSK_F16, _i);
    run_all(&c);
}
END_TEST

START_TEST(each_dtype)
{
    const config c = narrow_config(test_dtype(_i / CELLS), _i);
    run_all(&c);
}
END_TEST

START_TEST(drawn_dtypes)
{
    config c = draw(2000 + _i);
    c.shape.dtype = test_dtype(_i);
    run_all(&c);
}
END_TEST

// Doubles by the device's own variant alone.
START_TEST(doubles)
{
    config c = everything(shape_of(2 + _i, 5, 7, 9, 21));
    c.shape.dtype = HUSK_F64;
    c.shape.layers = 2;
    c.shape.bidirectional = c.shape.has_lengths = c.shape.are_rows_apart = true;
    c.accumulate = _i ? HUSK_ACCUMULATE_ALL : 0;
    if (!husk_context_has(test_context(), HUSK_FEATURE_F64))
        return;
    training t;
    make(&c, &t);
    husk_ref_report report = {0};
    ck_assert(husk_ref_rnn_reserve_check(&t.forward, &t.c.y.array, &t.reserve.array, &report));
    test_accept("rnn", c.forward, "the reserve of doubles", &report);
    husk_ref_rnn_gradients expected;
    const husk_ref_rnn_backward op = reference_of(&t);
    ck_assert(husk_ref_rnn_backward_run(&op, &expected));
    run_variant(&t, &expected, NULL);
    husk_ref_rnn_gradients_release(&expected);
    release(&t);
}
END_TEST

// More sequences than sums are kept of at once; and one of a layer so wide that hidden units are divided among
// work-items, a launch a step.
START_TEST(divided)
{
    config c = everything(_i < CELLS ? shape_of(_i, 2, 65, 3, 33) : shape_of(_i - CELLS, 2, 1, 4, 500));
    c.shape.bidirectional = _i == 2;
    run_all(&c);
}
END_TEST

START_TEST(lengths)
{
    static const int32_t given[][4] = {{0, 0, 0, 0}, {5, 5, 5, 5}, {0, 5, 3, 1}, {-7, 9, 2147483647, 4}};
    config c = everything(shape_of(_i % CELLS, 5, 4, 3, 18));
    c.shape.layers = 2;
    c.shape.bidirectional = c.shape.has_lengths = true;
    c.shape.lengths = given[_i / CELLS];
    run_all(&c);
}
END_TEST

// Sums over nothing are 0, or what was there; the states' gradients go through.
START_TEST(empty)
{
    config c = everything(shape_of(_i % CELLS, _i / CELLS % 2 ? 3 : 0, _i / CELLS % 2 ? 0 : 3, 4, 19));
    c.accumulate = _i / (2 * CELLS) ? HUSK_ACCUMULATE_ALL : 0;
    c.shape.layers = 2;
    run_all(&c);
}
END_TEST

// One gradient alone, of every kind; and layers of which nothing is wanted.
START_TEST(one_alone)
{
    config c = everything(shape_of(_i / 7, 3, 5, 6, 20));
    c.shape.layers = 2;
    c.wants_x = _i % 7 == 0;
    c.wants_h0 = _i % 7 == 1;
    c.wants_c0 = _i % 7 == 2;
    for (int part = 0; part < PARTS; part++)
        c.wants[part] = _i % 7 == 3 + part;
    if (_i % 7 == 2 && c.shape.cell != HUSK_RNN_LSTM)
        c.wants_h0 = true;
    run_all(&c);
}
END_TEST

START_TEST(top_layer_alone)
{
    config c = everything(shape_of(_i, 3, 5, 6, 20));
    c.shape.layers = 3;
    c.wants_x = c.wants_h0 = c.wants_c0 = false;
    training t;
    make(&c, &t);
    for (int i = 0; i < 2; i++)
        t.list[i] = (husk_rnn_weights){0};
    test_ok(call(&t, NULL));
    husk_ref_rnn_gradients expected;
    const husk_ref_rnn_backward op = reference_of(&t);
    ck_assert(husk_ref_rnn_backward_run(&op, &expected));
    for (int part = 0; part < PARTS; part++) {
        test_untouched(&t.d_weights[0][part]);
        test_untouched(&t.d_weights[1][part]);
        test_fetch(&t.d_weights[2][part]);
        compare(&t, &op, &expected.weights[2][part], &t.d_weights[2][part], 0, NULL, "the top layer");
    }
    husk_ref_rnn_gradients_release(&expected);
    release(&t);
}
END_TEST

// One sequence's mistake reaches its own gradients, and the weights', alone.
START_TEST(special_values)
{
    config c = everything(shape_of(_i, 4, 7, 6, 21));
    training t;
    make(&c, &t);
    husk_ref_store(&t.dy.array, husk_ref_offset(&t.dy.array, (int64_t[]){2, 3, 5}), _i % 2 ? NAN : INFINITY);
    test_input_update(&t.dy);
    husk_ref_rnn_gradients expected;
    const husk_ref_rnn_backward op = reference_of(&t);
    ck_assert(husk_ref_rnn_backward_run(&op, &expected));
    for (int v = 0; v < VARIANTS; v++) {
        each_gradient(&t, test_restore);
        if (!test_ran(call(&t, variants[v]), name, variants[v]))
            continue;
        each_gradient(&t, test_fetch);
        for (int64_t b = 0; b < 7; b++)
            for (int64_t j = 0; j < 6; j++) {
                const int64_t index[3] = {0, b, j};
                const double value = husk_ref_load(&t.dx.array, husk_ref_offset(&t.dx.array, index));
                ck_assert_msg(b == 3 || isfinite(value), "sequence %d", (int)b);
            }
        bool spread = false;
        for (int64_t j = 0; j < 21; j++)
            spread = spread || !isfinite(husk_ref_load(&t.dh0.array, husk_ref_offset(&t.dh0.array,
                                                                                     (int64_t[]){0, 3, j})));
        ck_assert(spread || c.shape.cell == HUSK_RNN_RELU);
    }
    husk_ref_rnn_gradients_release(&expected);
    release(&t);
}
END_TEST

// ---- the same bits ----

static uint64_t bits;

static void add_bits(test_tensor *tensor)
{
    test_fetch(tensor);
    for (int64_t i = 0; i < tensor->words; i++)
        bits = (bits ^ tensor->current[i]) * 1099511628211u;
}

START_TEST(the_same_bits)
{
    config c = everything(shape_of(_i % CELLS, 6, 21, 30, 45));
    c.shape.bidirectional = c.shape.has_lengths = true;
    c.shape.layers = 2;
    training t;
    make(&c, &t);
    uint64_t first = 0;
    for (int run = 0; run < 10; run++) {
        each_gradient(&t, test_restore);
        test_ok(call(&t, NULL));
        bits = 14695981039346656037u;
        each_gradient(&t, add_bits);
        first = run == 0 ? bits : first;
        ck_assert_msg(bits == first, "run %d has other bits", run);
    }
    release(&t);
}
END_TEST

START_TEST(the_check_sees_mistakes)
{
    config c = everything(shape_of(_i, 3, 4, 5, 18));
    training t;
    make(&c, &t);
    husk_ref_rnn_gradients expected;
    const husk_ref_rnn_backward op = reference_of(&t);
    ck_assert(husk_ref_rnn_backward_run(&op, &expected));
    test_ok(call(&t, NULL));
    each_gradient(&t, test_fetch);
    const struct {
        const husk_ref_rnn_gradient *expected;
        test_tensor *actual;
    } pairs[] = {{&expected.x, &t.dx}, {&expected.h0, &t.dh0}, {&expected.weights[0][0], &t.d_weights[0][0]},
                 {&expected.weights[0][1], &t.d_weights[0][1]}, {&expected.weights[0][3], &t.d_weights[0][3]}};
    for (size_t i = 0; i < sizeof(pairs) / sizeof(*pairs); i++) {
        const int64_t count = husk_ref_array_count(&pairs[i].actual->array);
        for (int64_t at = 0; at < count; at += count - 1) {
            const double right = husk_ref_load(&pairs[i].actual->array, at);
            husk_ref_report report = {0};
            husk_ref_rnn_gradient_compare(&op, pairs[i].expected, NULL, &pairs[i].actual->array, &report);
            ck_assert(husk_ref_report_pass(&report) && report.checked == count);
            husk_ref_store(&pairs[i].actual->array, at, right + 2e-3);
            husk_ref_rnn_gradient_compare(&op, pairs[i].expected, NULL, &pairs[i].actual->array, &report);
            ck_assert(!husk_ref_report_pass(&report));
            husk_ref_store(&pairs[i].actual->array, at, right);
        }
        test_planted_guards(pairs[i].actual);
    }
    husk_ref_rnn_gradients_release(&expected);
    release(&t);
}
END_TEST

// ---- bad input ----

static training good;

static void set_up(void)
{
    config c = everything(shape_of(HUSK_RNN_LSTM, 3, 4, 5, 6));
    c.shape.layers = 2;
    c.shape.bidirectional = c.shape.has_lengths = true;
    make(&c, &good);
}

static void tear_down(void)
{
    each_gradient(&good, test_untouched);
    release(&good);
}

static void refused(husk_status wanted, const char *argument)
{
    test_refused(husk_rnn_backward(test_silent_queue(), &good.c.params, &good.c.inputs, &good.outputs,
                                   &good.output_gradients, &good.gradients),
                 wanted, argument);
}

START_TEST(missing)
{
    husk_queue *queue = test_silent_queue();
    const husk_rnn_params *params = &good.c.params;
    test_refused(husk_rnn_backward(queue, NULL, &good.c.inputs, &good.outputs, &good.output_gradients,
                                   &good.gradients),
                 HUSK_INVALID_ARGUMENT, "params");
    test_refused(husk_rnn_backward(queue, params, NULL, &good.outputs, &good.output_gradients, &good.gradients),
                 HUSK_INVALID_ARGUMENT, "inputs");
    test_refused(husk_rnn_backward(queue, params, &good.c.inputs, NULL, &good.output_gradients, &good.gradients),
                 HUSK_INVALID_ARGUMENT, "outputs");
    test_refused(husk_rnn_backward(queue, params, &good.c.inputs, &good.outputs, NULL, &good.gradients),
                 HUSK_INVALID_ARGUMENT, "output_gradients");
    test_refused(husk_rnn_backward(queue, params, &good.c.inputs, &good.outputs, &good.output_gradients, NULL),
                 HUSK_INVALID_ARGUMENT, "gradients");
    ck_assert_int_eq(husk_rnn_backward(NULL, params, &good.c.inputs, &good.outputs, &good.output_gradients,
                                       &good.gradients),
                     HUSK_INVALID_ARGUMENT);
    const husk_rnn_outputs outputs = good.outputs, output_gradients = good.output_gradients;
    const husk_rnn_gradients gradients = good.gradients;
    good.outputs.y = NULL;
    refused(HUSK_INVALID_ARGUMENT, "y");
    good.outputs = outputs;
    good.outputs.reserve = NULL;
    refused(HUSK_INVALID_ARGUMENT, "reserve");
    good.outputs = outputs;
    good.output_gradients = HUSK_RNN_OUTPUTS(.y = NULL);
    refused(HUSK_INVALID_ARGUMENT, "output_gradients");
    good.output_gradients = output_gradients;
    good.gradients = HUSK_RNN_GRADIENTS(.x = NULL);
    refused(HUSK_INVALID_ARGUMENT, "gradients");
    good.gradients = gradients;
    good.gradients.size = 4096;
    refused(HUSK_INVALID_ARGUMENT, "gradients");
    good.gradients = gradients;
    const husk_rnn_inputs inputs = good.c.inputs;
    good.c.inputs.x = NULL;
    refused(HUSK_INVALID_ARGUMENT, "x");
    good.c.inputs = inputs;
    good.c.inputs.weights = NULL;
    refused(HUSK_INVALID_ARGUMENT, "weights");
    good.c.inputs = inputs;
}
END_TEST

START_TEST(bad_params)
{
    const husk_rnn_params params = good.c.params;
    good.c.params.accumulate = 4;
    refused(HUSK_INVALID_ARGUMENT, "accumulate");
    good.c.params = params;
    good.c.params.variant = "nonsense";
    refused(HUSK_INVALID_ARGUMENT, "nonsense");
    good.c.params = params;
    good.c.params.hidden_size = 7;
    refused(HUSK_INVALID_ARGUMENT, "h0");
    good.c.params = params;
    good.c.params.workspace_limit = 64;
    refused(HUSK_UNSUPPORTED, "workspace");
    good.c.params = params;
    ck_assert_int_eq(husk_rnn_reserve_size(NULL, &good.c.x.tensor), -1);
    ck_assert_int_eq(husk_rnn_reserve_size(&params, NULL), -1);
    good.c.params.hidden_size = 0;
    ck_assert_int_eq(husk_rnn_reserve_size(&good.c.params, &good.c.x.tensor), -1);
    good.c.params = params;
}
END_TEST

// Every tensor in turn: rank, a dimension, dtype, strides, memory.
static void spoil(husk_tensor *tensor, const char *argument, bool is_gradient)
{
    const husk_tensor was = *tensor;
    tensor->rank--;
    refused(HUSK_INVALID_ARGUMENT, argument);
    *tensor = was;
    tensor->shape[tensor->rank - 1]--;
    refused(HUSK_INVALID_ARGUMENT, argument);
    *tensor = was;
    tensor->dtype = HUSK_I64;
    refused(HUSK_UNSUPPORTED, argument);
    *tensor = was;
    tensor->offset += 1 << 20;
    refused(HUSK_INVALID_ARGUMENT, argument);
    *tensor = was;
    tensor->buffer = NULL;
    refused(HUSK_INVALID_ARGUMENT, argument);
    *tensor = was;
    if (is_gradient && was.rank > 1) {
        for (int d = 0; d < was.rank; d++)
            tensor->strides[d] = d == was.rank - 1 ? 1 : 2;
        refused(HUSK_INVALID_ARGUMENT, argument);
        *tensor = was;
    }
}

START_TEST(bad_tensors)
{
    spoil(&good.reserve.tensor, "reserve", false);
    spoil(&good.dy.tensor, "output_gradients.y", false);
    spoil(&good.dh_n.tensor, "output_gradients.h_n", false);
    spoil(&good.dc_n.tensor, "output_gradients.c_n", false);
    spoil(&good.dx.tensor, "gradients.x", true);
    spoil(&good.dh0.tensor, "gradients.h0", true);
    spoil(&good.dc0.tensor, "gradients.c0", true);
    spoil(&good.d_weights[0][0].tensor, "gradients.weights[0].input", true);
    spoil(&good.d_weights[1][1].tensor, "gradients.weights[1].hidden", true);
    spoil(&good.d_weights[2][2].tensor, "gradients.weights[2].input_bias", true);
    spoil(&good.d_weights[3][3].tensor, "gradients.weights[3].hidden_bias", true);
    husk_tensor *const tensors[] = {&good.dy.tensor, &good.dh0.tensor, &good.d_weights[0][1].tensor};
    static const char *const names[] = {"output_gradients.y", "gradients.h0", "gradients.weights[0].hidden"};
    for (int i = 0; i < 3; i++) {
        const husk_tensor was = *tensors[i];
        test_layout_strides(TEST_REVERSED, was.rank, was.shape, tensors[i]->strides);
        refused(HUSK_UNSUPPORTED, names[i]);
        *tensors[i] = was;
    }
}
END_TEST

START_TEST(overlaps)
{
    husk_tensor *const gradients[] = {&good.dx.tensor, &good.dh0.tensor, &good.d_weights[1][0].tensor};
    static const char *const names[] = {"gradients.x", "gradients.h0", "gradients.weights[1].input"};
    const husk_tensor *const others[] = {&good.c.x.tensor, &good.reserve.tensor, &good.dy.tensor,
                                         &good.c.tensors[0][1].tensor, &good.d_weights[0][0].tensor};
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 5; j++) {
            if (i < 2 && j == 4) // named by the later one
                continue;
            const husk_tensor was = *gradients[i];
            gradients[i]->buffer = others[j]->buffer;
            gradients[i]->offset = others[j]->offset;
            husk_status status = husk_rnn_backward(test_silent_queue(), &good.c.params, &good.c.inputs,
                                                   &good.outputs, &good.output_gradients, &good.gradients);
            test_refused(status, HUSK_INVALID_ARGUMENT, names[i]);
            *gradients[i] = was;
        }
}
END_TEST

START_TEST(foreign_states)
{
    config c = everything(shape_of(HUSK_RNN_GRU, 3, 4, 5, 6));
    training t;
    make(&c, &t);
    t.output_gradients.c_n = t.output_gradients.h_n;
    test_refused(husk_rnn_backward(test_silent_queue(), &t.c.params, &t.c.inputs, &t.outputs, &t.output_gradients,
                                   &t.gradients),
                 HUSK_INVALID_ARGUMENT, "output_gradients.c_n");
    t.output_gradients.c_n = NULL;
    t.gradients.c0 = t.gradients.h0;
    test_refused(husk_rnn_backward(test_silent_queue(), &t.c.params, &t.c.inputs, &t.outputs, &t.output_gradients,
                                   &t.gradients),
                 HUSK_INVALID_ARGUMENT, "gradients.c0");
    release(&t);
}
END_TEST

// Packed weights are for inference.
START_TEST(packed_weights)
{
    husk_plan *plan = NULL;
    husk_packed *packed = NULL;
    husk_error error;
    const husk_rnn_outputs plain = HUSK_RNN_OUTPUTS(.y = &good.c.y.tensor);
    test_ok_error(husk_rnn_plan_create(test_context(), &good.c.params, &good.c.inputs, &plain, &plan, &error), &error);
    test_ok(husk_rnn_plan_pack(plan, test_queue(), good.c.weights, &packed));
    const husk_rnn_inputs inputs = good.c.inputs;
    good.c.inputs.weights = NULL;
    good.c.inputs.packed = packed;
    refused(HUSK_UNSUPPORTED, "packed");
    test_refused(husk_rnn(test_silent_queue(), &good.c.params, &good.c.inputs, &good.c.outputs), HUSK_UNSUPPORTED,
                 "packed");
    good.c.inputs = inputs;
    husk_packed_release(packed);
    husk_plan_release(plan);
}
END_TEST

START_TEST(counts)
{
    ck_assert_int_ge(test_executed(name), 400);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create(name);
    TCase *reference = tcase_create("reference"), *numbers = tcase_create("numbers");
    TCase *refusals = tcase_create("refusals"), *wide = tcase_create("doubles"), *last = tcase_create("counts");
    if (test_tier_is("dtypes")) {
        tcase_add_loop_test(numbers, each_dtype, 0, 6 * CELLS);
        tcase_add_loop_test(numbers, drawn_dtypes, 0, 90);
        suite_add_tcase(suite, numbers);
        return test_main(suite);
    }
    tcase_add_loop_test(numbers, narrow, 0, 2);
    tcase_add_loop_test(wide, doubles, 0, test_is_long() ? 2 : 0); // their programs are many
    tcase_add_loop_test(reference, differences, 0, 8 * CELLS);
    tcase_add_loop_test(reference, adjoint, 0, 4);
    tcase_add_loop_test(numbers, with_everything, 0, 2 * CELLS);
    tcase_add_loop_test(numbers, drawn, 0, test_is_long() ? 400 : 40);
    tcase_add_loop_test(numbers, divided, 0, 2 * CELLS);
    tcase_add_loop_test(numbers, lengths, 0, 4 * CELLS);
    tcase_add_loop_test(numbers, empty, 0, 4 * CELLS);
    tcase_add_loop_test(numbers, one_alone, 0, 7 * CELLS);
    tcase_add_loop_test(numbers, top_layer_alone, 0, CELLS);
    tcase_add_loop_test(numbers, special_values, 0, CELLS);
    tcase_add_loop_test(numbers, the_same_bits, 0, CELLS);
    tcase_add_loop_test(numbers, the_check_sees_mistakes, 0, CELLS);
    tcase_add_checked_fixture(refusals, set_up, tear_down);
    tcase_add_test(refusals, missing);
    tcase_add_test(refusals, bad_params);
    tcase_add_test(refusals, bad_tensors);
    tcase_add_test(refusals, overlaps);
    tcase_add_test(refusals, foreign_states);
    tcase_add_test(refusals, packed_weights);
    tcase_add_test(last, counts);
    suite_add_tcase(suite, reference);
    suite_add_tcase(suite, numbers);
    suite_add_tcase(suite, refusals);
    suite_add_tcase(suite, wide);
    suite_add_tcase(suite, last);
    return test_main(suite);
}
