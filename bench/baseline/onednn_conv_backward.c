// SPDX-License-Identifier: MIT
// oneDNN: the gradients of convolution, in the layouts of onednn_conv.c. Whatever is reordered is part of each run.
#include "baseline/onednn_conv_backward.h"

#include "baseline/onednn_conv_shared.h"

// Dimensions, and the operator's tensors as oneDNN computes with them.
typedef struct tensors {
    int rank, w_rank;
    int64_t x_dims[5], y_dims[5], w_dims[6];
    const onednn_md *x, *w, *bias, *y;
} tensors;

static tensors describe(onednn_program *program, const bench_conv *v)
{
    tensors t = {.rank = (int)v->space + 2, .x_dims = {v->n, v->c}, .y_dims = {v->n, v->k}};
    if (v->groups > 1)
        t.w_dims[t.w_rank++] = v->groups;
    t.w_dims[t.w_rank++] = v->k / v->groups;
    t.w_dims[t.w_rank++] = v->c / v->groups;
    for (int i = 0; i < v->space; i++) {
        t.x_dims[2 + i] = v->in[i];
        t.y_dims[2 + i] = v->out[i];
        t.w_dims[t.w_rank++] = v->filter[i];
    }
    t.bias = v->bias ? onednn_program_md_packed(program, 1, &v->k) : NULL;
    return t;
}

// The pass that the gradient belongs to.
static dnnl_status_t make_forward(const onednn_program *program, dnnl_alg_kind_t kind, const tensors *t,
                                  const onednn_window *window, dnnl_primitive_desc_t *pd)
{
    return onednn_convolution(pd, program->session->engine, dnnl_forward_training, kind, t->x, t->w, t->bias, t->y,
                              window, NULL);
}

static dnnl_status_t make_backward(const onednn_program *program, const bench_case *c, dnnl_alg_kind_t kind,
                                   const tensors *t, dnnl_primitive_desc_t *pd)
{
    const onednn_window window = onednn_conv_window(&c->as.conv);
    const dnnl_engine_t engine = program->session->engine;
    dnnl_primitive_desc_t forward = NULL;
    dnnl_status_t made = make_forward(program, kind, t, &window, &forward);
    if (made != dnnl_success)
        return made;
    made = c->dir == BENCH_BWD_DATA
               ? onednn_convolution_backward_data(pd, engine, kind, t->x, t->w, t->y, &window, forward)
               : onednn_convolution_backward_weights(pd, engine, kind, t->x, t->w, t->bias, t->y, &window, forward);
    dnnl.primitive_desc_destroy(forward);
    return made;
}

// A result in oneDNN's layout, brought to the operand's in every run.
static dnnl_memory_t output(onednn_program *program, const onednn_md *plain, dnnl_memory_t memory, const onednn_md *own)
{
    const bool is_same = onednn_program_ok(program) && dnnl.memory_desc_equal(plain, own);
    return is_same ? memory : onednn_program_memory(program, own, NULL);
}

void onednn_conv_backward_build(onednn_program *program, const bench_case *c, const onednn_operands *operands,
                                unsigned flags)
{
    const bench_conv *v = &c->as.conv;
    const bool is_data = c->dir == BENCH_BWD_DATA;
    const dnnl_alg_kind_t kind = flags & ONEDNN_CONV_WINOGRAD ? dnnl_convolution_winograd : dnnl_convolution_direct;
    tensors t = describe(program, v);
    // Of one gradient y is dx, of the other dw; what is not given has its shape alone.
    const bench_data *data = operands->data;
    const onednn_md *x = onednn_program_md(program, t.rank, t.x_dims, is_data ? data->y.strides : data->x.strides);
    const onednn_md *dy = onednn_program_md(program, t.rank, t.y_dims, data->dy.strides);
    const onednn_md *w = onednn_program_md_packed(program, t.w_rank, t.w_dims);
    t.x = onednn_conv_md(program, flags, t.rank, t.x_dims, x);
    t.y = onednn_conv_md(program, flags, t.rank, t.y_dims, dy);
    t.w = flags & ONEDNN_CONV_OWN_WEIGHTS ? onednn_program_md_any(program, t.w_rank, t.w_dims) : w;
    dnnl_memory_t x_memory = onednn_program_memory(program, x, is_data ? operands->y : operands->x);
    dnnl_memory_t w_memory = onednn_program_memory(program, w, is_data ? operands->w : operands->y);
    dnnl_memory_t dy_memory = onednn_program_memory(program, dy, operands->dy);
    dnnl_memory_t bias_memory = t.bias ? onednn_program_memory(program, t.bias, operands->gradients[0]) : NULL;
    if (!onednn_program_ok(program))
        return;
    dnnl_primitive_desc_t pd = NULL;
    const dnnl_status_t made = make_backward(program, c, kind, &t, &pd);
    onednn_program_pd(program, made, pd, "convolution, backward");
    const onednn_md *own_y = onednn_program_query(program, pd, dnnl_query_diff_dst_md, 0);
    dnnl_memory_t from = onednn_program_input(program, ONEDNN_RUN, dy, dy_memory, own_y);
    if (is_data) {
        const onednn_md *own_w = onednn_program_query(program, pd, dnnl_query_weights_md, 0);
        const onednn_md *own_x = onednn_program_query(program, pd, dnnl_query_diff_src_md, 0);
        dnnl_memory_t to = output(program, x, x_memory, own_x);
        dnnl_exec_arg_t arguments[] = {
            {DNNL_ARG_WEIGHTS, onednn_program_input(program, ONEDNN_RUN, w, w_memory, own_w)},
            {DNNL_ARG_DIFF_DST, from},
            {DNNL_ARG_DIFF_SRC, to}};
        onednn_program_step(program, ONEDNN_RUN, pd, 3, arguments);
        if (to != x_memory)
            onednn_program_reorder(program, ONEDNN_RUN, own_x, to, x, x_memory);
    } else {
        const onednn_md *own_x = onednn_program_query(program, pd, dnnl_query_src_md, 0);
        const onednn_md *own_w = onednn_program_query(program, pd, dnnl_query_diff_weights_md, 0);
        dnnl_memory_t to = output(program, w, w_memory, own_w);
        dnnl_exec_arg_t arguments[] = {{DNNL_ARG_SRC, onednn_program_input(program, ONEDNN_RUN, x, x_memory, own_x)},
                                       {DNNL_ARG_DIFF_DST, from},
                                       {DNNL_ARG_DIFF_WEIGHTS, to},
                                       {DNNL_ARG_DIFF_BIAS, bias_memory}};
        onednn_program_step(program, ONEDNN_RUN, pd, 4, arguments);
        if (to != w_memory)
            onednn_program_reorder(program, ONEDNN_RUN, own_w, to, w, w_memory);
    }
    if (flags & ONEDNN_CONV_WINOGRAD)
        onednn_conv_describe_winograd(program, c);
}
