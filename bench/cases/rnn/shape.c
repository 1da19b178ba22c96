// SPDX-License-Identifier: MIT
#include "cases/rnn/shape.h"

int64_t bench_rnn_layer_input(const bench_rnn *r, int64_t layer)
{
    return layer ? r->directions * r->hidden : r->input;
}

double bench_rnn_weight_count(const bench_rnn *r)
{
    const double first = (double)(bench_rnn_layer_input(r, 0) + r->hidden),
                 other = (double)(bench_rnn_layer_input(r, 1) + r->hidden);
    return (first + (double)(r->layers - 1) * other) * (double)(r->gates * r->hidden * r->directions);
}

husk_rnn_params bench_rnn_params(const bench_case *c, const char *variant)
{
    const bench_rnn *r = &c->as.rnn;
    return HUSK_RNN_PARAMS(.cell = (husk_rnn_cell)r->cell, .hidden_size = r->hidden, .layers = r->layers,
                           .bidirectional = (uint32_t)r->bidir, .reset = (husk_gru_reset)r->reset,
                           .precision = c->precision, .variant = variant);
}

void bench_rnn_place_gradients(const bench_rnn *r, int64_t index, int64_t *input, int64_t *hidden, int64_t *bias)
{
    const int64_t rows = r->gates * r->hidden;
    *input = 0;
    for (int64_t i = 0; i < index; i++)
        *input += rows * (bench_rnn_layer_input(r, i / r->directions) + r->hidden);
    *hidden = *input + rows * bench_rnn_layer_input(r, index / r->directions);
    *bias = 2 * index * rows;
}
