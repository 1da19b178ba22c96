// SPDX-License-Identifier: MIT
// oneDNN: the gradients of one recurrent layer in one direction, of cells whose gates lie in our order.
//
// They go by the workspace of a training pass, which runs once, when the program is made: what forward saves is not
// timed, as it is not with our reserve. oneDNN adds to the gradients of weights and biases, so that zeroing them is
// part of a run; so is whatever it takes to bring weights into its layouts, which change with every step of training,
// and their gradients out of them.
#include <string.h>

#include "onednn_rnn.h"

// Places of the case's arrays: bench/cases/rnn.c.
enum { MATRICES, BIASES, DH0, DC0 };
enum { DH_N = 2, DC_N };

const char *onednn_rnn_backward_lacks(const bench_case *c)
{
    const bench_rnn *r = &c->as.rnn;
    return r->layers > 1 || r->directions > 1 ? "gradients of one layer in one direction are compared"
           : r->cell == HUSK_RNN_GRU          ? "a GRU's gates lie in another order, and so would their gradients"
                                              : NULL;
}

// The gradients of one array of weights, as oneDNN makes them and where they go.
typedef struct gradient {
    const onednn_md *own, *plain;
    dnnl_memory_t memory, to;
} gradient;

// What a call that is no primitive works on.
typedef struct range {
    void *to;
    const void *from; // NULL: zeros
    size_t bytes;
} range;

static dnnl_status_t fill_range(const void *context)
{
    const range *r = context;
    if (r->from)
        memcpy(r->to, r->from, r->bytes);
    else
        memset(r->to, 0, r->bytes);
    return dnnl_success;
}

static void add_range(onednn_program *program, onednn_stage stage, void *to, const void *from, size_t bytes)
{
    range *r = malloc(sizeof *r);
    if (!r) {
        onednn_program_check(program, dnnl_out_of_memory, "a copy");
        return;
    }
    *r = (range){to, from, bytes};
    onednn_program_own(program, r, free);
    onednn_program_call(program, stage, fill_range, r);
}

static void add_zeros(onednn_program *program, dnnl_memory_t memory, const onednn_md *md)
{
    void *data = NULL;
    if (!onednn_program_ok(program))
        return;
    onednn_program_check(program, dnnl.memory_get_data_handle(memory, &data), "memory of a gradient");
    if (onednn_program_ok(program))
        add_range(program, ONEDNN_RUN, data, NULL, dnnl.memory_desc_get_size(md));
}

// A state, or a gradient of one. Where the case has none it is zeros or goes nowhere: without initial states oneDNN 2.6
// makes wrong gradients of the hidden weights for some sizes.
static dnnl_memory_t make_state(onednn_program *program, const onednn_md *md, bool is_there, float *given)
{
    void *data = NULL;
    dnnl_memory_t memory = is_there ? onednn_program_memory(program, md, given) : NULL;
    if (memory && !given && dnnl.memory_get_data_handle(memory, &data) == dnnl_success)
        memset(data, 0, dnnl.memory_desc_get_size(md));
    return memory;
}

// In our layout at once where oneDNN's is the same.
static gradient make_gradient(onednn_program *program, const onednn_md *own, const onednn_md *plain, float *to)
{
    gradient g = {.own = own, .plain = plain, .to = onednn_program_memory(program, plain, to)};
    const bool is_same = onednn_program_ok(program) && dnnl.memory_desc_equal(own, plain);
    g.memory = is_same ? g.to : onednn_program_memory(program, own, NULL);
    return g;
}

static const onednn_md *plain_weights(onednn_program *program, const bench_rnn *r, int64_t inputs)
{
    const int64_t g = r->gates, h = r->hidden;
    const int64_t dims[5] = {1, 1, inputs, g, h}, ldgoi[5] = {g * h * inputs, g * h * inputs, 1, h * inputs, inputs};
    return onednn_program_md(program, 5, dims, ldgoi);
}

static const onednn_md *own_weights(onednn_program *program, const bench_rnn *r, int64_t inputs, unsigned flags)
{
    const int64_t dims[5] = {1, 1, inputs, r->gates, r->hidden};
    return flags & ONEDNN_RNN_OWN_WEIGHTS ? onednn_program_md_any(program, 5, dims)
                                          : onednn_program_md_packed(program, 5, dims);
}

static dnnl_status_t make_pds(const onednn_program *program, const bench_rnn *r, const onednn_rnn_mds *mds,
                              dnnl_primitive_desc_t *forward, dnnl_primitive_desc_t *backward)
{
    const dnnl_engine_t engine = program->session->engine;
    const dnnl_rnn_direction_t direction = dnnl_unidirectional_left2right;
    const dnnl_prop_kind_t prop = dnnl_forward_training;
    const dnnl_alg_kind_t kind = r->cell == HUSK_RNN_RELU ? dnnl_eltwise_relu : dnnl_eltwise_tanh;
    const bool is_lstm = r->cell == HUSK_RNN_LSTM;
    dnnl_status_t made = is_lstm ? onednn_lstm(forward, engine, prop, direction, mds, NULL)
                                 : onednn_vanilla_rnn(forward, engine, prop, kind, direction, mds, NULL);
    if (made != dnnl_success)
        return made;
    made = is_lstm ? onednn_lstm_backward(backward, engine, direction, mds, *forward)
                   : onednn_vanilla_rnn_backward(backward, engine, kind, direction, mds, *forward);
    if (made != dnnl_success)
        dnnl.primitive_desc_destroy(*forward);
    return made;
}

void onednn_rnn_backward_build(onednn_program *program, const bench_case *c, const onednn_operands *operands,
                               unsigned flags)
{
    const bench_rnn *r = &c->as.rnn;
    const int64_t x_dims[3] = {r->t, r->b, r->input}, y_dims[3] = {r->t, r->b, r->hidden};
    const int64_t bias_dims[4] = {1, 1, r->gates, r->hidden}, rows = r->gates * r->hidden;
    const onednn_md *x_md = onednn_program_md_packed(program, 3, x_dims);
    const onednn_md *y_md = onednn_program_md_packed(program, 3, y_dims);
    const onednn_md *bias_md = onednn_program_md_packed(program, 4, bias_dims);
    const onednn_md *plain_input = plain_weights(program, r, r->input);
    const onednn_md *plain_hidden = plain_weights(program, r, r->hidden);
    const bool is_lstm = r->cell == HUSK_RNN_LSTM;
    const onednn_md *state_md = onednn_program_md_packed(program, 4, (const int64_t[4]){1, 1, r->b, r->hidden});
    const onednn_rnn_mds mds = {.src = x_md,
                                .src_iter = state_md,
                                .src_iter_c = is_lstm ? state_md : NULL,
                                .dst_iter = state_md,
                                .dst_iter_c = is_lstm ? state_md : NULL,
                                .weights = own_weights(program, r, r->input, flags),
                                .weights_iter = own_weights(program, r, r->hidden, flags),
                                .bias = bias_md,
                                .dst = y_md};
    if (!onednn_program_ok(program))
        return;
    dnnl_primitive_desc_t forward = NULL, backward = NULL;
    const dnnl_status_t made = make_pds(program, r, &mds, &forward, &backward);
    onednn_program_check(program, made, "rnn, training");
    if (made != dnnl_success)
        return;
    onednn_program_pd(program, dnnl_success, forward, "rnn, training");
    onednn_program_pd(program, dnnl_success, backward, "rnn, backward");
    dnnl_memory_t x = onednn_program_memory(program, x_md, operands->x);
    dnnl_memory_t input = onednn_program_memory(program, plain_input, operands->input_weights);
    dnnl_memory_t hidden = onednn_program_memory(program, plain_hidden, operands->hidden_weights);
    dnnl_memory_t bias = onednn_program_memory(program, bias_md, operands->gate_bias);
    dnnl_memory_t y = onednn_program_memory(program, y_md, NULL);
    dnnl_memory_t workspace = onednn_program_memory(
        program, onednn_program_query(program, forward, dnnl_query_workspace_md, 0), NULL);
#define STATE(is_there, given) make_state(program, state_md, is_there, given)
    const dnnl_memory_t h0 = STATE(true, operands->h0), c0 = STATE(is_lstm, operands->c0);
    const dnnl_memory_t h_n = STATE(true, NULL), c_n = STATE(is_lstm, NULL);
    const dnnl_memory_t dh0 = STATE(true, operands->gradients[DH0]), dc0 = STATE(is_lstm, operands->gradients[DC0]);
    const dnnl_memory_t dh_n = STATE(true, operands->saved[DH_N]), dc_n = STATE(is_lstm, operands->saved[DC_N]);
#undef STATE
#define OWN(pd, what, index) onednn_program_query(program, pd, what, index)
#define WEIGHTS(stage, pd, index, plain, memory) \
    onednn_program_input(program, stage, plain, memory, OWN(pd, dnnl_query_weights_md, index))
    const dnnl_exec_arg_t training[] = {
        {DNNL_ARG_SRC_LAYER, x},
        {DNNL_ARG_SRC_ITER, h0},
        {DNNL_ARG_SRC_ITER_C, c0},
        {DNNL_ARG_DST_ITER, h_n},
        {DNNL_ARG_DST_ITER_C, c_n},
        {DNNL_ARG_WEIGHTS_LAYER, WEIGHTS(ONEDNN_SETUP, forward, 0, plain_input, input)},
        {DNNL_ARG_WEIGHTS_ITER, WEIGHTS(ONEDNN_SETUP, forward, 1, plain_hidden, hidden)},
        {DNNL_ARG_BIAS, bias},
        {DNNL_ARG_DST_LAYER, y},
        {DNNL_ARG_WORKSPACE, workspace}};
    onednn_program_step(program, ONEDNN_SETUP, forward, 10, training);

    // The gates and states of its own training pass are not those of the reserve that the reference goes by.
    program->error_factor = 4;
    float *matrices = operands->gradients[MATRICES], *biases = operands->gradients[BIASES];
    const gradient d_input =
        make_gradient(program, OWN(backward, dnnl_query_diff_weights_md, 0), plain_input, matrices);
    const gradient d_hidden = make_gradient(program, OWN(backward, dnnl_query_diff_weights_md, 1), plain_hidden,
                                            matrices + rows * r->input);
    dnnl_memory_t d_bias = onednn_program_memory(program, bias_md, biases);
    const dnnl_exec_arg_t arguments[] = {
        {DNNL_ARG_SRC_LAYER, x},
        {DNNL_ARG_SRC_ITER, h0},
        {DNNL_ARG_SRC_ITER_C, c0},
        {DNNL_ARG_DST_ITER, h_n},
        {DNNL_ARG_DST_ITER_C, c_n},
        {DNNL_ARG_WEIGHTS_LAYER, WEIGHTS(ONEDNN_RUN, backward, 0, plain_input, input)},
        {DNNL_ARG_WEIGHTS_ITER, WEIGHTS(ONEDNN_RUN, backward, 1, plain_hidden, hidden)},
        {DNNL_ARG_BIAS, bias},
        {DNNL_ARG_DST_LAYER, y},
        {DNNL_ARG_WORKSPACE, workspace},
        {DNNL_ARG_DIFF_DST_LAYER, onednn_program_memory(program, y_md, operands->dy)},
        {DNNL_ARG_DIFF_SRC_LAYER, onednn_program_memory(program, x_md, operands->y)},
        {DNNL_ARG_DIFF_WEIGHTS_LAYER, d_input.memory},
        {DNNL_ARG_DIFF_WEIGHTS_ITER, d_hidden.memory},
        {DNNL_ARG_DIFF_BIAS, d_bias},
        {DNNL_ARG_DIFF_SRC_ITER, dh0},
        {DNNL_ARG_DIFF_SRC_ITER_C, dc0},
        {DNNL_ARG_DIFF_DST_ITER, dh_n},
        {DNNL_ARG_DIFF_DST_ITER_C, dc_n}};
#undef WEIGHTS
#undef OWN
    add_zeros(program, d_input.memory, d_input.own);
    add_zeros(program, d_hidden.memory, d_hidden.own);
    add_zeros(program, d_bias, bias_md);
    onednn_program_step(program, ONEDNN_RUN, backward, 19, arguments);
    const gradient *const gradients[] = {&d_input, &d_hidden};
    for (int i = 0; i < 2; i++)
        if (gradients[i]->memory != gradients[i]->to)
            onednn_program_reorder(program, ONEDNN_RUN, gradients[i]->own, gradients[i]->memory, gradients[i]->plain,
                                   gradients[i]->to);
    if (biases && onednn_program_ok(program)) // our two biases have the same gradient
        add_range(program, ONEDNN_READ, biases + rows, biases, (size_t)rows * sizeof(float));
}
