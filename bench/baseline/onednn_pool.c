// SPDX-License-Identifier: MIT
// oneDNN: pooling, in the operand's layout or by way of the layouts it is fastest in.
#include <stdio.h>

#include "baseline/onednn_op.h"

enum { IN_PLACE, CHANNELS_LAST, BLOCKED_16, BLOCKED_8 };

// Padding at the end that makes oneDNN's number of outputs ours, ceil mode included.
static int64_t pad_end(const bench_pool *p, int i)
{
    const int64_t extent = (p->window[i] - 1) * p->dilation[i] + 1;
    const int64_t usual = (p->in[i] + p->pad[i] + p->pad_end[i] - extent) / p->stride[i] + 1;
    return usual == p->out[i] ? p->pad_end[i] : (p->out[i] - 1) * p->stride[i] + extent - p->in[i] - p->pad[i];
}

static bool supports(const bench_case *c, char reason[BENCH_REASON_TEXT])
{
    const bench_pool *p = &c->as.pool;
    const char *lack = NULL;
    if (p->indices && c->dir == BENCH_FWD)
        lack = "its workspace holds positions in the window, not indices";
    for (int i = 0; i < p->space; i++) {
        if (p->kind == HUSK_POOL_AVG && p->count_pad && pad_end(p, i) > p->pad_end[i])
            lack = "ceil mode with counted padding counts past the padded input";
        if (!p->out[i] || !p->in[i])
            lack = "empty tensors";
    }
    if (!p->n || !p->c)
        lack = "empty tensors";
    if (lack)
        snprintf(reason, BENCH_REASON_TEXT, "%s", lack);
    return !lack;
}

static bool applies(const bench_case *c, unsigned flags)
{
    // Channels-last operands are in a layout it likes already.
    return flags == IN_PLACE || c->layout == BENCH_NCHW;
}

static const onednn_md *layout(onednn_program *program, unsigned flags, int rank, const int64_t *dims,
                               const onednn_md *own)
{
    static const dnnl_format_tag_t tags[][3] = {
        [CHANNELS_LAST] = {dnnl_nwc, dnnl_nhwc, dnnl_ndhwc},
        [BLOCKED_16] = {dnnl_nCw16c, dnnl_nChw16c, dnnl_nCdhw16c},
        [BLOCKED_8] = {dnnl_nCw8c, dnnl_nChw8c, dnnl_nCdhw8c},
    };
    return flags == IN_PLACE ? own : onednn_program_md_tagged(program, rank, dims, tags[flags][rank - 3]);
}

typedef struct layouts {
    const onednn_md *x, *y, *pool_x, *pool_y; /* as operands have it, and as it pools */
} layouts;

/*
 * The gradient goes by the workspace that a training pass has saved, once, when the program is made: what forward
 * saves is not timed here, as it is not with our indices.
 */
static void build_backward(onednn_program *program, const onednn_operands *operands, dnnl_alg_kind_t kind,
                           const onednn_window *window, layouts md)
{
    const dnnl_engine_t engine = program->session->engine;
    const bool in_place = md.pool_x == md.x;
    dnnl_memory_t x = onednn_program_memory(program, md.x, operands->x);
    dnnl_memory_t dx = onednn_program_memory(program, md.x, operands->y);
    dnnl_memory_t dy = onednn_program_memory(program, md.y, operands->dy);
    dnnl_primitive_desc_t forward = NULL, pd = NULL;
    if (!onednn_program_ok(program))
        return;
    dnnl_status_t made = onednn_pooling(&forward, engine, dnnl_forward_training, kind, md.pool_x, md.pool_y, window);
    if (made == dnnl_success)
        made = onednn_pooling_backward(&pd, engine, kind, md.pool_x, md.pool_y, window, forward);
    if (made != dnnl_success) {
        if (forward)
            dnnl.primitive_desc_destroy(forward);
        onednn_program_check(program, made, "pooling, backward");
        return;
    }
    onednn_program_pd(program, dnnl_success, forward, "pooling, training");
    onednn_program_pd(program, dnnl_success, pd, "pooling, backward");
    dnnl_memory_t workspace = NULL;
    if (kind == dnnl_pooling_max)
        workspace =
            onednn_program_memory(program, onednn_program_query(program, forward, dnnl_query_workspace_md, 0), NULL);
    dnnl_memory_t from = onednn_program_input(program, ONEDNN_SETUP, md.x, x, md.pool_x);
    dnnl_memory_t pooled = onednn_program_memory(program, md.pool_y, NULL);
    dnnl_exec_arg_t training[] = {{DNNL_ARG_SRC, from}, {DNNL_ARG_DST, pooled}, {DNNL_ARG_WORKSPACE, workspace}};
    onednn_program_step(program, ONEDNN_SETUP, forward, 3, training);
    dnnl_memory_t diff = onednn_program_input(program, ONEDNN_RUN, md.y, dy, md.pool_y);
    dnnl_memory_t to = in_place ? dx : onednn_program_memory(program, md.pool_x, NULL);
    dnnl_exec_arg_t arguments[] = {{DNNL_ARG_DIFF_DST, diff}, {DNNL_ARG_DIFF_SRC, to}, {DNNL_ARG_WORKSPACE, workspace}};
    onednn_program_step(program, ONEDNN_RUN, pd, 3, arguments);
    if (!in_place)
        onednn_program_reorder(program, ONEDNN_RUN, md.pool_x, to, md.x, dx);
}

static void build(onednn_program *program, const bench_case *c, const onednn_operands *operands, unsigned flags)
{
    const bench_pool *p = &c->as.pool;
    const int rank = (int)p->space + 2;
    int64_t x_dims[5] = {p->n, p->c}, y_dims[5] = {p->n, p->c};
    onednn_window window = {.extent = {0}};
    for (int i = 0; i < p->space; i++) {
        x_dims[2 + i] = p->in[i];
        y_dims[2 + i] = p->out[i];
        window.extent[i] = p->window[i];
        window.strides[i] = p->stride[i];
        window.dilates[i] = p->dilation[i] - 1;
        window.pad[i] = p->pad[i];
        window.pad_end[i] = pad_end(p, i);
    }
    const bool is_backward = c->dir == BENCH_BWD;
    const bench_array *output = is_backward ? &operands->data->dy : &operands->data->y;
    const onednn_md *x = onednn_program_md(program, rank, x_dims, operands->data->x.strides);
    const onednn_md *y = onednn_program_md(program, rank, y_dims, output->strides);
    const onednn_md *pool_x = layout(program, flags, rank, x_dims, x);
    const onednn_md *pool_y = layout(program, flags, rank, y_dims, y);
    const dnnl_alg_kind_t kind = p->kind == HUSK_POOL_MAX ? dnnl_pooling_max
                                 : p->count_pad           ? dnnl_pooling_avg_include_padding
                                                          : dnnl_pooling_avg_exclude_padding;
    if (is_backward) {
        build_backward(program, operands, kind, &window, (layouts){x, y, pool_x, pool_y});
        return;
    }
    dnnl_memory_t x_memory = onednn_program_memory(program, x, operands->x);
    dnnl_memory_t y_memory = onednn_program_memory(program, y, operands->y);
    if (!onednn_program_ok(program))
        return;

    dnnl_primitive_desc_t pd = NULL;
    dnnl_status_t made =
        onednn_pooling(&pd, program->session->engine, dnnl_forward_inference, kind, pool_x, pool_y, &window);
    onednn_program_pd(program, made, pd, "pooling");
    dnnl_memory_t from = onednn_program_input(program, ONEDNN_RUN, x, x_memory, pool_x);
    dnnl_memory_t to = flags == IN_PLACE ? y_memory : onednn_program_memory(program, pool_y, NULL);
    dnnl_exec_arg_t arguments[] = {{DNNL_ARG_SRC, from}, {DNNL_ARG_DST, to}};
    onednn_program_step(program, ONEDNN_RUN, pd, 2, arguments);
    if (flags != IN_PLACE)
        onednn_program_reorder(program, ONEDNN_RUN, pool_y, to, y, y_memory);
}

static const onednn_way ways[] = {
    {"pooling", "auto", IN_PLACE, applies, build},
    {"pooling between reorders to channels last", "auto", CHANNELS_LAST, applies, build},
    {"pooling between reorders to blocks of 16", "auto", BLOCKED_16, applies, build},
    {"pooling between reorders to blocks of 8", "auto", BLOCKED_8, applies, build},
    {.name = NULL},
};

extern const onednn_op onednn_op_pool;
const onednn_op onednn_op_pool = {.ways = ways, .has_backward = true, .supports = supports};
