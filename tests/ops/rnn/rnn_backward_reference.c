// SPDX-License-Identifier: MIT
// The reference of recurrent layers' gradients is the gradient of its forward: finite differences, and the adjoint
// identity where a layer is linear.
#include <math.h>
#include <string.h>

#include "rnn_backward_case.h"

typedef struct linear {
    husk_ref_array inputs[3 + RNN_MAX_WEIGHTS * RNN_PARTS]; // x, h0, c0, weights
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
        l->count += RNN_PARTS;
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
    l->op = (husk_ref_rnn){.params = &l->params,
                           .x = &l->inputs[0],
                           .lengths = has_lengths ? &l->lengths : NULL,
                           .h0 = &l->inputs[1],
                           .c0 = cell == 2 ? &l->inputs[2] : NULL,
                           .weights = l->weights,
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

static const int64_t *like; // what backward's op has of them
static const double *sign;

static void backward(const linear *l, husk_ref_rnn_gradients *made)
{
    double *at = l->d_all.data;
    const husk_ref_array dy = husk_ref_array_make(at, HUSK_F64, 3, l->y.shape);
    at += husk_ref_array_count(&l->y);
    const husk_ref_array dh_n = husk_ref_array_make(at, HUSK_F64, 3, l->h_n.shape);
    at += husk_ref_array_count(&l->h_n);
    const husk_ref_array dc_n = husk_ref_array_make(at, HUSK_F64, 3, l->c_n.shape);
    const husk_ref_rnn_backward op = {.forward = &l->op,
                                      .y = &l->y,
                                      .reserve = &l->reserve,
                                      .dy = &dy,
                                      .dh_n = &dh_n,
                                      .dc_n = l->params.cell == HUSK_RNN_LSTM ? &dc_n : NULL,
                                      .like = like,
                                      .sign = sign};
    ck_assert(husk_ref_rnn_backward_run(&op, made));
}

static const husk_ref_rnn_gradient *gradient_of(const husk_ref_rnn_gradients *made, int input)
{
    return input == 0   ? &made->x
           : input == 1 ? &made->h0
           : input == 2 ? &made->c0
                        : &made->weights[(input - 3) / RNN_PARTS][(input - 3) % RNN_PARTS];
}

START_TEST(differences)
{
    linear l;
    make_linear(&l, _i % RNN_CELLS, 1 + _i / RNN_CELLS % 2, _i / (2 * RNN_CELLS) % 2, _i / (4 * RNN_CELLS),
                900 + (uint64_t)_i, 0.8);
    for (int i = 5; _i % RNN_CELLS == HUSK_RNN_RELU && i < l.count;
         i += RNN_PARTS) // biases that leave some units alive
        for (int64_t j = 0; j < husk_ref_array_count(&l.inputs[i]); j++)
            ((double *)l.inputs[i].data)[j] += 0.5;
    forward(&l);
    husk_ref_rnn_gradients made;
    backward(&l, &made);
    for (int i = 0; i < l.count; i++) {
        const husk_ref_rnn_gradient *gradient = gradient_of(&made, i);
        if (gradient->values == NULL) // c0 of what has none
            continue;
        const husk_ref_array array = husk_ref_array_make(gradient->values, HUSK_F64, gradient->rank, gradient->shape);
        test_differences("rnn_backward", forward, &l, &l.inputs[i], &l.all, &l.d_all, &array, (uint64_t)(_i + i));
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
        for (int64_t j = 0; j < husk_ref_array_count(&l.inputs[i]); j++) {
            double *value = (double *)l.inputs[i].data + j;
            *value = i >= 3 && (i - 3) % RNN_PARTS >= 2 ? 0.0 : fabs(*value);
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

// What all has of sequence 0, in rows [outer][3][width], times factor in the last one.
static void repeat_last(double *all, int64_t outer, int64_t width, double factor)
{
    for (int64_t o = 0; o < outer; o++)
        for (int64_t i = 0; i < width; i++)
            all[(3 * o + 2) * width + i] = factor * all[3 * o * width + i];
}

static void expect_near(double expected, double actual, double scale, const char *what)
{
    ck_assert_msg(fabs(expected - actual) <= 1e-13 * scale, "%s: %.17g instead of %.17g", what, actual, expected);
}

// Of sequences that repeat others the few have the gradients of all, within the bounds of all, and each is compared.
START_TEST(repeats)
{
    const int64_t of[3] = {0, 1, 0};
    const double signs[3] = {1.0, 1.0, -1.0};
    linear l;
    make_linear(&l, _i % RNN_CELLS, 2, true, _i / RNN_CELLS, 1500 + (uint64_t)_i, 0.8);
    l.lengths_data[2] = l.lengths_data[0];
    const int64_t *x = l.inputs[0].shape, hidden = l.params.hidden_size, states = l.inputs[1].shape[0];
    double *at = l.d_all.data;
    repeat_last(l.inputs[0].data, x[0], x[2], 1.0);
    repeat_last(l.inputs[1].data, states, hidden, 1.0);
    repeat_last(l.inputs[2].data, states, hidden, 1.0);
    repeat_last(at, x[0], 2 * hidden, -1.0);
    at += husk_ref_array_count(&l.y);
    repeat_last(at, states, hidden, -1.0);
    repeat_last(at + husk_ref_array_count(&l.h_n), states, hidden, -1.0);
    forward(&l);
    husk_ref_rnn_gradients all, few;
    backward(&l, &all);
    like = of;
    sign = signs;
    backward(&l, &few);
    like = NULL;
    sign = NULL;
    const husk_ref_rnn_backward op = {.forward = &l.op, .like = of, .sign = signs};
    for (int i = 0; i < l.count; i++) {
        const husk_ref_rnn_gradient *expected = gradient_of(&all, i), *made = gradient_of(&few, i);
        if (expected->values == NULL)
            continue;
        const husk_ref_array right = husk_ref_array_make(expected->values, HUSK_F64, expected->rank, expected->shape);
        const int64_t count = husk_ref_array_count(&right), last = count - 1;
        for (int64_t j = 0; made->rank < 3 && j < count; j++) {
            expect_near(expected->values[j], made->values[j], 1.0 + fabs(expected->values[j]), "a gradient");
            expect_near(expected->bounds[j], made->bounds[j], expected->bounds[j], "its bound");
        }
        husk_ref_report report = {0};
        husk_ref_rnn_gradient_compare(&op, made, NULL, &right, &report);
        ck_assert_int_eq(report.checked, count);
        ck_assert_int_eq(report.failures, 0);
        expected->values[last] += 1e-3; // of the sequence that was not computed, too
        husk_ref_rnn_gradient_compare(&op, made, NULL, &right, &report);
        ck_assert_int_eq(report.failures, 1);
    }
    husk_ref_rnn_gradients_release(&all);
    husk_ref_rnn_gradients_release(&few);
    release_linear(&l);
}
END_TEST

TCase *rnn_backward_reference(void)
{
    TCase *reference = tcase_create("reference");
    tcase_add_loop_test(reference, differences, 0, 8 * RNN_CELLS);
    tcase_add_loop_test(reference, adjoint, 0, 4);
    tcase_add_loop_test(reference, repeats, 0, 2 * RNN_CELLS);
    return reference;
}
