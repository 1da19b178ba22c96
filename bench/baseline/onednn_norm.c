// SPDX-License-Identifier: MIT
// oneDNN: layer and batch normalisation and their gradients.
#include <stdio.h>

#include "baseline/onednn_op.h"

enum { IN_PLACE, CHANNELS_LAST, BLOCKED_16, BLOCKED_8 };

#define EPSILON 1e-5f // ours

static bool supports(const bench_case *c, char reason[BENCH_REASON_TEXT])
{
    if (c->as.norm.kind == HUSK_NORM_LAYER || c->as.norm.kind == HUSK_NORM_BATCH)
        return true;
    snprintf(reason, BENCH_REASON_TEXT, "it has layer and batch normalisation alone");
    return false;
}

static bool applies(const bench_case *c, unsigned flags)
{
    return flags == IN_PLACE || (c->as.norm.h && c->layout == BENCH_NCHW);
}

static bool uses_given(const bench_case *c)
{
    return c->as.norm.kind == HUSK_NORM_BATCH && !c->as.norm.training;
}

// What multiplies is given to our gradients, the variance to oneDNN's.
static bool make_operands(const bench_case *c, onednn_operands *o)
{
    for (int64_t i = 0; o->saved[1] && c->dir != BENCH_FWD && i < o->data->saved[1].count; i++)
        o->saved[1][i] = 1 / (o->saved[1][i] * o->saved[1][i]) - EPSILON;
    return true;
}

typedef struct tensors {
    const onednn_md *x, *own, *statistics;
    dnnl_memory_t mean, variance, scale, shift;
} tensors;

static tensors describe(onednn_program *program, const bench_case *c, const onednn_operands *operands, unsigned flags)
{
    static const dnnl_format_tag_t tags[] = {
        [CHANNELS_LAST] = dnnl_nhwc, [BLOCKED_16] = dnnl_nChw16c, [BLOCKED_8] = dnnl_nChw8c};
    const bench_norm *p = &c->as.norm;
    const int64_t dims[4] = {p->n, p->c, p->h, p->w};
    const int rank = p->h ? 4 : 2;
    const bool is_batch = p->kind == HUSK_NORM_BATCH;
    tensors t = {.x = onednn_program_md(program, rank, dims, operands->data->x.strides)};
    t.own = flags == IN_PLACE ? t.x : onednn_program_md_tagged(program, rank, dims, tags[flags]);
    t.statistics = onednn_program_md_packed(program, 1, is_batch ? &p->c : &p->n);
    const onednn_md *channels = onednn_program_md_packed(program, 1, &p->c);
    t.mean = onednn_program_memory(program, t.statistics, operands->saved[0]);
    t.variance = onednn_program_memory(program, t.statistics, operands->saved[1]);
    t.scale = onednn_program_memory(program, channels, operands->w);
    t.shift = onednn_program_memory(program, channels, operands->bias);
    return t;
}

static dnnl_status_t make_forward(dnnl_primitive_desc_t *pd, const onednn_program *program, const bench_case *c,
                                  const tensors *t, dnnl_prop_kind_t prop, unsigned options)
{
    const dnnl_engine_t engine = program->session->engine;
    return c->as.norm.kind == HUSK_NORM_BATCH
               ? onednn_batch_norm(pd, engine, prop, t->own, EPSILON, options)
               : onednn_layer_norm(pd, engine, prop, t->own, t->statistics, EPSILON, options);
}

static void build_backward(onednn_program *program, const bench_case *c, const onednn_operands *operands, tensors t,
                           unsigned options)
{
    const dnnl_engine_t engine = program->session->engine;
    const onednn_md *channels = onednn_program_md_packed(program, 1, &c->as.norm.c);
    dnnl_memory_t x = onednn_program_memory(program, t.x, operands->x);
    dnnl_memory_t dx = onednn_program_memory(program, t.x, operands->y);
    dnnl_memory_t dy = onednn_program_memory(program, t.x, operands->dy);
    dnnl_memory_t dscale = onednn_program_memory(program, channels, operands->gradients[0]);
    dnnl_memory_t dshift = onednn_program_memory(program, channels, operands->gradients[1]);
    dnnl_primitive_desc_t forward = NULL, pd = NULL;
    if (!onednn_program_ok(program))
        return;
    dnnl_status_t made = make_forward(&forward, program, c, &t, dnnl_forward_training, options);
    onednn_program_check(program, made, "normalisation, training");
    if (made != dnnl_success)
        return;
    made = c->as.norm.kind == HUSK_NORM_BATCH
               ? onednn_batch_norm_backward(&pd, engine, t.own, EPSILON, options, forward)
               : onednn_layer_norm_backward(&pd, engine, t.own, t.statistics, EPSILON, options, forward);
    dnnl.primitive_desc_destroy(forward);
    onednn_program_pd(program, made, pd, "normalisation, backward");
    dnnl_memory_t to = t.own == t.x ? dx : onednn_program_memory(program, t.own, NULL);
    dnnl_exec_arg_t arguments[] = {{DNNL_ARG_SRC, onednn_program_input(program, ONEDNN_RUN, t.x, x, t.own)},
                                   {DNNL_ARG_DIFF_DST, onednn_program_input(program, ONEDNN_RUN, t.x, dy, t.own)},
                                   {DNNL_ARG_MEAN, t.mean},
                                   {DNNL_ARG_VARIANCE, t.variance},
                                   {DNNL_ARG_SCALE, t.scale},
                                   {DNNL_ARG_SHIFT, t.shift},
                                   {DNNL_ARG_DIFF_SRC, to},
                                   {DNNL_ARG_DIFF_SCALE, dscale},
                                   {DNNL_ARG_DIFF_SHIFT, dshift}};
    onednn_program_step(program, ONEDNN_RUN, pd, 9, arguments);
    if (to != dx)
        onednn_program_reorder(program, ONEDNN_RUN, t.own, to, t.x, dx);
}

// Statistics of x itself: batch normalisation in training writes them, ours for layers are not asked for.
static void build(onednn_program *program, const bench_case *c, const onednn_operands *operands, unsigned flags)
{
    const tensors t = describe(program, c, operands, flags);
    const bool is_given = uses_given(c);
    const unsigned options = dnnl_use_scale | dnnl_use_shift | (is_given ? dnnl_use_global_stats : 0);
    if (c->dir != BENCH_FWD) {
        build_backward(program, c, operands, t, options);
        return;
    }
    dnnl_memory_t x = onednn_program_memory(program, t.x, operands->x);
    dnnl_memory_t y = onednn_program_memory(program, t.x, operands->y);
    if (!onednn_program_ok(program))
        return;
    dnnl_primitive_desc_t pd = NULL;
    const dnnl_prop_kind_t prop = c->as.norm.training ? dnnl_forward_training : dnnl_forward_inference;
    const dnnl_status_t made = make_forward(&pd, program, c, &t, prop, options);
    onednn_program_pd(program, made, pd, "normalisation");
    dnnl_memory_t to = t.own == t.x ? y : onednn_program_memory(program, t.own, NULL);
    const bool has_statistics = is_given || c->as.norm.training;
    dnnl_exec_arg_t arguments[] = {{DNNL_ARG_SRC, onednn_program_input(program, ONEDNN_RUN, t.x, x, t.own)},
                                   {DNNL_ARG_MEAN, has_statistics ? t.mean : NULL},
                                   {DNNL_ARG_VARIANCE, has_statistics ? t.variance : NULL},
                                   {DNNL_ARG_SCALE, t.scale},
                                   {DNNL_ARG_SHIFT, t.shift},
                                   {DNNL_ARG_DST, to}};
    onednn_program_step(program, ONEDNN_RUN, pd, 6, arguments);
    if (to != y)
        onednn_program_reorder(program, ONEDNN_RUN, t.own, to, t.x, y);
}

static const onednn_way ways[] = {
    {"normalisation", "auto", IN_PLACE, applies, build},
    {"normalisation between reorders to channels last", "auto", CHANNELS_LAST, applies, build},
    {"normalisation between reorders to blocks of 16", "auto", BLOCKED_16, applies, build},
    {"normalisation between reorders to blocks of 8", "auto", BLOCKED_8, applies, build},
    {.name = NULL},
};

extern const onednn_op onednn_op_norm;
const onednn_op onednn_op_norm = {
    .ways = ways, .has_backward = true, .supports = supports, .make_operands = make_operands};
