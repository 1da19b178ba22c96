// SPDX-License-Identifier: MIT
// oneDNN: the gradients of one recurrent layer in one direction, of cells whose gates lie in our order.
//
// They go by the workspace of a training pass, which runs once, when the program is made: what forward saves is not
// timed, as it is not with our reserve. oneDNN adds to the gradients of weights and biases, so that zeroing them is
// part of a run; so is whatever it takes to bring weights into its layouts, which change with every step of training,
// and their gradients out of them.
#include "baseline/onednn_rnn_backward.h"

#include <string.h>

// Places of the case's arrays: bench/cases/rnn/shape.h.
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

// All that the two passes work on.
typedef struct passes {
    const bench_rnn *r;
    bool is_lstm;
    dnnl_primitive_desc_t forward, backward;
    const onednn_md *x_md, *y_md, *bias_md, *state_md, *plain_input, *plain_hidden;
    dnnl_memory_t x, input, hidden, bias, y, workspace, h0, c0, h_n, c_n;
    gradient d_input, d_hidden;
    dnnl_memory_t d_bias;
} passes;

// The descriptors of tensors and of both passes.
static bool describe(onednn_program *program, const bench_rnn *r, unsigned flags, passes *p)
{
    const int64_t x_dims[3] = {r->t, r->b, r->input}, y_dims[3] = {r->t, r->b, r->hidden};
    const int64_t bias_dims[4] = {1, 1, r->gates, r->hidden}, state_dims[4] = {1, 1, r->b, r->hidden};
    *p = (passes){.r = r, .is_lstm = r->cell == HUSK_RNN_LSTM};
    p->x_md = onednn_program_md_packed(program, 3, x_dims);
    p->y_md = onednn_program_md_packed(program, 3, y_dims);
    p->bias_md = onednn_program_md_packed(program, 4, bias_dims);
    p->state_md = onednn_program_md_packed(program, 4, state_dims);
    p->plain_input = plain_weights(program, r, r->input);
    p->plain_hidden = plain_weights(program, r, r->hidden);
    const onednn_rnn_mds mds = {.src = p->x_md,
                                .src_iter = p->state_md,
                                .src_iter_c = p->is_lstm ? p->state_md : NULL,
                                .dst_iter = p->state_md,
                                .dst_iter_c = p->is_lstm ? p->state_md : NULL,
                                .weights = own_weights(program, r, r->input, flags),
                                .weights_iter = own_weights(program, r, r->hidden, flags),
                                .bias = p->bias_md,
                                .dst = p->y_md};
    if (!onednn_program_ok(program))
        return false;
    const dnnl_status_t made = make_pds(program, r, &mds, &p->forward, &p->backward);
    onednn_program_check(program, made, "rnn, training");
    if (made != dnnl_success)
        return false;
    onednn_program_pd(program, dnnl_success, p->forward, "rnn, training");
    onednn_program_pd(program, dnnl_success, p->backward, "rnn, backward");
    return onednn_program_ok(program);
}

// What both passes read, and what the first leaves for the second.
static void make_memory(onednn_program *program, const onednn_operands *operands, passes *p)
{
    p->x = onednn_program_memory(program, p->x_md, operands->x);
    p->input = onednn_program_memory(program, p->plain_input, operands->input_weights);
    p->hidden = onednn_program_memory(program, p->plain_hidden, operands->hidden_weights);
    p->bias = onednn_program_memory(program, p->bias_md, operands->gate_bias);
    p->y = onednn_program_memory(program, p->y_md, NULL);
    p->workspace =
        onednn_program_memory(program, onednn_program_query(program, p->forward, dnnl_query_workspace_md, 0), NULL);
    p->h0 = make_state(program, p->state_md, true, operands->h0);
    p->c0 = make_state(program, p->state_md, p->is_lstm, operands->c0);
    p->h_n = make_state(program, p->state_md, true, NULL);
    p->c_n = make_state(program, p->state_md, p->is_lstm, NULL);
}

// Weights in the layout that a pass wants, brought there in this stage.
static dnnl_memory_t weights_for(onednn_program *program, onednn_stage stage, dnnl_primitive_desc_t pd, int index,
                                 const onednn_md *plain, dnnl_memory_t memory)
{
    return onednn_program_input(program, stage, plain, memory,
                                onednn_program_query(program, pd, dnnl_query_weights_md, index));
}

static void add_training(onednn_program *program, const passes *p)
{
    const dnnl_exec_arg_t arguments[] = {
        {DNNL_ARG_SRC_LAYER, p->x},
        {DNNL_ARG_SRC_ITER, p->h0},
        {DNNL_ARG_SRC_ITER_C, p->c0},
        {DNNL_ARG_DST_ITER, p->h_n},
        {DNNL_ARG_DST_ITER_C, p->c_n},
        {DNNL_ARG_WEIGHTS_LAYER, weights_for(program, ONEDNN_SETUP, p->forward, 0, p->plain_input, p->input)},
        {DNNL_ARG_WEIGHTS_ITER, weights_for(program, ONEDNN_SETUP, p->forward, 1, p->plain_hidden, p->hidden)},
        {DNNL_ARG_BIAS, p->bias},
        {DNNL_ARG_DST_LAYER, p->y},
        {DNNL_ARG_WORKSPACE, p->workspace}};
    onednn_program_step(program, ONEDNN_SETUP, p->forward, 10, arguments);
}

// Where the gradients of weights and biases are made, which is zeroed in every run.
static void make_gradients(onednn_program *program, const onednn_operands *operands, passes *p)
{
    float *matrices = operands->gradients[MATRICES];
    const int64_t input_count = p->r->gates * p->r->hidden * p->r->input;
    p->d_input = make_gradient(program, onednn_program_query(program, p->backward, dnnl_query_diff_weights_md, 0),
                               p->plain_input, matrices);
    p->d_hidden = make_gradient(program, onednn_program_query(program, p->backward, dnnl_query_diff_weights_md, 1),
                                p->plain_hidden, matrices + input_count);
    p->d_bias = onednn_program_memory(program, p->bias_md, operands->gradients[BIASES]);
    add_zeros(program, p->d_input.memory, p->d_input.own);
    add_zeros(program, p->d_hidden.memory, p->d_hidden.own);
    add_zeros(program, p->d_bias, p->bias_md);
}

static void add_backward(onednn_program *program, const onednn_operands *operands, const passes *p)
{
    const onednn_md *state = p->state_md;
    const dnnl_exec_arg_t arguments[] = {
        {DNNL_ARG_SRC_LAYER, p->x},
        {DNNL_ARG_SRC_ITER, p->h0},
        {DNNL_ARG_SRC_ITER_C, p->c0},
        {DNNL_ARG_DST_ITER, p->h_n},
        {DNNL_ARG_DST_ITER_C, p->c_n},
        {DNNL_ARG_WEIGHTS_LAYER, weights_for(program, ONEDNN_RUN, p->backward, 0, p->plain_input, p->input)},
        {DNNL_ARG_WEIGHTS_ITER, weights_for(program, ONEDNN_RUN, p->backward, 1, p->plain_hidden, p->hidden)},
        {DNNL_ARG_BIAS, p->bias},
        {DNNL_ARG_DST_LAYER, p->y},
        {DNNL_ARG_WORKSPACE, p->workspace},
        {DNNL_ARG_DIFF_DST_LAYER, onednn_program_memory(program, p->y_md, operands->dy)},
        {DNNL_ARG_DIFF_SRC_LAYER, onednn_program_memory(program, p->x_md, operands->y)},
        {DNNL_ARG_DIFF_WEIGHTS_LAYER, p->d_input.memory},
        {DNNL_ARG_DIFF_WEIGHTS_ITER, p->d_hidden.memory},
        {DNNL_ARG_DIFF_BIAS, p->d_bias},
        {DNNL_ARG_DIFF_SRC_ITER, make_state(program, state, true, operands->gradients[DH0])},
        {DNNL_ARG_DIFF_SRC_ITER_C, make_state(program, state, p->is_lstm, operands->gradients[DC0])},
        {DNNL_ARG_DIFF_DST_ITER, make_state(program, state, true, operands->saved[DH_N])},
        {DNNL_ARG_DIFF_DST_ITER_C, make_state(program, state, p->is_lstm, operands->saved[DC_N])}};
    onednn_program_step(program, ONEDNN_RUN, p->backward, 19, arguments);
}

// Weights' gradients out of oneDNN's layouts; our two biases have the same gradient.
static void add_results(onednn_program *program, const onednn_operands *operands, const passes *p)
{
    const gradient *const gradients[] = {&p->d_input, &p->d_hidden};
    float *biases = operands->gradients[BIASES];
    const int64_t rows = p->r->gates * p->r->hidden;
    for (int i = 0; i < 2; i++)
        if (gradients[i]->memory != gradients[i]->to)
            onednn_program_reorder(program, ONEDNN_RUN, gradients[i]->own, gradients[i]->memory, gradients[i]->plain,
                                   gradients[i]->to);
    if (biases && onednn_program_ok(program))
        add_range(program, ONEDNN_READ, biases + rows, biases, (size_t)rows * sizeof(float));
}

void onednn_rnn_backward_build(onednn_program *program, const bench_case *c, const onednn_operands *operands,
                               unsigned flags)
{
    passes p;
    if (!describe(program, &c->as.rnn, flags, &p))
        return;
    make_memory(program, operands, &p);
    add_training(program, &p);
    // The gates and states of its own training pass are not those of the reserve that the reference goes by.
    program->widening = 4;
    make_gradients(program, operands, &p);
    add_backward(program, operands, &p);
    add_results(program, operands, &p);
}
