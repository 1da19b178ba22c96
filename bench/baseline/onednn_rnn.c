// SPDX-License-Identifier: MIT
// oneDNN: recurrent layers. A primitive is one layer in one or both directions, or several equal layers.
//
// oneDNN's weights are [layers, directions, inputs, gates, hidden]; ours, [gates * hidden, inputs] a layer
// and direction, are the same numbers in its layout ldgoi. A GRU's gates come as z, r, n there, as r, z, n
// here; oneDNN has one bias, the sum of our two, save that the GRU which resets after the product keeps the
// hidden bias of n apart. Reordering gates and adding biases is done once, untimed; bringing the weights into
// a layout that oneDNN multiplies with is part of a run where the case has them plain.
#include <stdio.h>
#include <string.h>

#include "baseline/onednn_rnn_backward.h"

enum { OWN_WEIGHTS = ONEDNN_RNN_OWN_WEIGHTS, ALL_LAYERS = ONEDNN_RNN_ALL_LAYERS, TWO_STEPS = ONEDNN_RNN_TWO_STEPS };

static bool reset_after(const bench_rnn *r)
{
    return r->cell == HUSK_RNN_GRU && r->reset == HUSK_GRU_RESET_AFTER;
}

static int64_t bias_rows(const bench_rnn *r)
{
    return r->gates + reset_after(r);
}

static int64_t layer_inputs(const bench_rnn *r, int64_t layer)
{
    return layer == 0 ? r->input : r->directions * r->hidden;
}

static bool supports(const bench_case *c, char reason[BENCH_REASON_TEXT])
{
    const bench_rnn *r = &c->as.rnn;
    const char *lack = r->lengths                                 ? "sequences of different length"
                       : !(r->t && r->b && r->input && r->hidden) ? "empty tensors"
                       : c->dir != BENCH_FWD                      ? onednn_rnn_backward_lacks(c)
                                                                  : NULL;
    if (lack)
        snprintf(reason, BENCH_REASON_TEXT, "%s", lack);
    return !lack;
}

// Elements of the input weights before a layer's.
static int64_t input_offset(const bench_rnn *r, int64_t layer)
{
    int64_t offset = 0;
    for (int64_t l = 0; l < layer; l++)
        offset += r->directions * r->gates * r->hidden * layer_inputs(r, l);
    return offset;
}

static int64_t our_gate(const bench_rnn *r, int64_t gate)
{
    return r->cell == HUSK_RNN_GRU && gate < 2 ? 1 - gate : gate;
}

static void copy_bias(const bench_rnn *r, const bench_rnn_weights *w, float *to)
{
    const float *input = w->input_bias.data, *hidden = w->hidden_bias.data;
    for (int64_t gate = 0; gate < bias_rows(r); gate++) {
        const bool separate = reset_after(r) && gate >= 2; // 2: input bias of n, 3: its hidden bias
        const int64_t from = (gate < r->gates ? our_gate(r, gate) : 2) * r->hidden;
        for (int64_t i = 0; i < r->hidden; i++) {
            const float b = input && !(separate && gate == 3) ? input[from + i] : 0;
            const float d = hidden && !(separate && gate == 2) ? hidden[from + i] : 0;
            to[gate * r->hidden + i] = b + d;
        }
    }
}

static bool make_operands(const bench_case *c, onednn_operands *operands)
{
    const bench_rnn *r = &c->as.rnn;
    const int64_t cells = r->layers * r->directions, rows = r->gates * r->hidden;
    operands->input_weights = malloc((size_t)input_offset(r, r->layers) * sizeof(float));
    operands->hidden_weights = malloc((size_t)(cells * rows * r->hidden) * sizeof(float));
    operands->gate_bias = malloc((size_t)(cells * bias_rows(r) * r->hidden) * sizeof(float));
    operands->h_n = malloc((size_t)(cells * r->b * r->hidden) * sizeof(float));
    operands->c_n = r->cell == HUSK_RNN_LSTM ? malloc((size_t)(cells * r->b * r->hidden) * sizeof(float)) : NULL;
    if (!operands->input_weights || !operands->hidden_weights || !operands->gate_bias || !operands->h_n ||
        (r->cell == HUSK_RNN_LSTM && !operands->c_n))
        return false;
    for (int64_t cell = 0; cell < cells; cell++) {
        const bench_rnn_weights *w = &operands->data->layers[cell];
        const int64_t layer = cell / r->directions, inputs = layer_inputs(r, layer);
        float *input = operands->input_weights + input_offset(r, layer) + cell % r->directions * rows * inputs;
        float *hidden = operands->hidden_weights + cell * rows * r->hidden;
        for (int64_t gate = 0; gate < r->gates; gate++) {
            const int64_t to = gate * r->hidden, from = our_gate(r, gate) * r->hidden;
            memcpy(input + to * inputs, (const float *)w->input.data + from * inputs,
                   (size_t)(r->hidden * inputs) * sizeof(float));
            memcpy(hidden + to * r->hidden, (const float *)w->hidden.data + from * r->hidden,
                   (size_t)(r->hidden * r->hidden) * sizeof(float));
        }
        copy_bias(r, w, operands->gate_bias + cell * bias_rows(r) * r->hidden);
    }
    return true;
}

static bool applies(const bench_case *c, unsigned flags)
{
    const bench_rnn *r = &c->as.rnn;
    if (c->dir != BENCH_FWD && flags & TWO_STEPS)
        return false;
    if (flags & ALL_LAYERS)
        return r->layers > 1 && r->directions == 1 && r->input == r->hidden;
    return true;
}

// Layers first to first + count, from one memory to another.
typedef struct span {
    int64_t first, count;
    const onednn_md *x_md, *y_md;
    dnnl_memory_t x, y;
} span;

typedef struct weights {
    int64_t dims[5];
    const onednn_md *plain; /* ldgoi: as the user has them */
    const onednn_md *own;   /* what the primitive was asked for */
    dnnl_memory_t memory;
} weights;

static weights describe_weights(onednn_program *program, const bench_rnn *r, int64_t layers, int64_t inputs,
                                float *data, unsigned flags)
{
    const int64_t g = r->gates, h = r->hidden, d = r->directions;
    weights w = {.dims = {layers, d, inputs, g, h}};
    const int64_t ldgoi[5] = {d * g * h * inputs, g * h * inputs, 1, h * inputs, inputs};
    w.plain = onednn_program_md(program, 5, w.dims, ldgoi);
    w.own =
        flags & OWN_WEIGHTS ? onednn_program_md_any(program, 5, w.dims) : onednn_program_md_packed(program, 5, w.dims);
    w.memory = onednn_program_memory(program, w.plain, data);
    return w;
}

// Packed weights may have to be made from the layout ldigo.
static dnnl_memory_t packed_weights(onednn_program *program, onednn_stage stage, const weights *w, const onednn_md *to,
                                    unsigned flags)
{
    if (!(flags & TWO_STEPS))
        return onednn_program_input(program, stage, w->plain, w->memory, to);
    const onednn_md *between = onednn_program_md_packed(program, 5, w->dims);
    dnnl_memory_t memory = onednn_program_input(program, stage, w->plain, w->memory, between);
    return onednn_program_input(program, stage, between, memory, to);
}

static dnnl_status_t make_pd(dnnl_primitive_desc_t *pd, dnnl_engine_t engine, const bench_rnn *r,
                             const onednn_rnn_mds *mds, const_dnnl_primitive_attr_t attr)
{
    const dnnl_rnn_direction_t direction =
        r->directions == 2 ? dnnl_bidirectional_concat : dnnl_unidirectional_left2right;
    switch (r->cell) {
    case HUSK_RNN_LSTM:
        return onednn_lstm(pd, engine, dnnl_forward_inference, direction, mds, attr);
    case HUSK_RNN_GRU:
        return onednn_gru(pd, engine, reset_after(r), direction, mds, attr);
    case HUSK_RNN_RELU:
        return onednn_vanilla_rnn(pd, engine, dnnl_forward_inference, dnnl_eltwise_relu, direction, mds, attr);
    default:
        return onednn_vanilla_rnn(pd, engine, dnnl_forward_inference, dnnl_eltwise_tanh, direction, mds, attr);
    }
}

static dnnl_memory_t state_memory(onednn_program *program, const onednn_md *md, float *states, int64_t offset)
{
    return states ? onednn_program_memory(program, md, states + offset) : NULL;
}

static void add_span(onednn_program *program, const bench_case *c, const onednn_operands *operands, const span *s,
                     unsigned flags)
{
    const bench_rnn *r = &c->as.rnn;
    const int64_t cells = s->first * r->directions, state = cells * r->b * r->hidden;
    const int64_t state_dims[4] = {s->count, r->directions, r->b, r->hidden};
    const int64_t bias_dims[4] = {s->count, r->directions, bias_rows(r), r->hidden};
    const int64_t rows = r->gates * r->hidden;
    weights input = describe_weights(program, r, s->count, layer_inputs(r, s->first),
                                     operands->input_weights + input_offset(r, s->first), flags);
    weights hidden =
        describe_weights(program, r, s->count, r->hidden, operands->hidden_weights + cells * rows * r->hidden, flags);
    const onednn_md *state_md = onednn_program_md_packed(program, 4, state_dims);
    const onednn_md *bias_md = onednn_program_md_packed(program, 4, bias_dims);
    dnnl_memory_t bias =
        onednn_program_memory(program, bias_md, operands->gate_bias + cells * bias_rows(r) * r->hidden);
    const onednn_epilogue none = {.alpha = 1, .precision = c->precision};
    const_dnnl_primitive_attr_t attr = onednn_program_attr(program, &none);
    if (!onednn_program_ok(program))
        return;

    const bool lstm = r->cell == HUSK_RNN_LSTM;
    const onednn_rnn_mds mds = {
        .src = s->x_md,
        .weights = input.own,
        .weights_iter = hidden.own,
        .bias = bias_md,
        .dst = s->y_md,
        .src_iter = operands->h0 ? state_md : NULL,
        .src_iter_c = operands->c0 ? state_md : NULL,
        .dst_iter = state_md,
        .dst_iter_c = lstm ? state_md : NULL,
    };
    dnnl_primitive_desc_t pd = NULL;
    const dnnl_status_t made = make_pd(&pd, program->session->engine, r, &mds, attr);
    onednn_program_pd(program, made, pd, "rnn");
    const onednn_md *own_input = onednn_program_query(program, pd, dnnl_query_weights_md, 0);
    const onednn_md *own_hidden = onednn_program_query(program, pd, dnnl_query_weights_md, 1);
    const onednn_stage packing = onednn_packing_stage(c);
    dnnl_exec_arg_t arguments[] = {
        {DNNL_ARG_SRC_LAYER, s->x},
        {DNNL_ARG_SRC_ITER, state_memory(program, state_md, operands->h0, state)},
        {DNNL_ARG_SRC_ITER_C, state_memory(program, state_md, operands->c0, state)},
        {DNNL_ARG_WEIGHTS_LAYER, packed_weights(program, packing, &input, own_input, flags)},
        {DNNL_ARG_WEIGHTS_ITER, packed_weights(program, packing, &hidden, own_hidden, flags)},
        {DNNL_ARG_BIAS, bias},
        {DNNL_ARG_DST_LAYER, s->y},
        {DNNL_ARG_DST_ITER, state_memory(program, state_md, operands->h_n, state)},
        {DNNL_ARG_DST_ITER_C, state_memory(program, state_md, operands->c_n, state)},
    };
    onednn_program_step(program, ONEDNN_RUN, pd, (int)(sizeof arguments / sizeof *arguments), arguments);
}

static void build(onednn_program *program, const bench_case *c, const onednn_operands *operands, unsigned flags)
{
    if (c->dir != BENCH_FWD) {
        onednn_rnn_backward_build(program, c, operands, flags);
        return;
    }
    const bench_rnn *r = &c->as.rnn;
    const int64_t x_dims[3] = {r->t, r->b, r->input}, y_dims[3] = {r->t, r->b, r->directions * r->hidden};
    const onednn_md *x_md = onednn_program_md_packed(program, 3, x_dims);
    const onednn_md *y_md = onednn_program_md_packed(program, 3, y_dims);
    dnnl_memory_t x = onednn_program_memory(program, x_md, operands->x);
    dnnl_memory_t y = onednn_program_memory(program, y_md, operands->y);
    const int64_t step = flags & ALL_LAYERS ? r->layers : 1;
    for (int64_t first = 0; first < r->layers; first += step) {
        const bool last = first + step == r->layers;
        span s = {first, step, x_md, y_md, x, last ? y : onednn_program_memory(program, y_md, NULL)};
        add_span(program, c, operands, &s, flags);
        x_md = y_md;
        x = s.y;
    }
}

static const onednn_way ways[] = {
    {"rnn, plain weights", "auto", 0, applies, build},
    {"rnn, own weights", "auto", OWN_WEIGHTS, applies, build},
    {"rnn, own weights by way of plain", "auto", OWN_WEIGHTS | TWO_STEPS, applies, build},
    {"rnn, all layers, plain weights", "auto", ALL_LAYERS, applies, build},
    {"rnn, all layers, own weights", "auto", ALL_LAYERS | OWN_WEIGHTS, applies, build},
    {"rnn, all layers, own weights by way of plain", "auto", ALL_LAYERS | OWN_WEIGHTS | TWO_STEPS, applies, build},
    {.name = NULL},
};

extern const onednn_op onednn_op_rnn;
const onednn_op onednn_op_rnn = {.ways = ways,
                                 .has_backward = true,
                                 .reference_is_fast = true,
                                 .supports = supports,
                                 .make_operands = make_operands};
