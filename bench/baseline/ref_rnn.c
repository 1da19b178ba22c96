// SPDX-License-Identifier: MIT
// The runner ref: rnn.
#include "ref/rnn/rnn.h"

#include "baseline/ref_op.h"

// Every layer's weights as the reference sees them.
static bool make_weights(bench_ref_state *s)
{
    const bench_rnn *r = &s->c.as.rnn;
    const size_t cells = (size_t)(r->layers * r->directions);
    husk_ref_array *arrays = calloc(cells * 4, sizeof *arrays);
    husk_ref_rnn_weights *weights = calloc(cells, sizeof *weights);
    s->extra[0] = weights;
    s->extra[1] = arrays;
    if (!arrays || !weights)
        return false;
    for (size_t i = 0; i < cells; i++) {
        const bench_rnn_weights *from = &s->data->layers[i];
        husk_ref_array *to = arrays + 4 * i;
        weights[i] = (husk_ref_rnn_weights){to, to + 1, to + 2, to + 3};
        to[0] = bench_ref_array(&from->input);
        to[1] = bench_ref_array(&from->hidden);
        to[2] = bench_ref_optional(&from->input_bias, &weights[i].input_bias);
        to[3] = bench_ref_optional(&from->hidden_bias, &weights[i].hidden_bias);
    }
    return true;
}

static bool prepare(bench_ref_state *s)
{
    const bench_rnn *r = &s->c.as.rnn;
    const int64_t shape[3] = {r->layers * r->directions, r->b, r->hidden};
    return make_weights(s) && bench_ref_make_output(&s->h_n, HUSK_F32, 3, shape, NULL) &&
           (r->cell != HUSK_RNN_LSTM || bench_ref_make_output(&s->c_n, HUSK_F32, 3, shape, NULL));
}

static bool run(const bench_ref_state *s, const husk_ref_array *y)
{
    const bench_rnn *r = &s->c.as.rnn;
    const husk_rnn_params params =
        HUSK_RNN_PARAMS(.cell = (husk_rnn_cell)r->cell, .hidden_size = r->hidden, .layers = r->layers,
                        .bidirectional = (uint32_t)r->bidir, .reset = (husk_gru_reset)r->reset);
    husk_ref_array x = bench_ref_array(&s->data->x), lengths, h0, c0, h_n, c_n;
    const husk_ref_array *lengths_there = &lengths, *h0_there = &h0, *c0_there = &c0, *h_n_there = &h_n,
                         *c_n_there = &c_n;
    lengths = bench_ref_optional(&s->data->lengths, &lengths_there);
    h0 = bench_ref_optional(&s->data->h0, &h0_there);
    c0 = bench_ref_optional(&s->data->c0, &c0_there);
    h_n = bench_ref_optional(&s->h_n, &h_n_there);
    c_n = bench_ref_optional(&s->c_n, &c_n_there);
    const husk_ref_rnn op = {
        .params = &params, .x = &x, .lengths = lengths_there, .h0 = h0_there, .c0 = c0_there, .weights = s->extra[0]};
    return husk_ref_rnn_run(&op, y, h_n_there, c_n_there);
}

extern const bench_ref_op bench_ref_op_rnn;
const bench_ref_op bench_ref_op_rnn = {.prepare = prepare, .run = run};
