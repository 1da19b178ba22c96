// SPDX-License-Identifier: MIT
// rnn cell=tanh|relu|lstm|gru t b input hidden [layers bidir reset lengths bias state dtype packed dir]
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cases/array.h"
#include "cases/op.h"
#include "cases/rnn/saved.h"
#include "cases/rnn/sequences.h"
#include "cases/rnn/shape.h"
#include "cases/rnn/verify.h"
#include "common/text.h"
#include "ref/random.h"
#include "ref/rnn/rnn.h"

static const bench_choice cell_choices[] = {
    {"tanh", HUSK_RNN_TANH}, {"relu", HUSK_RNN_RELU}, {"lstm", HUSK_RNN_LSTM}, {"gru", HUSK_RNN_GRU}, {NULL, 0},
};
static const bench_choice reset_choices[] = {
    {"after", HUSK_GRU_RESET_AFTER},
    {"before", HUSK_GRU_RESET_BEFORE},
    {NULL, 0},
};

static const bench_field fields[] = {
    {.key = "cell",
     .type = BENCH_FIELD_CHOICE,
     BENCH_AT(as.rnn.cell),
     .required = true,
     .choices = cell_choices,
     .help = "tanh, relu, lstm or gru"},
    BENCH_REQUIRED("t", as.rnn.t, 0, "time steps"),
    BENCH_REQUIRED("b", as.rnn.b, 0, "sequences in the batch"),
    BENCH_REQUIRED("input", as.rnn.input, 1, "features of the input"),
    BENCH_REQUIRED("hidden", as.rnn.hidden, 1, "features of the state"),
    BENCH_INTEGER("layers", as.rnn.layers, 1, 1, "layers on top of each other"),
    BENCH_CHOICE("bidir", as.rnn.bidir, 0, bench_flag_choices, "1: both directions"),
    BENCH_CHOICE("reset", as.rnn.reset, HUSK_GRU_RESET_AFTER, reset_choices, "gru's reset gate, see husk/ops/rnn.h"),
    BENCH_CHOICE("lengths", as.rnn.lengths, 0, bench_flag_choices, "1: sequences of different length"),
    BENCH_CHOICE("bias", as.rnn.bias, 1, bench_flag_choices, "0: without biases"),
    BENCH_CHOICE("state", as.rnn.state, 0, bench_flag_choices, "1: initial states are given"),
    {.key = NULL},
};

static bool normalise(bench_case *c, char reason[BENCH_REASON_TEXT])
{
    if (bench_rnn_is_backward(c) && c->packed)
        return bench_explain(reason, BENCH_REASON_TEXT, "packed=1: gradients take weights as they are");
    if (bench_rnn_is_backward(c) && c->as.rnn.layers > HUSK_REF_RNN_MAX_WEIGHTS / 2) // as the library has it
        return bench_explain(reason, BENCH_REASON_TEXT, "layers: at most %d with dir=%s", HUSK_REF_RNN_MAX_WEIGHTS / 2,
                             bench_direction_text(c->dir));
    if (c->as.rnn.reset && c->as.rnn.cell != HUSK_RNN_GRU)
        return bench_explain(reason, BENCH_REASON_TEXT, "reset=before goes with cell=gru alone");
    return true;
}

static void resolve(bench_case *c)
{
    bench_rnn *r = &c->as.rnn;
    r->gates = r->cell == HUSK_RNN_LSTM ? 4 : r->cell == HUSK_RNN_GRU ? 3 : 1;
    r->directions = r->bidir ? 2 : 1;
}

// Of all sequences together; the mean of 65,536 stands for more, within 1%. A case is counted several times where one
// is read, which is to take no time.
static double steps(const bench_case *c)
{
    enum { COUNTED = 1 << 16 };
    const bench_rnn *r = &c->as.rnn;
    if (!r->lengths || r->t == 0)
        return (double)r->t * (double)r->b;
    const uint64_t seed = bench_rnn_sequences_seed(c);
    const int64_t counted = r->b < COUNTED ? r->b : COUNTED, count = bench_rnn_distinct(c);
    double total = 0;
    for (int64_t i = 0; i < counted; i++)
        total += (double)bench_rnn_length(c, seed, count, i);
    return counted ? total * ((double)r->b / (double)counted) : 0;
}

// dir=bwd: every product of forward's has two gradients.
static double macs(const bench_case *c)
{
    return (bench_rnn_is_backward(c) ? 2 : 1) * steps(c) * bench_rnn_weight_count(&c->as.rnn);
}

static double flops(const bench_case *c)
{
    return 2 * macs(c);
}

// Of what is read, so many steps of all sequences together; what is written is so for all of them, past the ends too.
// The reserve is f32 beside what is narrower.
static double bytes_with(const bench_case *c, double read)
{
    const bench_rnn *r = &c->as.rnn;
    const double all = (double)r->t * (double)r->b, size = bench_case_element(c);
    const double features = (double)r->input, outputs = (double)(r->directions * r->hidden);
    const double units = (double)r->layers * outputs; // of all layers
    const double biases = r->bias ? 2.0 * (double)r->gates * units : 0;
    if (!bench_rnn_is_backward(c))
        return size * (bench_rnn_weight_count(r) + biases + read * features + all * outputs);
    const double kept = r->cell == HUSK_RNN_LSTM ? 5 : r->cell == HUSK_RNN_GRU ? 4 - (double)r->reset : 1;
    return size * (2 * bench_rnn_weight_count(r) + biases + read * (features + 2 * outputs) + all * features) +
           fmax(size, 4) * units * read * kept;
}

// Without steps no weights are read, and their gradients are zeros: what forward reads is what is written then.
static double bytes(const bench_case *c)
{
    const double read = steps(c);
    bench_case forward = *c;
    forward.dir = BENCH_FWD;
    return read > 0 ? bytes_with(c, read) : bench_rnn_is_backward(c) ? bytes_with(&forward, 0) : 0;
}

// The states of all layers: those at the end, those at the beginning where they are given, and their gradients.
static double states(const bench_rnn *r, bool backward)
{
    const double one = (double)r->layers * (double)r->directions * (double)r->b * (double)r->hidden,
                 all = one * (r->cell == HUSK_RNN_LSTM ? 2 : 1);
    return backward ? all * (r->state ? 3 : 0) : all * (1 + (r->state != 0));
}

static double operands(const bench_case *c)
{
    const bench_rnn *r = &c->as.rnn;
    return bytes_with(c, (double)r->t * (double)r->b) + bench_case_element(c) * states(r, bench_rnn_is_backward(c));
}

static bool make_layer(const bench_rnn *r, int64_t layer, bench_rnn_weights *w, uint64_t seed)
{
    int64_t rows = r->gates * r->hidden;
    int64_t input[2] = {rows, bench_rnn_layer_input(r, layer)}, hidden[2] = {rows, r->hidden};
    // PyTorch's initialisation: it keeps the gates away from saturation, where errors would not show.
    float scale = 1.0f / sqrtf((float)r->hidden);
    if (!bench_array_make(&w->input, HUSK_F32, 2, input, NULL) ||
        !bench_array_make(&w->hidden, HUSK_F32, 2, hidden, NULL))
        return false;
    bench_array_fill(&w->input, seed, scale);
    bench_array_fill(&w->hidden, seed + 1, scale);
    if (!r->bias)
        return true;
    if (!bench_array_make(&w->input_bias, HUSK_F32, 1, &rows, NULL) ||
        !bench_array_make(&w->hidden_bias, HUSK_F32, 1, &rows, NULL))
        return false;
    bench_array_fill(&w->input_bias, seed + 2, scale);
    bench_array_fill(&w->hidden_bias, seed + 3, scale);
    return true;
}

static bool make_states(const bench_case *c, bench_data *data, uint64_t seed)
{
    const bench_rnn *r = &c->as.rnn;
    int64_t shape[3] = {r->layers * r->directions, r->b, r->hidden};
    if (!bench_array_make(&data->h0, HUSK_F32, 3, shape, NULL))
        return false;
    bench_array_fill(&data->h0, seed, 1);
    bench_rnn_repeat_rows(c, data->h0.data, shape[0], r->hidden, false);
    if (r->cell != HUSK_RNN_LSTM)
        return true;
    if (!bench_array_make(&data->c0, HUSK_F32, 3, shape, NULL))
        return false;
    bench_array_fill(&data->c0, seed + 1, 1);
    bench_rnn_repeat_rows(c, data->c0.data, shape[0], r->hidden, false);
    return true;
}

static bool make_data(const bench_case *c, bench_data *data, uint64_t seed)
{
    const bench_rnn *r = &c->as.rnn;
    int64_t x[3] = {r->t, r->b, r->input}, y[3] = {r->t, r->b, r->directions * r->hidden};
    data->layers = calloc((size_t)(r->layers * r->directions), sizeof *data->layers);
    if (!data->layers || !bench_array_make(&data->x, HUSK_F32, 3, x, NULL) ||
        !bench_array_make(&data->y, HUSK_F32, 3, bench_rnn_is_backward(c) ? x : y, NULL) ||
        (bench_rnn_is_backward(c) && !bench_array_make(&data->dy, HUSK_F32, 3, y, NULL)))
        return false;
    data->layer_count = r->layers * r->directions;
    bench_array_fill(&data->x, seed, 1);
    bench_rnn_repeat_rows(c, data->x.data, r->t, r->input, false);
    for (int64_t i = 0; i < data->layer_count; i++) {
        if (!make_layer(r, i / r->directions, &data->layers[i], seed + 10 + 4 * (uint64_t)i))
            return false;
    }
    if (r->state && !make_states(c, data, seed + 1))
        return false;
    if (r->lengths) {
        if (!bench_array_make(&data->lengths, HUSK_I32, 1, &r->b, NULL))
            return false;
        const uint64_t draw = bench_rnn_sequences_seed(c);
        const int64_t count = bench_rnn_distinct(c);
        for (int64_t i = 0; i < r->b; i++)
            ((int32_t *)data->lengths.data)[i] = (int32_t)bench_rnn_length(c, draw, count, i);
    }
    if (!bench_rnn_is_backward(c))
        return true;
    bench_array_fill(&data->dy, seed + 5, 1);
    bench_rnn_repeat_rows(c, data->dy.data, r->t, y[2], true);
    return bench_rnn_make_saved(c, data, seed + 6);
}

static bool make_output(const bench_case *c, const bench_data *data, bench_output *output)
{
    const bench_rnn *r = &c->as.rnn;
    int64_t shape[3] = {data->layer_count, r->b, r->hidden};
    if (bench_rnn_is_backward(c)) {
        int64_t matrices = (int64_t)bench_rnn_weight_count(r), biases = 2 * data->layer_count * r->gates * r->hidden;
        return bench_array_make(&output->gradients[BENCH_RNN_MATRICES], c->dtype, 1, &matrices, NULL) &&
               (!r->bias || bench_array_make(&output->gradients[BENCH_RNN_BIASES], c->dtype, 1, &biases, NULL)) &&
               (!r->state || bench_array_make(&output->gradients[BENCH_RNN_H0], c->dtype, 3, shape, NULL)) &&
               (!data->c0.data || bench_array_make(&output->gradients[BENCH_RNN_C0], c->dtype, 3, shape, NULL));
    }
    return bench_array_make(&output->h_n, c->dtype, 3, shape, NULL) &&
           (r->cell != HUSK_RNN_LSTM || bench_array_make(&output->c_n, c->dtype, 3, shape, NULL));
}

static husk_rnn_inputs inputs_of(const bench_husk_job *job, const bench_husk_set *set, bool packed)
{
    return HUSK_RNN_INPUTS(.x = &set->x, .lengths = bench_optional(&set->lengths), .h0 = bench_optional(&set->h0),
                           .c0 = bench_optional(&set->c0), .weights = packed ? NULL : set->layer_weights,
                           .packed = packed ? job->packed : NULL);
}

static husk_rnn_outputs outputs_of(const bench_husk_set *set)
{
    return HUSK_RNN_OUTPUTS(.y = &set->y, .h_n = bench_optional(&set->h_n), .c_n = bench_optional(&set->c_n));
}

static husk_status husk_prepare(bench_husk_job *job)
{
    husk_rnn_params params = bench_rnn_params(job->c, job->form);
    husk_rnn_inputs inputs = inputs_of(job, job->sets, false);
    husk_rnn_outputs outputs = outputs_of(job->sets);
    husk_status status = husk_rnn_plan_create(job->context, &params, &inputs, &outputs, &job->plan, &job->error);
    if (status == HUSK_OK && job->c->packed)
        status =
            bench_job_packed(job, husk_rnn_plan_pack(job->plan, job->queue, job->sets->layer_weights, &job->packed));
    return status;
}

static husk_status enqueue_backward(bench_husk_job *job, bench_husk_set *set)
{
    const bench_rnn *r = &job->c->as.rnn;
    const int64_t rows = r->gates * r->hidden;
    husk_tensor tensors[HUSK_REF_RNN_MAX_WEIGHTS][4];
    husk_rnn_weights list[HUSK_REF_RNN_MAX_WEIGHTS];
    for (int64_t i = 0; i < job->data->layer_count; i++) {
        const int64_t features = bench_rnn_layer_input(r, i / r->directions);
        const husk_tensor *matrices = &set->gradients[BENCH_RNN_MATRICES], *biases = &set->gradients[BENCH_RNN_BIASES];
        husk_tensor *t = tensors[i];
        t[0] = husk_tensor_make(matrices->buffer, matrices->dtype, 2, (int64_t[]){rows, features});
        t[1] = husk_tensor_make(matrices->buffer, matrices->dtype, 2, (int64_t[]){rows, r->hidden});
        t[2] = t[3] = husk_tensor_make(biases->buffer, biases->dtype, 1, &rows);
        bench_rnn_place_gradients(r, i, &t[0].offset, &t[1].offset, &t[2].offset);
        t[3].offset = t[2].offset + rows;
        list[i] = (husk_rnn_weights){&t[0], &t[1], biases->buffer ? &t[2] : NULL, biases->buffer ? &t[3] : NULL};
    }
    husk_rnn_params params = bench_rnn_params(job->c, job->form);
    husk_rnn_inputs inputs = inputs_of(job, set, false);
    husk_rnn_outputs outputs =
        HUSK_RNN_OUTPUTS(.y = &set->saved[BENCH_RNN_SAVED_Y], .reserve = &set->saved[BENCH_RNN_SAVED_RESERVE]);
    husk_rnn_outputs given = HUSK_RNN_OUTPUTS(.y = &set->dy, .h_n = bench_optional(&set->saved[BENCH_RNN_SAVED_DH_N]),
                                              .c_n = bench_optional(&set->saved[BENCH_RNN_SAVED_DC_N]));
    husk_rnn_gradients gradients =
        HUSK_RNN_GRADIENTS(.x = &set->y, .h0 = bench_optional(&set->gradients[BENCH_RNN_H0]),
                           .c0 = bench_optional(&set->gradients[BENCH_RNN_C0]), .weights = list);
    return husk_rnn_backward(job->queue, &params, &inputs, &outputs, &given, &gradients);
}

static husk_status husk_enqueue(bench_husk_job *job, bench_husk_set *set)
{
    if (bench_rnn_is_backward(job->c))
        return enqueue_backward(job, set);
    husk_rnn_inputs inputs = inputs_of(job, set, job->packed != NULL);
    husk_rnn_outputs outputs = outputs_of(set);
    if (job->c->packed)
        return husk_rnn_plan_run(job->plan, job->queue, &inputs, &outputs);
    husk_rnn_params params = bench_rnn_params(job->c, job->form);
    return husk_rnn(job->queue, &params, &inputs, &outputs);
}

static bool generate(int64_t index, char line[BENCH_CASE_TEXT])
{
    static const int sizes[] = {1, 2, 7, 15, 16, 17, 32, 33, 64, 65};
    static const int batches[] = {1, 1, 2, 3, 16, 17};
    if (index >= 100)
        return false;
    const bool is_gradient = index >= 60;
    husk_ref_random draw = {.seed = 0x726e6e00 + (uint64_t)index};
#define BELOW(limit) ((int)husk_ref_random_below(&draw, limit))
    int cell = (int)(index % 4), t = 1 + BELOW(9), b = batches[BELOW(6)];
    int input = sizes[BELOW(10)], hidden = sizes[BELOW(10)];
    snprintf(line, BENCH_CASE_TEXT, "rnn cell=%s t=%d b=%d input=%d hidden=%d", cell_choices[cell].text, t, b, input,
             hidden);
    if (BELOW(3) == 0)
        bench_append(line, BENCH_CASE_TEXT, " layers=2");
    if (BELOW(3) == 0)
        bench_append(line, BENCH_CASE_TEXT, " bidir=1");
    if (cell == HUSK_RNN_GRU && BELOW(2))
        bench_append(line, BENCH_CASE_TEXT, " reset=before");
    if (BELOW(3) == 0)
        bench_append(line, BENCH_CASE_TEXT, " lengths=1");
    if (BELOW(4) == 0)
        bench_append(line, BENCH_CASE_TEXT, " bias=0");
    if (BELOW(2))
        bench_append(line, BENCH_CASE_TEXT, " state=1");
    if (BELOW(3) == 0 && !is_gradient)
        bench_append(line, BENCH_CASE_TEXT, " packed=1");
    if (is_gradient)
        bench_append(line, BENCH_CASE_TEXT, " dir=bwd");
#undef BELOW
    return true;
}

const bench_op bench_op_rnn = {
    .name = "rnn",
    .gradients = {[BENCH_BWD] = "rnn_backward"},
    .fields = fields,
    .common = BENCH_COMMON_DTYPE | BENCH_COMMON_PRECISION | BENCH_COMMON_PACKED | BENCH_COMMON_DIR,
    .normalise = normalise,
    .resolve = resolve,
    .flops = flops,
    .macs = macs,
    .bytes = bytes,
    .operands = operands,
    .make_data = make_data,
    .make_output = make_output,
    .narrows = true,
    .keeps_saved = 1u << BENCH_RNN_SAVED_RESERVE,
    .husk_prepare = husk_prepare,
    .husk_enqueue = husk_enqueue,
    .verify = bench_rnn_verify,
    .generate = generate,
};
