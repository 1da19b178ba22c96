// SPDX-License-Identifier: MIT
#include "rnn_backward_case.h"

#include <stdio.h>

const char *const rnn_backward_variants[RNN_BACKWARD_VARIANTS] = {NULL,         "panel:8x2",  "panel:6x2",
                                                                  "tile:32x32", "tile:16x16", "tile:4x16"};
static const char name[] = "rnn_backward";

// ---- making one ----

static test_tensor make_gradient(const rnn_backward_config *c, uint32_t bit, int32_t rank, const int64_t *shape,
                                 test_layout layout, uint64_t seed)
{
    const husk_dtype dtype = c->shape.dtype != 0 ? c->shape.dtype : HUSK_F32;
    return c->accumulate & bit ? test_inout_of(dtype, rank, shape, layout, seed, 1.0f)
                               : test_output(dtype, rank, shape, layout);
}

static void make_weight_gradients(rnn_backward_case *t, test_layout rows)
{
    const rnn_backward_config *c = &t->config;
    for (int i = 0; i < t->c.weight_count; i++) {
        const husk_tensor **to[RNN_PARTS] = {&t->list[i].input, &t->list[i].hidden, &t->list[i].input_bias,
                                             &t->list[i].hidden_bias};
        for (int part = 0; part < RNN_PARTS; part++) {
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

static void make_output_gradients(rnn_backward_case *t, test_layout rows)
{
    const rnn_backward_config *c = &t->config;
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

void rnn_backward_make(const rnn_backward_config *c, rnn_backward_case *t)
{
    *t = (rnn_backward_case){.config = *c};
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

void rnn_backward_each(rnn_backward_case *t, void (*action)(test_tensor *tensor))
{
    test_tensor *const states[] = {&t->dx, &t->dh0, &t->dc0};
    for (int i = 0; i < 3; i++)
        if (states[i]->tensor.buffer != NULL)
            action(states[i]);
    for (int i = 0; i < t->c.weight_count; i++)
        for (int part = 0; part < RNN_PARTS; part++)
            if (t->d_weights[i][part].tensor.buffer != NULL)
                action(&t->d_weights[i][part]);
}

void rnn_backward_release(rnn_backward_case *t)
{
    rnn_backward_each(t, test_release);
    test_release(&t->reserve);
    test_release(&t->dy);
    test_release(&t->dh_n);
    test_release(&t->dc_n);
    rnn_case_release(&t->c);
}

husk_ref_rnn_backward rnn_backward_reference_of(const rnn_backward_case *t)
{
    return (husk_ref_rnn_backward){.forward = &t->forward,
                                   .y = &t->c.y.array,
                                   .reserve = &t->reserve.array,
                                   .dy = t->output_gradients.y != NULL ? &t->dy.array : NULL,
                                   .dh_n = t->output_gradients.h_n != NULL ? &t->dh_n.array : NULL,
                                   .dc_n = t->output_gradients.c_n != NULL ? &t->dc_n.array : NULL};
}

void rnn_backward_compare(const rnn_backward_case *t, const husk_ref_rnn_backward *op,
                          const husk_ref_rnn_gradient *expected, const test_tensor *actual, uint32_t bit,
                          const char *variant, const char *what)
{
    char text[320], shape[256];
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

void rnn_backward_verify(rnn_backward_case *t, const husk_ref_rnn_gradients *expected, const char *variant)
{
    static const char *const parts[RNN_PARTS] = {"input", "hidden", "input_bias", "hidden_bias"};
    const husk_ref_rnn_backward op = rnn_backward_reference_of(t);
    rnn_backward_each(t, test_fetch);
    rnn_backward_compare(t, &op, &expected->x, &t->dx, HUSK_ACCUMULATE_INPUTS, variant, "x");
    rnn_backward_compare(t, &op, &expected->h0, &t->dh0, HUSK_ACCUMULATE_INPUTS, variant, "h0");
    rnn_backward_compare(t, &op, &expected->c0, &t->dc0, HUSK_ACCUMULATE_INPUTS, variant, "c0");
    for (int i = 0; i < t->c.weight_count; i++)
        for (int part = 0; part < RNN_PARTS; part++) {
            char what[48];
            snprintf(what, sizeof(what), "weights[%d].%s", i, parts[part]);
            rnn_backward_compare(t, &op, &expected->weights[i][part], &t->d_weights[i][part],
                                 HUSK_ACCUMULATE_PARAMETERS, variant, what);
        }
}

husk_status rnn_backward_run(rnn_backward_case *t, const char *variant)
{
    husk_rnn_params params = t->c.params;
    params.variant = variant;
    return husk_rnn_backward(test_queue(), &params, &t->c.inputs, &t->outputs, &t->output_gradients, &t->gradients);
}

void rnn_backward_verify_variant(rnn_backward_case *t, const husk_ref_rnn_gradients *expected, const char *variant)
{
    rnn_backward_each(t, test_restore);
    if (test_ran(rnn_backward_run(t, variant), name, variant))
        rnn_backward_verify(t, expected, variant);
}

void rnn_backward_verify_all(const rnn_backward_config *c)
{
    rnn_backward_case t;
    rnn_backward_make(c, &t);
    husk_ref_report report = {0};
    ck_assert(husk_ref_rnn_reserve_check(&t.forward, &t.c.y.array, &t.reserve.array, &report));
    report.zeros = 0;
    test_accept("rnn", c->forward, "the reserve", &report);
    husk_ref_rnn_gradients expected;
    const husk_ref_rnn_backward op = rnn_backward_reference_of(&t);
    ck_assert(husk_ref_rnn_backward_run(&op, &expected));
    for (int v = 0; v < RNN_BACKWARD_VARIANTS; v++)
        rnn_backward_verify_variant(&t, &expected, rnn_backward_variants[v]);
    husk_ref_rnn_gradients_release(&expected);
    rnn_backward_release(&t);
}

rnn_shape rnn_backward_shape(int cell, int64_t steps, int64_t batch, int64_t inputs, int64_t hidden)
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

rnn_backward_config rnn_backward_everything(rnn_shape shape)
{
    return (rnn_backward_config){.shape = shape,
                                 .has_dy = true,
                                 .has_dh_n = true,
                                 .has_dc_n = true,
                                 .wants_x = true,
                                 .wants_h0 = true,
                                 .wants_c0 = true,
                                 .wants = {true, true, true, true}};
}

static uint64_t bits;

static void add_bits(test_tensor *tensor)
{
    test_fetch(tensor);
    for (int64_t i = 0; i < tensor->words; i++)
        bits = (bits ^ tensor->current[i]) * 1099511628211u;
}

uint64_t rnn_backward_bits(rnn_backward_case *t)
{
    bits = 14695981039346656037u;
    rnn_backward_each(t, add_bits);
    return bits;
}
