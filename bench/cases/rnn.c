// SPDX-License-Identifier: MIT
// rnn cell=tanh|relu|lstm|gru t b input hidden [layers bidir reset lengths bias state dtype packed dir]
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "data.h"
#include "op.h"
#include "text.h"
#include "ref/random.h"
#include "ref/rnn.h"

static const bench_choice cell_choices[] = {
    {"tanh", HUSK_RNN_TANH},
    {"relu", HUSK_RNN_RELU},
    {"lstm", HUSK_RNN_LSTM},
    {"gru", HUSK_RNN_GRU},
    {NULL, 0},
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
    BENCH_CHOICE("reset", as.rnn.reset, HUSK_GRU_RESET_AFTER, reset_choices,
                 "gru's reset gate, see husk/ops/rnn.h"),
    BENCH_CHOICE("lengths", as.rnn.lengths, 0, bench_flag_choices, "1: sequences of different length"),
    BENCH_CHOICE("bias", as.rnn.bias, 1, bench_flag_choices, "0: without biases"),
    BENCH_CHOICE("state", as.rnn.state, 0, bench_flag_choices, "1: initial states are given"),
    {.key = NULL},
};

static bool normalise(bench_case *c, char reason[BENCH_REASON_TEXT])
{
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

static int64_t layer_input(const bench_rnn *r, int64_t layer)
{
    return layer ? r->directions * r->hidden : r->input;
}

// The first sequence is the longest; the others are drawn from the case's own seed.
static int64_t length_of(const bench_case *c, int64_t sequence)
{
    const bench_rnn *r = &c->as.rnn;
    if (!r->lengths || sequence == 0 || r->t == 0)
        return r->t;
    return 1 +
           (int64_t)(husk_ref_random_bits(bench_case_seed(c) + 1000, (uint64_t)sequence) % (uint64_t)r->t);
}

static double steps(const bench_case *c)
{
    double total = 0;
    for (int64_t i = 0; i < c->as.rnn.b; i++)
        total += (double)length_of(c, i);
    return total;
}

static double weights(const bench_rnn *r)
{
    double count = 0;
    for (int64_t layer = 0; layer < r->layers; layer++)
        count += (double)(layer_input(r, layer) + r->hidden);
    return count * (double)(r->gates * r->hidden * r->directions);
}

static double macs(const bench_case *c)
{
    return steps(c) * weights(&c->as.rnn);
}

static double flops(const bench_case *c)
{
    return 2 * macs(c);
}

static double bytes(const bench_case *c)
{
    const bench_rnn *r = &c->as.rnn;
    double sequence = (double)r->t * (double)r->b * (double)(r->input + r->directions * r->hidden);
    double biases = r->bias ? 2.0 * (double)(r->layers * r->directions * r->gates * r->hidden) : 0;
    return 4 * (weights(r) + biases + sequence);
}

static bool make_layer(const bench_rnn *r, int64_t layer, bench_rnn_weights *w, uint64_t seed)
{
    int64_t rows = r->gates * r->hidden;
    int64_t input[2] = {rows, layer_input(r, layer)}, hidden[2] = {rows, r->hidden};
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
    if (r->cell != HUSK_RNN_LSTM)
        return true;
    if (!bench_array_make(&data->c0, HUSK_F32, 3, shape, NULL))
        return false;
    bench_array_fill(&data->c0, seed + 1, 1);
    return true;
}

static bool make_data(const bench_case *c, bench_data *data, uint64_t seed)
{
    const bench_rnn *r = &c->as.rnn;
    int64_t x[3] = {r->t, r->b, r->input}, y[3] = {r->t, r->b, r->directions * r->hidden};
    data->layers = calloc((size_t)(r->layers * r->directions), sizeof *data->layers);
    if (!data->layers || !bench_array_make(&data->x, HUSK_F32, 3, x, NULL) ||
        !bench_array_make(&data->y, HUSK_F32, 3, y, NULL))
        return false;
    data->layer_count = r->layers * r->directions;
    bench_array_fill(&data->x, seed, 1);
    for (int64_t i = 0; i < data->layer_count; i++) {
        if (!make_layer(r, i / r->directions, &data->layers[i], seed + 10 + 4 * (uint64_t)i))
            return false;
    }
    if (r->state && !make_states(c, data, seed + 1))
        return false;
    if (r->lengths) {
        if (!bench_array_make(&data->lengths, HUSK_I32, 1, &r->b, NULL))
            return false;
        for (int64_t i = 0; i < r->b; i++)
            ((int32_t *)data->lengths.data)[i] = (int32_t)length_of(c, i);
    }
    return true;
}

static bool make_output(const bench_case *c, const bench_data *data, bench_output *output)
{
    const bench_rnn *r = &c->as.rnn;
    int64_t shape[3] = {data->layer_count, r->b, r->hidden};
    return bench_array_make(&output->h_n, HUSK_F32, 3, shape, NULL) &&
           (r->cell != HUSK_RNN_LSTM || bench_array_make(&output->c_n, HUSK_F32, 3, shape, NULL));
}

static husk_rnn_params params_of(const bench_case *c, const char *variant)
{
    const bench_rnn *r = &c->as.rnn;
    return HUSK_RNN_PARAMS(.cell = (husk_rnn_cell)r->cell, .hidden_size = r->hidden, .layers = r->layers,
                           .bidirectional = (uint32_t)r->bidir, .reset = (husk_gru_reset)r->reset,
                           .precision = c->precision, .variant = variant);
}

static husk_rnn_inputs inputs_of(const bench_husk_job *job, const bench_husk_set *set, bool packed)
{
    return HUSK_RNN_INPUTS(.x = &set->x, .lengths = bench_optional(&set->lengths),
                           .h0 = bench_optional(&set->h0), .c0 = bench_optional(&set->c0),
                           .weights = packed ? NULL : set->layer_weights,
                           .packed = packed ? job->packed : NULL);
}

static husk_rnn_outputs outputs_of(const bench_husk_set *set)
{
    return HUSK_RNN_OUTPUTS(.y = &set->y, .h_n = bench_optional(&set->h_n), .c_n = bench_optional(&set->c_n));
}

static husk_status husk_prepare(bench_husk_job *job)
{
    husk_rnn_params params = params_of(job->c, job->form);
    husk_rnn_inputs inputs = inputs_of(job, job->sets, false);
    husk_rnn_outputs outputs = outputs_of(job->sets);
    husk_status status =
        husk_rnn_plan_create(job->context, &params, &inputs, &outputs, &job->plan, &job->error);
    if (status == HUSK_OK && job->c->packed)
        status = bench_job_packed(job, husk_rnn_plan_pack(job->plan, job->queue, job->sets->layer_weights,
                                                          &job->packed));
    return status;
}

static husk_status husk_enqueue(bench_husk_job *job, bench_husk_set *set)
{
    husk_rnn_inputs inputs = inputs_of(job, set, job->packed != NULL);
    husk_rnn_outputs outputs = outputs_of(set);
    if (job->c->packed)
        return husk_rnn_plan_run(job->plan, job->queue, &inputs, &outputs);
    husk_rnn_params params = params_of(job->c, job->form);
    return husk_rnn(job->queue, &params, &inputs, &outputs);
}

// Reference views of all weights: four arrays a layer and direction.
static husk_ref_rnn_weights *ref_weights(const bench_data *data, husk_ref_array **arrays)
{
    size_t count = (size_t)data->layer_count;
    husk_ref_rnn_weights *weight = calloc(count, sizeof *weight);
    *arrays = calloc(4 * count, sizeof **arrays);
    for (size_t i = 0; weight && *arrays && i < count; i++) {
        husk_ref_array *a = *arrays + 4 * i;
        a[0] = bench_ref_array(&data->layers[i].input);
        a[1] = bench_ref_array(&data->layers[i].hidden);
        a[2] = bench_ref_array(&data->layers[i].input_bias);
        a[3] = bench_ref_array(&data->layers[i].hidden_bias);
        weight[i] = (husk_ref_rnn_weights){&a[0], &a[1], a[2].data ? &a[2] : NULL, a[3].data ? &a[3] : NULL};
    }
    return weight;
}

static void verify(const bench_case *c, const bench_data *data, const bench_output *output,
                   const bench_verify_options *options, bench_verdict *verdict)
{
    husk_rnn_params params = params_of(c, NULL);
    husk_ref_array *arrays = NULL;
    husk_ref_rnn_weights *weight = ref_weights(data, &arrays);
    husk_ref_array x = bench_ref_array(&data->x), lengths = bench_ref_array(&data->lengths);
    husk_ref_array h0 = bench_ref_array(&data->h0), c0 = bench_ref_array(&data->c0);
    husk_ref_array y = bench_ref_array(&output->y), h_n = bench_ref_array(&output->h_n);
    husk_ref_array c_n = bench_ref_array(&output->c_n);
    husk_ref_report y_report = {0}, state_report = {0};
    husk_ref_rnn op = {
        .params = &params,
        .x = &x,
        .lengths = lengths.data ? &lengths : NULL,
        .h0 = h0.data ? &h0 : NULL,
        .c0 = c0.data ? &c0 : NULL,
        .weights = weight,
    };
    if (!weight || !arrays ||
        !husk_ref_rnn_check(&op, &y, h_n.data ? &h_n : NULL, c_n.data ? &c_n : NULL, options->seed, &y_report,
                            &state_report)) {
        bench_verdict_fail(verdict, "host memory does not suffice for the reference");
    } else {
        bench_verdict_add(verdict, "y", &y_report);
        if (h_n.data)
            bench_verdict_add(verdict, "h_n, c_n", &state_report);
    }
    free(weight);
    free(arrays);
}

static bool generate(int64_t index, char line[BENCH_CASE_TEXT])
{
    static const int sizes[] = {1, 2, 7, 15, 16, 17, 32, 33, 64, 65};
    static const int batches[] = {1, 1, 2, 3, 16, 17};
    if (index >= 60)
        return false;
    husk_ref_random draw = {.seed = 0x726e6e00 + (uint64_t)index};
#define BELOW(limit) ((int)husk_ref_random_below(&draw, limit))
    int cell = (int)(index % 4), t = 1 + BELOW(9), b = batches[BELOW(6)];
    int input = sizes[BELOW(10)], hidden = sizes[BELOW(10)];
    snprintf(line, BENCH_CASE_TEXT, "rnn cell=%s t=%d b=%d input=%d hidden=%d", cell_choices[cell].text, t, b,
             input, hidden);
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
    if (BELOW(3) == 0)
        bench_append(line, BENCH_CASE_TEXT, " packed=1");
#undef BELOW
    return true;
}

const bench_op bench_op_rnn = {
    .name = "rnn",
    .fields = fields,
    .common = BENCH_COMMON_DTYPE | BENCH_COMMON_PRECISION | BENCH_COMMON_PACKED | BENCH_COMMON_DIR,
    .normalise = normalise,
    .resolve = resolve,
    .flops = flops,
    .macs = macs,
    .bytes = bytes,
    .make_data = make_data,
    .make_output = make_output,
    .husk_prepare = husk_prepare,
    .husk_enqueue = husk_enqueue,
    .verify = verify,
    .generate = generate,
};
