// SPDX-License-Identifier: MIT
// The contender ref: src/ref's plain loops in double, on one thread. For a sense of scale in tiny cases.
#include <stdio.h>
#include <stdlib.h>

#include "ref/activation.h"
#include "ref/conv.h"
#include "ref/gemm.h"
#include "ref/pool.h"
#include "ref/rnn.h"
#include "ref/softmax.h"

#include "../cases/space.h"
#include "../verdict.h"
#include "operand.h"

#define LARGEST_MACS  4194304.0  // multiply-adds of a tiny case: some 10 ms
#define LARGEST_BYTES 16777216.0 // and its operands

typedef struct state {
    bench_case c;
    const bench_data *data;
    bench_array y, indices, h_n, c_n; /* outputs; the strides are those of bench_data and bench_output */
    husk_ref_array *weight_arrays;
    husk_ref_rnn_weights *weights;
} state;

static bench_answer out_of_memory(char reason[BENCH_REASON_TEXT])
{
    snprintf(reason, BENCH_REASON_TEXT, "out of memory");
    return BENCH_ERROR;
}

static bench_answer session_open(const bench_open_options *options, void **session,
                                 char reason[BENCH_REASON_TEXT])
{
    (void)options;
    (void)reason;
    *session = NULL;
    return BENCH_OK;
}

static void session_close(void *session)
{
    (void)session;
}

static void version(void *session, char *text, size_t size)
{
    (void)session;
    snprintf(text, size, "Husk %s's reference (plain C in double, 1 thread)", HUSK_VERSION_STRING);
}

static const char *form(void *session, const bench_case *c, size_t index)
{
    (void)session;
    (void)c;
    (void)index;
    return NULL;
}

// ---- the operators

static husk_ref_array optional(const bench_array *array, const husk_ref_array **there)
{
    husk_ref_array view = bench_ref_array(array);
    if (!array->data)
        *there = NULL;
    return view;
}

static bool run_gemm(const state *s, const husk_ref_array *y)
{
    const bench_gemm *g = &s->c.as.gemm;
    const husk_gemm_params params = HUSK_GEMM_PARAMS(.transpose_a = (uint32_t)g->ta,
                                                     .transpose_b = (uint32_t)g->tb, .activation = s->c.act);
    husk_ref_array a = bench_ref_array(&s->data->x), b = bench_ref_array(&s->data->w), bias;
    const husk_ref_array *there = &bias;
    bias = optional(&s->data->bias, &there);
    const husk_ref_gemm op = {.params = &params,
                              .alpha = (float)g->alpha,
                              .beta = (float)g->beta,
                              .a = &a,
                              .b = &b,
                              .bias = there,
                              .c = y};
    husk_ref_gemm_run(&op, y);
    return true;
}

static bool run_conv(const state *s, const husk_ref_array *y)
{
    const bench_conv *v = &s->c.as.conv;
    husk_conv_params params = HUSK_CONV_PARAMS(.activation = s->c.act, .groups = v->groups);
    for (int64_t i = 0; i < v->space; i++) {
        params.stride[i] = v->stride[i];
        params.pad[i] = v->pad[i];
        params.pad_end[i] = bench_encode_pad_end(v->pad[i], v->pad_end[i]);
        params.dilation[i] = v->dilation[i];
    }
    husk_ref_array x = bench_ref_array(&s->data->x), w = bench_ref_array(&s->data->w), bias;
    const husk_ref_array *there = &bias;
    bias = optional(&s->data->bias, &there);
    const husk_ref_conv op = {.params = &params, .x = &x, .w = &w, .bias = there};
    husk_ref_conv_run(&op, y);
    return true;
}

static bool run_pool(const state *s, const husk_ref_array *y)
{
    const bench_pool *p = &s->c.as.pool;
    husk_pool_params params =
        HUSK_POOL_PARAMS(.kind = (husk_pool_kind)p->kind, .ceil_mode = (uint32_t)p->ceil,
                         .count_pad = (uint32_t)p->count_pad, .global = (uint32_t)p->global);
    for (int64_t i = 0; i < p->space && !p->global; i++) {
        params.window[i] = p->window[i];
        params.stride[i] = p->stride[i];
        params.pad[i] = p->pad[i];
        params.pad_end[i] = bench_encode_pad_end(p->pad[i], p->pad_end[i]);
        params.dilation[i] = p->dilation[i];
    }
    husk_ref_array x = bench_ref_array(&s->data->x), indices;
    const husk_ref_array *there = &indices;
    indices = optional(&s->indices, &there);
    const husk_ref_pool op = {.params = &params, .x = &x};
    husk_ref_pool_run(&op, y, there);
    return true;
}

static bool run_softmax(const state *s, const husk_ref_array *y)
{
    const husk_softmax_params params = HUSK_SOFTMAX_PARAMS(.axis_from_last = (uint32_t)(s->data->x.rank - 2),
                                                           .log = (uint32_t)s->c.as.softmax.log);
    husk_ref_array x = bench_ref_array(&s->data->x);
    const husk_ref_softmax op = {.params = &params, .x = &x};
    return husk_ref_softmax_run(&op, y);
}

static bool run_activation(const state *s, const husk_ref_array *y)
{
    const husk_activation_params params = HUSK_ACTIVATION_PARAMS(.activation = s->c.act);
    husk_ref_array x = bench_ref_array(&s->data->x);
    const husk_ref_activation op = {.params = &params, .x = &x};
    husk_ref_activation_run(&op, y);
    return true;
}

static bool run_rnn(const state *s, const husk_ref_array *y)
{
    const bench_rnn *r = &s->c.as.rnn;
    const husk_rnn_params params =
        HUSK_RNN_PARAMS(.cell = (husk_rnn_cell)r->cell, .hidden_size = r->hidden, .layers = r->layers,
                        .bidirectional = (uint32_t)r->bidir, .reset = (husk_gru_reset)r->reset);
    husk_ref_array x = bench_ref_array(&s->data->x), lengths, h0, c0, h_n, c_n;
    const husk_ref_array *lengths_there = &lengths, *h0_there = &h0, *c0_there = &c0, *h_n_there = &h_n,
                         *c_n_there = &c_n;
    lengths = optional(&s->data->lengths, &lengths_there);
    h0 = optional(&s->data->h0, &h0_there);
    c0 = optional(&s->data->c0, &c0_there);
    h_n = optional(&s->h_n, &h_n_there);
    c_n = optional(&s->c_n, &c_n_there);
    const husk_ref_rnn op = {.params = &params,
                             .x = &x,
                             .lengths = lengths_there,
                             .h0 = h0_there,
                             .c0 = c0_there,
                             .weights = s->weights};
    return husk_ref_rnn_run(&op, y, h_n_there, c_n_there);
}

static bool run_op(const state *s)
{
    const husk_ref_array y = bench_ref_array(&s->y);
    switch (s->c.op) {
    case BENCH_GEMM:
        return run_gemm(s, &y);
    case BENCH_CONV:
        return run_conv(s, &y);
    case BENCH_POOL:
        return run_pool(s, &y);
    case BENCH_SOFTMAX:
        return run_softmax(s, &y);
    case BENCH_ACTIVATION:
        return run_activation(s, &y);
    case BENCH_RNN:
        return run_rnn(s, &y);
    default:
        return false;
    }
}

// ---- a case

static void release(void *opaque)
{
    state *s = opaque;
    if (!s)
        return;
    free(s->y.data);
    free(s->indices.data);
    free(s->h_n.data);
    free(s->c_n.data);
    free(s->weight_arrays);
    free(s->weights);
    free(s);
}

static bool make_weights(state *s)
{
    const bench_rnn *r = &s->c.as.rnn;
    const size_t cells = (size_t)(r->layers * r->directions);
    s->weight_arrays = calloc(cells * 4, sizeof *s->weight_arrays);
    s->weights = calloc(cells, sizeof *s->weights);
    for (size_t i = 0; i < cells && s->weight_arrays && s->weights; i++) {
        const bench_rnn_weights *from = &s->data->layers[i];
        husk_ref_array *to = s->weight_arrays + 4 * i;
        s->weights[i] = (husk_ref_rnn_weights){to, to + 1, to + 2, to + 3};
        to[0] = bench_ref_array(&from->input);
        to[1] = bench_ref_array(&from->hidden);
        to[2] = optional(&from->input_bias, &s->weights[i].input_bias);
        to[3] = optional(&from->hidden_bias, &s->weights[i].hidden_bias);
    }
    return s->weight_arrays && s->weights;
}

// A packed output, 4 bytes an element.
static bool make_output(bench_array *array, husk_dtype dtype, int32_t rank, const int64_t *shape)
{
    *array = (bench_array){.dtype = dtype, .rank = rank, .count = 1};
    for (int32_t i = rank; i-- > 0;) {
        array->shape[i] = shape[i];
        array->strides[i] = array->count;
        array->count *= shape[i];
    }
    array->data = malloc((size_t)array->count * 4 + 4);
    return array->data != NULL;
}

static bool make_outputs(state *s)
{
    s->y = s->data->y;
    s->y.data = bench_operand_clone(&s->data->y);
    bool made = s->y.data != NULL;
    if (s->c.op == BENCH_POOL && s->c.as.pool.indices) {
        made = made && make_output(&s->indices, HUSK_I32, s->y.rank, s->y.shape);
        for (int i = 0; i < s->y.rank; i++)
            s->indices.strides[i] = s->y.strides[i];
    }
    if (s->c.op == BENCH_RNN) {
        const bench_rnn *r = &s->c.as.rnn;
        const int64_t shape[3] = {r->layers * r->directions, r->b, r->hidden};
        made = made && make_output(&s->h_n, HUSK_F32, 3, shape) && make_weights(s);
        if (made && r->cell == HUSK_RNN_LSTM)
            made = make_output(&s->c_n, HUSK_F32, 3, shape);
    }
    return made;
}

static bool supports(const bench_case *c, char reason[BENCH_REASON_TEXT])
{
    const char *lack = c->dir != BENCH_FWD    ? "only forward is compared"
                       : c->dtype != HUSK_F32 ? "only f32 is compared"
                       : bench_case_macs(c) > LARGEST_MACS || bench_case_bytes(c) > LARGEST_BYTES
                           ? "the reference is for tiny cases: up to 2^22 multiply-adds and 16 MiB"
                           : NULL;
    if (lack)
        snprintf(reason, BENCH_REASON_TEXT, "%s", lack);
    return !lack;
}

static bench_answer prepare(void *session, const bench_case *c, const bench_data *data,
                            const bench_prepare_options *options, void **out, char reason[BENCH_REASON_TEXT])
{
    (void)session;
    (void)options; // one set of operands: caches do not matter to it
    if (!supports(c, reason))
        return BENCH_UNSUPPORTED;
    state *s = calloc(1, sizeof *s);
    if (!s)
        return out_of_memory(reason);
    s->c = *c;
    s->data = data;
    if (!make_outputs(s)) {
        release(s);
        return out_of_memory(reason);
    }
    *out = s;
    return BENCH_OK;
}

static void details(void *opaque, bench_details *details)
{
    (void)opaque;
    *details = (bench_details){.variant = "plain loops in double"};
}

static bench_answer run_batch(void *opaque, int64_t count, char reason[BENCH_REASON_TEXT])
{
    for (int64_t i = 0; i < count; i++) {
        if (!run_op(opaque))
            return out_of_memory(reason);
    }
    return BENCH_OK;
}

static bench_answer run(void *opaque, char reason[BENCH_REASON_TEXT])
{
    return run_batch(opaque, 1, reason);
}

static bench_answer reset(void *opaque, char reason[BENCH_REASON_TEXT])
{
    const state *s = opaque;
    (void)reason;
    bench_operand_copy(s->y.data, s->data->y.data, s->y.count);
    return BENCH_OK;
}

static bench_answer read_back(void *opaque, bench_output *output, char reason[BENCH_REASON_TEXT])
{
    const state *s = opaque;
    (void)reason;
    bench_operand_copy(output->y.data, s->y.data, s->y.count);
    if (output->indices.data && s->indices.data)
        bench_operand_copy(output->indices.data, s->indices.data, s->indices.count);
    if (output->h_n.data && s->h_n.data)
        bench_operand_copy(output->h_n.data, s->h_n.data, s->h_n.count);
    if (output->c_n.data && s->c_n.data)
        bench_operand_copy(output->c_n.data, s->c_n.data, s->c_n.count);
    return BENCH_OK;
}

const bench_contender bench_contender_ref = {
    .name = "ref",
    .description = "the reference that results are verified with, plain C on one thread",
    .open = session_open,
    .close = session_close,
    .version = version,
    .form = form,
    .prepare = prepare,
    .release = release,
    .details = details,
    .run = run,
    .run_batch = run_batch,
    .reset = reset,
    .read = read_back,
};
