// SPDX-License-Identifier: MIT
#include "rnn_case.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static const char *const cell_names[] = {"tanh", "relu", "lstm", "gru"};
static const char *const way_names[] = {"immediate", "immediate packed", "plan", "plan packed"};

static int64_t gates_of(husk_rnn_cell cell)
{
    return cell == HUSK_RNN_LSTM ? 4 : cell == HUSK_RNN_GRU ? 3 : 1;
}

static husk_dtype dtype_of(const rnn_shape *s)
{
    return s->dtype != 0 ? s->dtype : HUSK_F32;
}

static void make_lengths(rnn_case *c)
{
    const rnn_shape *s = &c->shape;
    int32_t lengths[RNN_MAX_BATCH];
    husk_ref_random random = {.seed = s->seed + 5};
    for (int64_t b = 0; b < s->batch; b++)
        lengths[b] = s->lengths != NULL ? s->lengths[b] : (int32_t)husk_ref_random_below(&random, s->steps + 1);
    if (s->lengths == NULL && s->batch > 1) {
        lengths[s->batch / 2] = (int32_t)s->steps;
        lengths[0] = 0;
    }
    c->lengths = test_input_i32(s->batch, lengths);
    c->inputs.lengths = &c->lengths.tensor;
}

static void make_weights(rnn_case *c, int index, test_layout layout)
{
    const rnn_shape *s = &c->shape;
    const int64_t directions = s->bidirectional ? 2 : 1, rows = gates_of(s->cell) * s->hidden;
    const int64_t columns = index < directions ? s->inputs : directions * s->hidden;
    const int64_t input[2] = {rows, columns}, hidden[2] = {rows, s->hidden};
    const uint64_t seed = s->seed + 16 * (uint64_t)(index + 1);
    test_tensor *t = c->tensors[index];
    t[0] = test_input_of(dtype_of(s), 2, input, layout, seed, 1.5f / sqrtf((float)columns + 1.0f));
    t[1] = test_input_of(dtype_of(s), 2, hidden, layout, seed + 1, 1.5f / sqrtf((float)s->hidden));
    c->weights[index] = (husk_rnn_weights){.input = &t[0].tensor, .hidden = &t[1].tensor};
    c->ref_weights[index] = (husk_ref_rnn_weights){.input = &t[0].array, .hidden = &t[1].array};
    if (s->has_input_bias) {
        t[2] = test_input_of(dtype_of(s), 1, &rows, TEST_PACKED, seed + 2, 0.5f);
        c->weights[index].input_bias = &t[2].tensor;
        c->ref_weights[index].input_bias = &t[2].array;
    }
    if (s->has_hidden_bias) {
        t[3] = test_input_of(dtype_of(s), 1, &rows, TEST_PACKED, seed + 3, 0.5f);
        c->weights[index].hidden_bias = &t[3].tensor;
        c->ref_weights[index].hidden_bias = &t[3].array;
    }
}

void rnn_case_make(const rnn_shape *shape, rnn_case *c)
{
    *c = (rnn_case){.shape = *shape};
    const rnn_shape *s = &c->shape;
    const int64_t directions = s->bidirectional ? 2 : 1;
    const int64_t x[3] = {s->steps, s->batch, s->inputs};
    const int64_t y[3] = {s->steps, s->batch, directions * s->hidden};
    const int64_t state[3] = {s->layers * directions, s->batch, s->hidden};
    const test_layout rows = s->are_rows_apart ? TEST_PADDED : TEST_PACKED;
    c->params = HUSK_RNN_PARAMS(.cell = s->cell, .hidden_size = s->hidden, .layers = s->layers,
                                .bidirectional = s->bidirectional, .reset = s->reset, .precision = s->precision);
    c->inputs = HUSK_RNN_INPUTS(.x = &c->x.tensor, .weights = c->weights);
    c->outputs = HUSK_RNN_OUTPUTS(.y = &c->y.tensor);
    c->x = test_input_of(dtype_of(s), 3, x, s->x_layout, s->seed, 1.0f);
    c->y = test_output(dtype_of(s), 3, y, rows);
    if (s->has_lengths)
        make_lengths(c);
    if (s->has_h0) {
        c->h0 = test_input_of(dtype_of(s), 3, state, rows, s->seed + 1, 1.0f);
        c->inputs.h0 = &c->h0.tensor;
    }
    if (s->has_c0 && s->cell == HUSK_RNN_LSTM) {
        c->c0 = test_input_of(dtype_of(s), 3, state, rows, s->seed + 2, 1.0f);
        c->inputs.c0 = &c->c0.tensor;
    }
    if (s->has_h_n) {
        c->h_n = test_output(dtype_of(s), 3, state, rows);
        c->outputs.h_n = &c->h_n.tensor;
    }
    if (s->has_c_n && s->cell == HUSK_RNN_LSTM) {
        c->c_n = test_output(dtype_of(s), 3, state, rows);
        c->outputs.c_n = &c->c_n.tensor;
    }
    c->weight_count = (int)(s->layers * directions);
    for (int i = 0; i < c->weight_count; i++)
        make_weights(c, i, rows);
}

void rnn_case_release(rnn_case *c)
{
    test_tensor *const tensors[] = {&c->x, &c->lengths, &c->h0, &c->c0, &c->y, &c->h_n, &c->c_n};
    for (size_t i = 0; i < sizeof(tensors) / sizeof(*tensors); i++)
        test_release(tensors[i]);
    for (int i = 0; i < c->weight_count; i++)
        for (int part = 0; part < 4; part++)
            test_release(&c->tensors[i][part]);
}

void rnn_case_text(const rnn_case *c, rnn_way way, char *text, size_t capacity)
{
    const rnn_shape *s = &c->shape;
    snprintf(text, capacity,
             "rnn %s cell=%s%s t=%lld b=%lld input=%lld hidden=%lld layers=%lld bidir=%d lengths=%d h0=%d c0=%d "
             "biases=%d%d layout=%d%d, %s",
             husk_dtype_name(dtype_of(s)), cell_names[s->cell],
             s->reset == HUSK_GRU_RESET_BEFORE ? " reset=before" : "", (long long)s->steps, (long long)s->batch,
             (long long)s->inputs, (long long)s->hidden, (long long)s->layers, s->bidirectional, s->has_lengths,
             s->has_h0, s->has_c0, s->has_input_bias, s->has_hidden_bias, (int)s->x_layout, s->are_rows_apart,
             way_names[way]);
}

// ---- running ----

static bool run_packed(rnn_case *c, husk_plan *plan, bool is_immediate)
{
    husk_packed *packed = NULL;
    test_ok(husk_rnn_plan_pack(plan, test_queue(), c->weights, &packed));
    ck_assert_uint_gt(husk_packed_size(packed), 0);
    husk_rnn_inputs inputs = c->inputs;
    inputs.weights = NULL;
    inputs.packed = packed;
    if (is_immediate)
        test_ok(husk_rnn(test_queue(), &c->params, &inputs, &c->outputs));
    else
        test_ok(husk_rnn_plan_run(plan, test_queue(), &inputs, &c->outputs));
    husk_packed_release(packed);
    return true;
}

static bool run_plan(rnn_case *c, const char *variant, rnn_way way)
{
    husk_plan *plan = NULL;
    husk_error error;
    husk_status status = husk_rnn_plan_create(test_context(), &c->params, &c->inputs, &c->outputs, &plan, &error);
    if (!test_ran_error(status, &error, "rnn", variant))
        return false;
    if (way == RNN_PLAN)
        test_ok(husk_rnn_plan_run(plan, test_queue(), &c->inputs, &c->outputs));
    else
        run_packed(c, plan, way == RNN_IMMEDIATE_PACKED);
    husk_plan_release(plan);
    return true;
}

static void fetch(test_tensor *output)
{
    if (output->tensor.buffer != NULL)
        test_fetch(output);
}

static void restore(test_tensor *output)
{
    if (output->tensor.buffer != NULL)
        test_restore(output);
}

bool rnn_case_run(rnn_case *c, const char *variant, rnn_way way)
{
    restore(&c->y);
    restore(&c->h_n);
    restore(&c->c_n);
    c->params.variant = variant;
    if (way == RNN_IMMEDIATE) {
        husk_status status = husk_rnn(test_queue(), &c->params, &c->inputs, &c->outputs);
        if (!test_ran(status, "rnn", variant))
            return false;
    } else if (!run_plan(c, variant, way)) {
        return false;
    }
    fetch(&c->y);
    fetch(&c->h_n);
    fetch(&c->c_n);
    return true;
}

void rnn_case_check(const rnn_case *c, const husk_ref_array *y, husk_ref_report *report)
{
    const husk_ref_rnn op = {.params = &c->params,
                             .x = &c->x.array,
                             .lengths = c->inputs.lengths != NULL ? &c->lengths.array : NULL,
                             .h0 = c->inputs.h0 != NULL ? &c->h0.array : NULL,
                             .c0 = c->inputs.c0 != NULL ? &c->c0.array : NULL,
                             .weights = c->ref_weights,
                             .product_factor = c->product_factor};
    ck_assert(husk_ref_rnn_check(&op, y, c->outputs.h_n != NULL ? &c->h_n.array : NULL,
                                 c->outputs.c_n != NULL ? &c->c_n.array : NULL, c->shape.seed, report, report));
}

void rnn_case_verify(rnn_case *c, const char *variant, rnn_way way)
{
    char text[256];
    if (!rnn_case_run(c, variant, way))
        return;
    husk_ref_report report = {0};
    rnn_case_check(c, &c->y.array, &report);
    rnn_case_text(c, way, text, sizeof(text));
    test_accept("rnn", variant, text, &report);
}

// ---- without memory ----

void rnn_describe(husk_ref_random *random, rnn_description *d)
{
    static const husk_dtype dtypes[] = {HUSK_F32, HUSK_F16, HUSK_BF16};
    const int64_t steps = TEST_PICK(random, 1, 1, 2, 10, 50), batch = TEST_PICK(random, 1, 5, 8, 64, 300);
    const int64_t features = TEST_PICK(random, 1, 80, 512, 1024), size = TEST_PICK(random, 64, 500, 1024, 1537);
    const int64_t layers = TEST_PICK(random, 1, 1, 2, 3), directions = TEST_PICK(random, 1, 1, 2);
    const husk_rnn_cell cell = (husk_rnn_cell)TEST_PICK(random, HUSK_RNN_TANH, HUSK_RNN_LSTM, HUSK_RNN_GRU);
    const int64_t rows = size * gates_of(cell);
    const husk_dtype dtype = dtypes[husk_ref_random_below(random, 3)];
    *d = (rnn_description){0};
    d->x = husk_tensor_make(NULL, dtype, 3, (int64_t[]){steps, batch, features});
    d->y = husk_tensor_make(NULL, dtype, 3, (int64_t[]){steps, batch, directions * size});
    d->state = husk_tensor_make(NULL, dtype, 3, (int64_t[]){layers * directions, batch, size});
    d->hidden = husk_tensor_make(NULL, dtype, 2, (int64_t[]){rows, size});
    for (int64_t i = 0; i < layers * directions; i++) {
        const int64_t layer = i / directions;
        d->input[layer] =
            husk_tensor_make(NULL, dtype, 2, (int64_t[]){rows, layer == 0 ? features : directions * size});
        d->weights[i] = (husk_rnn_weights){.input = &d->input[layer], .hidden = &d->hidden};
    }
    d->params = HUSK_RNN_PARAMS(.cell = cell, .hidden_size = size, .layers = layers, .bidirectional = directions == 2);
    d->inputs = HUSK_RNN_INPUTS(.x = &d->x, .weights = d->weights, .h0 = test_one_in(random, 2) ? &d->state : NULL);
    d->outputs = HUSK_RNN_OUTPUTS(.y = &d->y, .h_n = test_one_in(random, 2) ? &d->state : NULL);
}

husk_plan *rnn_described_plan(const rnn_description *d, husk_status status, husk_plan *plan, const husk_error *error)
{
    if (status != HUSK_UNSUPPORTED) {
        test_ok_error(status, error);
        return plan;
    }
    uint64_t bytes = 0;
    for (int64_t i = 0; i < d->state.shape[0]; i++) {
        const husk_rnn_weights *weights = &d->weights[i];
        const int64_t columns = weights->input->shape[1] + weights->hidden->shape[1];
        bytes += (uint64_t)(weights->input->shape[0] * columns) * sizeof(float);
    }
    ck_assert_int_ne(d->x.dtype, HUSK_F32);
    ck_assert_msg(2 * bytes > husk_context_traits(test_context())->max_allocation, "weights of %llu bytes in f32: %s",
                  (unsigned long long)bytes, error->text);
    ck_assert_msg(strstr(error->text, "one buffer may have"), "%s", error->text);
    return NULL;
}
