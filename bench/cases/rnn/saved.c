// SPDX-License-Identifier: MIT
// What forward has saved, in f32 on the host.
#include "cases/rnn/saved.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cases/array.h"
#include "cases/rnn/sequences.h"
#include "cases/rnn/shape.h"
#include "ref/rnn/rnn.h"

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

// All steps of one layer in one direction, of sequences that repeat no other; input and output are rows [t, b].
static void host_layer(const bench_case *c, const bench_data *data, int64_t index, const float *input, float *output,
                       float *kept, float *work)
{
    const bench_rnn *r = &c->as.rnn;
    const husk_rnn_params params = bench_rnn_params(c, NULL);
    const int64_t direction = index % r->directions, h = r->hidden, row = husk_ref_rnn_kept(&params) * h;
    host_step s = {.r = r, .w = &data->layers[index], .work = work};
    s.features = bench_rnn_layer_input(r, index / r->directions);
    memset(work + h, 0, (size_t)h * sizeof *work);
    const uint64_t seed = bench_rnn_sequences_seed(c);
    const int64_t count = bench_rnn_distinct(c);
    for (int64_t b = 0; b < count; b++) {
        const int64_t length = bench_rnn_length(c, seed, count, b), state = (index * r->b + b) * h;
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
    bench_rnn_repeat_rows(c, kept, r->t, row, false);
}

bool bench_rnn_make_saved(const bench_case *c, bench_data *data, uint64_t seed)
{
    const bench_rnn *r = &c->as.rnn;
    const husk_rnn_params params = bench_rnn_params(c, NULL);
    const husk_tensor x = husk_tensor_make(NULL, HUSK_F32, 3, data->x.shape);
    const int64_t count = husk_rnn_reserve_size(&params, &x), state[3] = {data->layer_count, r->b, r->hidden};
    bench_array *y = &data->saved[BENCH_RNN_SAVED_Y], *reserve = &data->saved[BENCH_RNN_SAVED_RESERVE];
    if (count < 0 || !bench_array_make(y, HUSK_F32, 3, data->dy.shape, NULL) ||
        !bench_array_make(reserve, HUSK_F32, 1, &count, NULL) ||
        (r->state && !bench_array_make(&data->saved[BENCH_RNN_SAVED_DH_N], HUSK_F32, 3, state, NULL)) ||
        (data->c0.data && !bench_array_make(&data->saved[BENCH_RNN_SAVED_DC_N], HUSK_F32, 3, state, NULL)))
        return false;
    for (int i = BENCH_RNN_SAVED_DH_N; i <= BENCH_RNN_SAVED_DC_N; i++)
        if (data->saved[i].data)
            bench_array_fill(&data->saved[i], seed + (uint64_t)i, 1);
    for (int i = BENCH_RNN_SAVED_DH_N; i <= BENCH_RNN_SAVED_DC_N; i++)
        bench_rnn_repeat_rows(c, data->saved[i].data, data->layer_count, r->hidden, true);
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
        bench_rnn_repeat_rows(c, output, r->t, r->directions * r->hidden, false);
        input = output;
    }
    free(work);
    return true;
}
