// SPDX-License-Identifier: MIT
// rnn cell=tanh|relu|lstm|gru t b input hidden [layers bidir reset lengths bias state dtype packed dir]
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cases/array.h"
#include "cases/op.h"
#include "common/text.h"
#include "ref/random.h"
#include "ref/rnn/rnn.h"

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

// dir=bwd: x's gradient is y; the weights' lie in a row in gradients[0], layer by layer, input before hidden weights,
// the biases' in gradients[1]. Forward has saved y and the reserve, and state=1 gives gradients of the last states too.
enum { MATRICES, BIASES, H0, C0 };
enum { SAVED_Y, SAVED_RESERVE, SAVED_DH_N, SAVED_DC_N };

static bool is_backward(const bench_case *c)
{
    return c->dir != BENCH_FWD;
}

static bool normalise(bench_case *c, char reason[BENCH_REASON_TEXT])
{
    if (is_backward(c) && c->packed)
        return bench_explain(reason, BENCH_REASON_TEXT, "packed=1: gradients take weights as they are");
    if (is_backward(c) && c->as.rnn.layers > HUSK_REF_RNN_MAX_WEIGHTS / 2) // as the library has it
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

static int64_t layer_input(const bench_rnn *r, int64_t layer)
{
    return layer ? r->directions * r->hidden : r->input;
}

static double weights(const bench_rnn *r)
{
    const double first = (double)(layer_input(r, 0) + r->hidden), other = (double)(layer_input(r, 1) + r->hidden);
    return (first + (double)(r->layers - 1) * other) * (double)(r->gates * r->hidden * r->directions);
}

// ---- sequences that repeat others ----

// Gradients whose reference would take more than seconds have a few sequences, and the others of the batch repeat them
// in drawn order: what a kernel makes of each is compared, and the weights' gradients, which all sequences add to. dy
// changes its sign from one to another, so that it matters which of them is where.
static int64_t distinct(const bench_case *c)
{
    enum { MOST = 8 };
    const bench_rnn *r = &c->as.rnn;
    const int64_t fewest = r->lengths ? 4 : 2;
    const double cost = 2 * (double)r->t * weights(r), most = 32.0 * HUSK_REF_COMPLETE_COST;
    if (!is_backward(c) || cost * (double)r->b <= most || r->b <= fewest)
        return r->b;
    const int64_t some = cost * MOST <= most ? MOST : cost * (double)fewest >= most ? fewest : (int64_t)(most / cost);
    return some < r->b ? some : r->b;
}

// What draws which sequences repeat which, and their lengths.
static uint64_t sequences_seed(const bench_case *c)
{
    return bench_case_seed(c) + 1000;
}

// Of them count are distinct. Where they have lengths, nobody repeats the longest.
static int64_t like_of(const bench_case *c, uint64_t seed, int64_t count, int64_t sequence)
{
    if (sequence < count)
        return sequence;
    const int64_t first = c->as.rnn.lengths ? 1 : 0;
    return first + (int64_t)(husk_ref_random_bits(seed + 1, (uint64_t)sequence) % (uint64_t)(count - first));
}

// Three of four are positive, so that what is alike does not add up to nothing.
static float sign_of(int64_t count, int64_t sequence)
{
    return sequence >= count && sequence % 4 == 3 ? -1.0f : 1.0f;
}

// What outer times all sequences have in rows of that width: those that repeat others become theirs.
static void repeat_rows(const bench_case *c, float *data, int64_t outer, int64_t width, bool is_signed)
{
    const int64_t b = c->as.rnn.b, count = distinct(c);
    const uint64_t seed = sequences_seed(c);
    for (int64_t sequence = count; data && sequence < b; sequence++) {
        const int64_t like = like_of(c, seed, count, sequence);
        const float sign = is_signed ? sign_of(count, sequence) : 1.0f;
        for (int64_t o = 0; o < outer; o++) {
            const float *from = data + (o * b + like) * width;
            float *to = data + (o * b + sequence) * width;
            for (int64_t i = 0; i < width; i++)
                to[i] = sign * from[i];
        }
    }
}

// The first sequence is the longest; the others are drawn, or where few are distinct, evenly spread, so that they have
// as many steps on average.
static int64_t length_of(const bench_case *c, uint64_t seed, int64_t count, int64_t sequence)
{
    const bench_rnn *r = &c->as.rnn;
    sequence = like_of(c, seed, count, sequence);
    if (!r->lengths || sequence == 0 || r->t == 0)
        return r->t;
    if (count < r->b)
        return r->t / count * sequence + (r->t % count * sequence + count - 1) / count;
    return 1 + (int64_t)(husk_ref_random_bits(seed, (uint64_t)sequence) % (uint64_t)r->t);
}

// Of all sequences together; the mean of 65,536 stands for more, within 1%. A case is counted several times where one
// is read, which is to take no time.
static double steps(const bench_case *c)
{
    enum { COUNTED = 1 << 16 };
    const bench_rnn *r = &c->as.rnn;
    if (!r->lengths || r->t == 0)
        return (double)r->t * (double)r->b;
    const uint64_t seed = sequences_seed(c);
    const int64_t counted = r->b < COUNTED ? r->b : COUNTED, count = distinct(c);
    double total = 0;
    for (int64_t i = 0; i < counted; i++)
        total += (double)length_of(c, seed, count, i);
    return counted ? total * ((double)r->b / (double)counted) : 0;
}

// dir=bwd: every product of forward's has two gradients.
static double macs(const bench_case *c)
{
    return (is_backward(c) ? 2 : 1) * steps(c) * weights(&c->as.rnn);
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
    if (!is_backward(c))
        return size * (weights(r) + biases + read * features + all * outputs);
    const double kept = r->cell == HUSK_RNN_LSTM ? 5 : r->cell == HUSK_RNN_GRU ? 4 - (double)r->reset : 1;
    return size * (2 * weights(r) + biases + read * (features + 2 * outputs) + all * features) +
           fmax(size, 4) * units * read * kept;
}

// Without steps no weights are read, and their gradients are zeros: what forward reads is what is written then.
static double bytes(const bench_case *c)
{
    const double read = steps(c);
    bench_case forward = *c;
    forward.dir = BENCH_FWD;
    return read > 0 ? bytes_with(c, read) : is_backward(c) ? bytes_with(&forward, 0) : 0;
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
    return bytes_with(c, (double)r->t * (double)r->b) + bench_case_element(c) * states(r, is_backward(c));
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
    repeat_rows(c, data->h0.data, shape[0], r->hidden, false);
    if (r->cell != HUSK_RNN_LSTM)
        return true;
    if (!bench_array_make(&data->c0, HUSK_F32, 3, shape, NULL))
        return false;
    bench_array_fill(&data->c0, seed + 1, 1);
    repeat_rows(c, data->c0.data, shape[0], r->hidden, false);
    return true;
}

// ---- what forward has saved, in f32 on the host ----

// Sums of one row of weights times a vector, several side by side so that a compiler makes vectors of them.
static float dot(const float *a, const float *b, int64_t count)
{
    float parts[16] = {0}, sum = 0.0f;
    int64_t i = 0;
    for (; i + 16 <= count; i += 16)
        for (int lane = 0; lane < 16; lane++)
            parts[lane] += a[i + lane] * b[i + lane];
    for (; i < count; i++)
        sum += a[i] * b[i];
    for (int lane = 0; lane < 16; lane++)
        sum += parts[lane];
    return sum;
}

static float sigmoid(float x)
{
    return 1.0f / (1.0f + expf(-x));
}

// One layer's weights in one direction at one step of one sequence.
typedef struct host_step {
    const bench_rnn *r;
    const bench_rnn_weights *w;
    int64_t features;
    const float *x, *h, *c; // h, c: the states before
    float *kept, *out, *work;
} host_step;

static float input_sum(const host_step *s, int64_t row)
{
    const float *bias = s->w->input_bias.data;
    return dot((const float *)s->w->input.data + row * s->features, s->x, s->features) + (bias ? bias[row] : 0.0f);
}

static float hidden_sum(const host_step *s, int64_t row, const float *h)
{
    const float *bias = s->w->hidden_bias.data;
    return dot((const float *)s->w->hidden.data + row * s->r->hidden, h, s->r->hidden) + (bias ? bias[row] : 0.0f);
}

static void host_gru(const host_step *s)
{
    const int64_t h = s->r->hidden;
    float *reset = s->kept, *update = s->kept + h, *candidate = s->kept + 2 * h;
    for (int64_t j = 0; j < h; j++) {
        reset[j] = sigmoid(input_sum(s, j) + hidden_sum(s, j, s->h));
        update[j] = sigmoid(input_sum(s, h + j) + hidden_sum(s, h + j, s->h));
        s->work[j] = reset[j] * s->h[j];
    }
    for (int64_t j = 0; j < h; j++) {
        if (s->r->reset == HUSK_GRU_RESET_BEFORE) {
            candidate[j] = tanhf(input_sum(s, 2 * h + j) + hidden_sum(s, 2 * h + j, s->work));
        } else {
            const float q = hidden_sum(s, 2 * h + j, s->h);
            candidate[j] = tanhf(input_sum(s, 2 * h + j) + reset[j] * q);
            s->kept[3 * h + j] = q;
        }
        s->out[j] = candidate[j] + update[j] * (s->h[j] - candidate[j]);
    }
}

static void host_lstm(const host_step *s)
{
    const int64_t h = s->r->hidden;
    for (int64_t j = 0; j < h; j++) {
        for (int64_t gate = 0; gate < 4; gate++) {
            const float sum = input_sum(s, gate * h + j) + hidden_sum(s, gate * h + j, s->h);
            s->kept[gate * h + j] = gate == 2 ? tanhf(sum) : sigmoid(sum);
        }
        const float *k = s->kept + j;
        s->kept[4 * h + j] = k[h] * s->c[j] + k[0] * k[2 * h];
        s->out[j] = k[3 * h] * tanhf(k[4 * h]);
    }
}

static void host_vanilla(const host_step *s)
{
    for (int64_t j = 0; j < s->r->hidden; j++) {
        const float sum = input_sum(s, j) + hidden_sum(s, j, s->h);
        s->out[j] = s->kept[j] = s->r->cell == HUSK_RNN_RELU ? fmaxf(sum, 0.0f) : tanhf(sum);
    }
}

static husk_rnn_params params_of(const bench_case *c, const char *variant);

// All steps of one layer in one direction, of sequences that repeat no other; input and output are rows [t, b].
static void host_layer(const bench_case *c, const bench_data *data, int64_t index, const float *input, float *output,
                       float *kept, float *work)
{
    const bench_rnn *r = &c->as.rnn;
    const husk_rnn_params params = params_of(c, NULL);
    const int64_t direction = index % r->directions, h = r->hidden, row = husk_ref_rnn_kept(&params) * h;
    host_step s = {.r = r, .w = &data->layers[index], .work = work};
    s.features = layer_input(r, index / r->directions);
    memset(work + h, 0, (size_t)h * sizeof *work);
    const uint64_t seed = sequences_seed(c);
    const int64_t count = distinct(c);
    for (int64_t b = 0; b < count; b++) {
        const int64_t length = length_of(c, seed, count, b), state = (index * r->b + b) * h;
        s.h = data->h0.data ? (const float *)data->h0.data + state : work + h;
        s.c = data->c0.data ? (const float *)data->c0.data + state : work + h;
        for (int64_t i = 0; i < length; i++) {
            const int64_t at = (direction ? length - 1 - i : i) * r->b + b;
            s.x = input + at * s.features;
            s.out = output + (at * r->directions + direction) * h;
            s.kept = kept + at * row;
            if (r->cell == HUSK_RNN_LSTM)
                host_lstm(&s);
            else if (r->cell == HUSK_RNN_GRU)
                host_gru(&s);
            else
                host_vanilla(&s);
            s.h = s.out;
            s.c = s.kept + 4 * h; // an LSTM's alone
        }
    }
    repeat_rows(c, kept, r->t, row, false);
}

static bool make_saved(const bench_case *c, bench_data *data, uint64_t seed)
{
    const bench_rnn *r = &c->as.rnn;
    const husk_rnn_params params = params_of(c, NULL);
    const husk_tensor x = husk_tensor_make(NULL, HUSK_F32, 3, data->x.shape);
    const int64_t count = husk_rnn_reserve_size(&params, &x), state[3] = {data->layer_count, r->b, r->hidden};
    bench_array *y = &data->saved[SAVED_Y], *reserve = &data->saved[SAVED_RESERVE];
    if (count < 0 || !bench_array_make(y, HUSK_F32, 3, data->dy.shape, NULL) ||
        !bench_array_make(reserve, HUSK_F32, 1, &count, NULL) ||
        (r->state && !bench_array_make(&data->saved[SAVED_DH_N], HUSK_F32, 3, state, NULL)) ||
        (data->c0.data && !bench_array_make(&data->saved[SAVED_DC_N], HUSK_F32, 3, state, NULL)))
        return false;
    for (int i = SAVED_DH_N; i <= SAVED_DC_N; i++)
        if (data->saved[i].data)
            bench_array_fill(&data->saved[i], seed + (uint64_t)i, 1);
    for (int i = SAVED_DH_N; i <= SAVED_DC_N; i++)
        repeat_rows(c, data->saved[i].data, data->layer_count, r->hidden, true);
    float *work = malloc((size_t)(2 * r->hidden) * sizeof *work);
    if (!work)
        return false;
    memset(y->data, 0, (size_t)bench_array_bytes(y));
    memset(reserve->data, 0, (size_t)bench_array_bytes(reserve));
    const husk_ref_array shape = bench_ref_array(&data->x);
    const husk_ref_rnn op = {.params = &params, .x = &shape};
    const float *input = data->x.data;
    for (int64_t layer = 0; layer < r->layers; layer++) {
        float *all = reserve->data, *output = y->data;
        if (layer + 1 < r->layers)
            output = all + husk_ref_rnn_reserve_output(&op, layer);
        for (int64_t d = 0; d < r->directions; d++)
            host_layer(c, data, layer * r->directions + d, input, output,
                       all + husk_ref_rnn_reserve_gates(&op, layer, d), work);
        repeat_rows(c, output, r->t, r->directions * r->hidden, false);
        input = output;
    }
    free(work);
    return true;
}

static bool make_data(const bench_case *c, bench_data *data, uint64_t seed)
{
    const bench_rnn *r = &c->as.rnn;
    int64_t x[3] = {r->t, r->b, r->input}, y[3] = {r->t, r->b, r->directions * r->hidden};
    data->layers = calloc((size_t)(r->layers * r->directions), sizeof *data->layers);
    if (!data->layers || !bench_array_make(&data->x, HUSK_F32, 3, x, NULL) ||
        !bench_array_make(&data->y, HUSK_F32, 3, is_backward(c) ? x : y, NULL) ||
        (is_backward(c) && !bench_array_make(&data->dy, HUSK_F32, 3, y, NULL)))
        return false;
    data->layer_count = r->layers * r->directions;
    bench_array_fill(&data->x, seed, 1);
    repeat_rows(c, data->x.data, r->t, r->input, false);
    for (int64_t i = 0; i < data->layer_count; i++) {
        if (!make_layer(r, i / r->directions, &data->layers[i], seed + 10 + 4 * (uint64_t)i))
            return false;
    }
    if (r->state && !make_states(c, data, seed + 1))
        return false;
    if (r->lengths) {
        if (!bench_array_make(&data->lengths, HUSK_I32, 1, &r->b, NULL))
            return false;
        const uint64_t draw = sequences_seed(c);
        const int64_t count = distinct(c);
        for (int64_t i = 0; i < r->b; i++)
            ((int32_t *)data->lengths.data)[i] = (int32_t)length_of(c, draw, count, i);
    }
    if (!is_backward(c))
        return true;
    bench_array_fill(&data->dy, seed + 5, 1);
    repeat_rows(c, data->dy.data, r->t, y[2], true);
    return make_saved(c, data, seed + 6);
}

static bool make_output(const bench_case *c, const bench_data *data, bench_output *output)
{
    const bench_rnn *r = &c->as.rnn;
    int64_t shape[3] = {data->layer_count, r->b, r->hidden};
    if (is_backward(c)) {
        int64_t matrices = (int64_t)weights(r), biases = 2 * data->layer_count * r->gates * r->hidden;
        return bench_array_make(&output->gradients[MATRICES], c->dtype, 1, &matrices, NULL) &&
               (!r->bias || bench_array_make(&output->gradients[BIASES], c->dtype, 1, &biases, NULL)) &&
               (!r->state || bench_array_make(&output->gradients[H0], c->dtype, 3, shape, NULL)) &&
               (!data->c0.data || bench_array_make(&output->gradients[C0], c->dtype, 3, shape, NULL));
    }
    return bench_array_make(&output->h_n, c->dtype, 3, shape, NULL) &&
           (r->cell != HUSK_RNN_LSTM || bench_array_make(&output->c_n, c->dtype, 3, shape, NULL));
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

// Where one weight's gradients begin in the rows of all: rows first, and of biases.
static void place_gradients(const bench_rnn *r, int64_t index, int64_t *input, int64_t *hidden, int64_t *bias)
{
    const int64_t rows = r->gates * r->hidden;
    *input = 0;
    for (int64_t i = 0; i < index; i++)
        *input += rows * (layer_input(r, i / r->directions) + r->hidden);
    *hidden = *input + rows * layer_input(r, index / r->directions);
    *bias = 2 * index * rows;
}

static husk_status enqueue_backward(bench_husk_job *job, bench_husk_set *set)
{
    const bench_rnn *r = &job->c->as.rnn;
    const int64_t rows = r->gates * r->hidden;
    husk_tensor tensors[HUSK_REF_RNN_MAX_WEIGHTS][4];
    husk_rnn_weights list[HUSK_REF_RNN_MAX_WEIGHTS];
    for (int64_t i = 0; i < job->data->layer_count; i++) {
        const int64_t features = layer_input(r, i / r->directions);
        const husk_tensor *matrices = &set->gradients[MATRICES], *biases = &set->gradients[BIASES];
        husk_tensor *t = tensors[i];
        t[0] = husk_tensor_make(matrices->buffer, matrices->dtype, 2, (int64_t[]){rows, features});
        t[1] = husk_tensor_make(matrices->buffer, matrices->dtype, 2, (int64_t[]){rows, r->hidden});
        t[2] = t[3] = husk_tensor_make(biases->buffer, biases->dtype, 1, &rows);
        place_gradients(r, i, &t[0].offset, &t[1].offset, &t[2].offset);
        t[3].offset = t[2].offset + rows;
        list[i] = (husk_rnn_weights){&t[0], &t[1], biases->buffer ? &t[2] : NULL, biases->buffer ? &t[3] : NULL};
    }
    husk_rnn_params params = params_of(job->c, job->form);
    husk_rnn_inputs inputs = inputs_of(job, set, false);
    husk_rnn_outputs outputs = HUSK_RNN_OUTPUTS(.y = &set->saved[SAVED_Y], .reserve = &set->saved[SAVED_RESERVE]);
    husk_rnn_outputs given = HUSK_RNN_OUTPUTS(.y = &set->dy, .h_n = bench_optional(&set->saved[SAVED_DH_N]),
                                              .c_n = bench_optional(&set->saved[SAVED_DC_N]));
    husk_rnn_gradients gradients =
        HUSK_RNN_GRADIENTS(.x = &set->y, .h0 = bench_optional(&set->gradients[H0]),
                           .c0 = bench_optional(&set->gradients[C0]), .weights = list);
    return husk_rnn_backward(job->queue, &params, &inputs, &outputs, &given, &gradients);
}

static husk_status husk_enqueue(bench_husk_job *job, bench_husk_set *set)
{
    if (is_backward(job->c))
        return enqueue_backward(job, set);
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

// Part of an array of gradients as one weight's.
static husk_ref_array part_of(const bench_array *all, int64_t offset, int32_t rank, int64_t rows, int64_t columns)
{
    char *at = (char *)all->data + offset * (int64_t)husk_dtype_size(all->dtype);
    return husk_ref_array_make(at, all->dtype, rank, (int64_t[]){rows, columns});
}

static void compare(const husk_ref_rnn_backward *op, const husk_ref_rnn_gradient *expected,
                    const husk_ref_array *actual, const char *name, bench_verdict *verdict)
{
    husk_ref_report report = {0};
    if (!actual->data || !expected->values)
        return;
    husk_ref_rnn_gradient_compare(op, expected, NULL, actual, &report);
    bench_verdict_add(verdict, name, &report);
}

static void compare_all(const bench_case *c, const husk_ref_rnn_backward *op, const husk_ref_rnn_gradients *expected,
                        const bench_output *output, bench_verdict *verdict)
{
    const bench_rnn *r = &c->as.rnn;
    const int64_t rows = r->gates * r->hidden;
    const husk_ref_array dx = bench_ref_array(&output->y), dh0 = bench_ref_array(&output->gradients[H0]),
                         dc0 = bench_ref_array(&output->gradients[C0]);
    compare(op, &expected->x, &dx, "dx", verdict);
    compare(op, &expected->h0, &dh0, "dh0", verdict);
    compare(op, &expected->c0, &dc0, "dc0", verdict);
    for (int64_t i = 0; output->gradients[MATRICES].data && i < r->layers * r->directions; i++) {
        int64_t input, hidden, bias;
        place_gradients(r, i, &input, &hidden, &bias);
        const husk_ref_array matrices[2] = {
            part_of(&output->gradients[MATRICES], input, 2, rows, layer_input(r, i / r->directions)),
            part_of(&output->gradients[MATRICES], hidden, 2, rows, r->hidden)};
        compare(op, &expected->weights[i][0], &matrices[0], "input weights' gradient", verdict);
        compare(op, &expected->weights[i][1], &matrices[1], "hidden weights' gradient", verdict);
        if (!output->gradients[BIASES].data)
            continue;
        const husk_ref_array biases[2] = {part_of(&output->gradients[BIASES], bias, 1, rows, 1),
                                          part_of(&output->gradients[BIASES], bias + rows, 1, rows, 1)};
        compare(op, &expected->weights[i][2], &biases[0], "input bias' gradient", verdict);
        compare(op, &expected->weights[i][3], &biases[1], "hidden bias' gradient", verdict);
    }
}

// A contender that goes by a forward pass of its own errs by that as well: so many times the bound.
static void widen(husk_ref_rnn_gradient *gradient, double factor)
{
    int64_t count = gradient->values ? 1 : 0;
    for (int32_t d = 0; d < gradient->rank; d++)
        count *= gradient->shape[d];
    for (int64_t i = 0; i < count; i++)
        gradient->bounds[i] *= factor;
}

static void widen_all(husk_ref_rnn_gradients *expected, double factor)
{
    husk_ref_rnn_gradient *const states[] = {&expected->x, &expected->h0, &expected->c0};
    for (int i = 0; i < 3; i++)
        widen(states[i], factor);
    for (int i = 0; i < HUSK_REF_RNN_MAX_WEIGHTS; i++)
        for (int part = 0; part < 4; part++)
            widen(&expected->weights[i][part], factor);
}

// Which sequence each repeats, and its sign.
static bool find_repeats(const bench_case *c, int64_t **like, double **sign)
{
    const int64_t b = c->as.rnn.b, count = distinct(c);
    const uint64_t seed = sequences_seed(c);
    *like = malloc((size_t)b * sizeof **like);
    *sign = malloc((size_t)b * sizeof **sign);
    for (int64_t i = 0; *like && *sign && i < b; i++) {
        (*like)[i] = like_of(c, seed, count, i);
        (*sign)[i] = (double)sign_of(count, i);
    }
    return *like && *sign;
}

// Of a forward pass with sums of its own, of numbers that are about 1 together: as GEMM's bound, once it is widened.
static double state_error(const bench_case *c)
{
    const bench_rnn *r = &c->as.rnn;
    return 0x1p-24 * sqrt((double)(r->hidden + (r->input > r->hidden ? r->input : r->hidden)));
}

static void verify_backward(const bench_case *c, const bench_data *data, const bench_output *output,
                            const husk_ref_rnn *forward, double widening, bench_verdict *verdict)
{
    const husk_ref_array y = bench_ref_array(&data->saved[SAVED_Y]), dy = bench_ref_array(&data->dy),
                         reserve = bench_ref_array(&data->saved[SAVED_RESERVE]),
                         dh_n = bench_ref_array(&data->saved[SAVED_DH_N]),
                         dc_n = bench_ref_array(&data->saved[SAVED_DC_N]);
    int64_t *like = NULL;
    double *sign = NULL;
    husk_ref_rnn_gradients expected = {0};
    bool is_made = distinct(c) == c->as.rnn.b || find_repeats(c, &like, &sign);
    const husk_ref_rnn_backward op = {.forward = forward,
                                      .y = &y,
                                      .reserve = &reserve,
                                      .dy = &dy,
                                      .dh_n = dh_n.data ? &dh_n : NULL,
                                      .dc_n = dc_n.data ? &dc_n : NULL,
                                      .like = like,
                                      .sign = sign,
                                      .state_error = widening > 0 ? state_error(c) : 0};
    is_made = is_made && husk_ref_rnn_backward_run(&op, &expected);
    if (is_made && widening > 0)
        widen_all(&expected, widening);
    if (!is_made)
        bench_verdict_unchecked(verdict);
    else
        compare_all(c, &op, &expected, output, verdict);
    husk_ref_rnn_gradients_release(&expected);
    free(like);
    free(sign);
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
        .product_factor = options->error_factor,
    };
    if (weight && arrays && is_backward(c)) {
        verify_backward(c, data, output, &op, options->widening, verdict);
    } else {
        y_report.allocation_failed =
            !weight || !arrays ||
            !husk_ref_rnn_check(&op, &y, h_n.data ? &h_n : NULL, c_n.data ? &c_n : NULL, options->seed, &y_report,
                                &state_report);
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
    if (index >= 100)
        return false;
    const bool is_gradient = index >= 60;
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
    .keeps_saved = 1u << SAVED_RESERVE,
    .husk_prepare = husk_prepare,
    .husk_enqueue = husk_enqueue,
    .verify = verify,
    .generate = generate,
};
