// SPDX-License-Identifier: MIT
// oneDNN: convolution, in plain, its own and channels-last layouts, direct and Winograd.
#include <stdio.h>

#include "baseline/onednn_conv_backward.h"
#include "baseline/onednn_conv_shared.h"

#include "cases/size.h"

static bool supports(const bench_case *c, char reason[BENCH_REASON_TEXT])
{
    const bench_conv *v = &c->as.conv;
    bool empty = !v->n || !v->c || !v->k;
    for (int i = 0; i < v->space; i++)
        empty = empty || !v->out[i] || !v->in[i];
    if (empty)
        snprintf(reason, BENCH_REASON_TEXT, "empty tensors: oneDNN leaves its output untouched");
    return !empty;
}

// In the highest precision no element may depend on ones that it does not see, as those of a tile do.
static bool is_winograd_case(const bench_case *c)
{
    const bench_conv *v = &c->as.conv;
    bool yes = v->space == 2 && v->groups == 1 && c->precision != HUSK_PRECISION_HIGHEST;
    for (int i = 0; i < v->space; i++)
        yes = yes && v->filter[i] == 3 && v->stride[i] == 1 && v->dilation[i] == 1;
    return yes;
}

static bool applies(const bench_case *c, unsigned flags)
{
    return !(flags & ONEDNN_CONV_WINOGRAD) || is_winograd_case(c);
}

// The operator's tensors as oneDNN sees them.
typedef struct tensors {
    int rank;
    int64_t x_dims[5], y_dims[5], w_dims[6];
    const onednn_md *x, *w, *bias, *y; /* as the user has them */
    dnnl_memory_t x_memory, w_memory, bias_memory, y_memory;
} tensors;

static tensors describe(onednn_program *program, const bench_conv *v, const onednn_operands *operands)
{
    tensors t = {.rank = (int)v->space + 2, .x_dims = {v->n, v->c}, .y_dims = {v->n, v->k}};
    int w_rank = 0;
    if (v->groups > 1)
        t.w_dims[w_rank++] = v->groups;
    t.w_dims[w_rank++] = v->k / v->groups;
    t.w_dims[w_rank++] = v->c / v->groups;
    for (int i = 0; i < v->space; i++) {
        t.x_dims[2 + i] = v->in[i];
        t.y_dims[2 + i] = v->out[i];
        t.w_dims[w_rank++] = v->filter[i];
    }
    t.x = onednn_program_md(program, t.rank, t.x_dims, operands->data->x.strides);
    t.y = onednn_program_md(program, t.rank, t.y_dims, operands->data->y.strides);
    t.w = onednn_program_md_packed(program, w_rank, t.w_dims);
    t.x_memory = onednn_program_memory(program, t.x, operands->x);
    t.y_memory = onednn_program_memory(program, t.y, operands->y);
    t.w_memory = onednn_program_memory(program, t.w, operands->w);
    if (v->bias) {
        t.bias = onednn_program_md_packed(program, 1, &v->k);
        t.bias_memory = onednn_program_memory(program, t.bias, operands->bias);
    }
    return t;
}

static dnnl_primitive_desc_t make_pd(onednn_program *program, const bench_case *c, const tensors *t, unsigned flags)
{
    const bench_conv *v = &c->as.conv;
    const onednn_epilogue epilogue = {.alpha = 1, .act = c->act, .precision = c->precision};
    const_dnnl_primitive_attr_t attr = onednn_program_attr(program, &epilogue);
    const onednn_md *x = onednn_conv_md(program, flags, t->rank, t->x_dims, t->x);
    const onednn_md *y = onednn_conv_md(program, flags, t->rank, t->y_dims, t->y);
    const int w_rank = t->rank + (v->groups > 1);
    const onednn_md *w = flags & ONEDNN_CONV_OWN_WEIGHTS ? onednn_program_md_any(program, w_rank, t->w_dims) : t->w;
    const onednn_window window = onednn_conv_window(v);
    dnnl_primitive_desc_t pd = NULL;
    if (!onednn_program_ok(program))
        return NULL;
    dnnl_status_t made =
        onednn_convolution(&pd, program->session->engine, dnnl_forward_inference,
                           flags & ONEDNN_CONV_WINOGRAD ? dnnl_convolution_winograd : dnnl_convolution_direct, x, w,
                           t->bias, y, &window, attr);
    onednn_program_pd(program, made, pd, "convolution");
    return onednn_program_ok(program) ? pd : NULL;
}

/*
 * With packed weights everything may stay in oneDNN's layouts, as between two layers of its user's network:
 * x is brought there once and y is brought back to be verified. Otherwise each run pays for all of that.
 */
static void build(onednn_program *program, const bench_case *c, const onednn_operands *operands, unsigned flags)
{
    if (c->dir != BENCH_FWD) {
        onednn_conv_backward_build(program, c, operands, flags);
        return;
    }
    tensors t = describe(program, &c->as.conv, operands);
    dnnl_primitive_desc_t pd = make_pd(program, c, &t, flags);
    if (!pd)
        return;
    const onednn_stage packing = onednn_packing_stage(c);
    const onednn_md *x = onednn_program_query(program, pd, dnnl_query_src_md, 0);
    const onednn_md *w = onednn_program_query(program, pd, dnnl_query_weights_md, 0);
    const onednn_md *y = onednn_program_query(program, pd, dnnl_query_dst_md, 0);
    if (!onednn_program_ok(program))
        return;
    const bool same_y = dnnl.memory_desc_equal(y, t.y);
    dnnl_memory_t x_memory = onednn_program_input(program, packing, t.x, t.x_memory, x);
    dnnl_memory_t w_memory = onednn_program_input(program, packing, t.w, t.w_memory, w);
    dnnl_memory_t y_memory = same_y ? t.y_memory : onednn_program_memory(program, y, NULL);
    if (!same_y && c->packed)
        onednn_program_reorder(program, ONEDNN_RESET, t.y, t.y_memory, y, y_memory);
    dnnl_exec_arg_t arguments[] = {{DNNL_ARG_SRC, x_memory},
                                   {DNNL_ARG_WEIGHTS, w_memory},
                                   {DNNL_ARG_BIAS, t.bias_memory},
                                   {DNNL_ARG_DST, y_memory}};
    onednn_program_step(program, ONEDNN_RUN, pd, 4, arguments);
    if (!same_y)
        onednn_program_reorder(program, c->packed ? ONEDNN_READ : ONEDNN_RUN, y, y_memory, t.y, t.y_memory);
    if (flags & ONEDNN_CONV_WINOGRAD)
        onednn_conv_describe_winograd(program, c);
    else
        onednn_program_allow(program, c->precision, onednn_conv_count_products(c));
}

static const onednn_way ways[] = {
    {"convolution, plain weights", "auto", 0, applies, build},
    {"convolution, plain activations", "auto", ONEDNN_CONV_OWN_WEIGHTS, applies, build},
    {"convolution, own layouts", "auto", ONEDNN_CONV_OWN_WEIGHTS | ONEDNN_CONV_OWN_ACTIVATIONS, applies, build},
    {"convolution, channels last", "auto", ONEDNN_CONV_OWN_WEIGHTS | ONEDNN_CONV_CHANNELS_LAST, applies, build},
    {"winograd, own layouts", "winograd", ONEDNN_CONV_OWN_WEIGHTS | ONEDNN_CONV_OWN_ACTIVATIONS | ONEDNN_CONV_WINOGRAD,
     applies, build},
    {"winograd, plain activations", "winograd", ONEDNN_CONV_OWN_WEIGHTS | ONEDNN_CONV_WINOGRAD, applies, build},
    {.name = NULL},
};

extern const onednn_op onednn_op_conv;
const onednn_op onednn_op_conv = {.ways = ways, .has_backward = true, .has_bf16 = true, .supports = supports};
