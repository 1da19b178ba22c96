// SPDX-License-Identifier: MIT
// oneDNN: convolution of bytes, in plain, its own and channels-last layouts. The zero point of x is an attribute, since
// padding counts as it.
#include <stdio.h>

#include "baseline/onednn_quantized.h"

enum { OWN_WEIGHTS = 1, OWN_ACTIVATIONS = 2, CHANNELS_LAST = 4 };

static bool supports(const bench_case *c, char reason[BENCH_REASON_TEXT])
{
    if (c->as.quantized_conv.n)
        return true;
    snprintf(reason, BENCH_REASON_TEXT, "empty tensors: oneDNN leaves its output untouched");
    return false;
}

static bool applies(const bench_case *c, unsigned flags)
{
    (void)c, (void)flags;
    return true;
}

static onednn_quantized describe(const bench_case *c)
{
    const bench_quantized_conv *v = &c->as.quantized_conv;
    onednn_quantized q = {.channels = v->k,
                          .out = (husk_dtype)v->y,
                          .from = BENCH_QUANTIZED_CONV_X,
                          .to = {1.0f, 0},
                          .act = c->act,
                          .mask_of_output = 1 << 1,
                          .mask_of_weights = v->groups > 1 ? 1 << 0 | 1 << 1 : 1 << 0};
    if (q.out == HUSK_I8)
        q.to = (husk_quantization)BENCH_QUANTIZED_CONV_Y;
    return q;
}

static bool make_operands(const bench_case *c, onednn_operands *operands)
{
    const onednn_quantized q = describe(c);
    return onednn_quantized_make(&q, operands);
}

// The operator's tensors as the user has them, and as the primitive may want them.
typedef struct tensors {
    dnnl_data_type_t x_type, y_type;
    const int64_t *x_dims, *y_dims;
    int64_t w_dims[5];
    int w_rank;
    const onednn_md *x, *w, *bias, *y;
    dnnl_memory_t x_memory, w_memory, bias_memory, y_memory;
} tensors;

static tensors make_tensors(onednn_program *program, const bench_quantized_conv *v, const onednn_operands *operands)
{
    const bench_data *data = operands->data;
    tensors t = {.x_type = onednn_quantized_type(v->u8 ? HUSK_U8 : HUSK_I8),
                 .y_type = onednn_quantized_type((husk_dtype)v->y),
                 .x_dims = data->x.shape,
                 .y_dims = data->y.shape};
    if (v->groups > 1)
        t.w_dims[t.w_rank++] = v->groups;
    const int64_t rest[4] = {v->k / v->groups, v->c / v->groups, v->r, v->s};
    for (int i = 0; i < 4; i++)
        t.w_dims[t.w_rank++] = rest[i];
    int64_t w_strides[5], stride = 1;
    for (int i = t.w_rank - 1; i >= 0; stride *= t.w_dims[i--])
        w_strides[i] = stride;
    t.x = onednn_program_md_of(program, t.x_type, 4, t.x_dims, data->x.strides);
    t.y = onednn_program_md_of(program, t.y_type, 4, t.y_dims, data->y.strides);
    t.w = onednn_program_md_of(program, dnnl_s8, t.w_rank, t.w_dims, w_strides);
    t.x_memory = onednn_program_memory(program, t.x, operands->x);
    t.y_memory = onednn_program_memory(program, t.y, operands->y);
    t.w_memory = onednn_program_memory(program, t.w, operands->w);
    if (v->bias) {
        t.bias = onednn_program_md_packed(program, 1, &v->k);
        t.bias_memory = onednn_program_memory(program, t.bias, operands->scaled_bias);
    }
    return t;
}

static const onednn_md *layout_of(onednn_program *program, dnnl_data_type_t type, unsigned flags, const int64_t *dims,
                                  const onednn_md *plain)
{
    if (flags & OWN_ACTIVATIONS)
        return onednn_program_md_tagged_of(program, type, 4, dims, dnnl_format_tag_any);
    return flags & CHANNELS_LAST ? onednn_program_md_tagged_of(program, type, 4, dims, dnnl_nhwc) : plain;
}

static onednn_window window_of(const bench_quantized_conv *v)
{
    onednn_window window = {.extent = {0}};
    for (int i = 0; i < 2; i++) {
        const int64_t in = i ? v->w : v->h, filter = i ? v->s : v->r, reach = v->dilation * (filter - 1);
        const int64_t out = (in + 2 * v->pad - reach - 1) / v->stride + 1;
        window.strides[i] = v->stride;
        window.dilates[i] = v->dilation - 1;
        window.pad[i] = v->pad;
        // So that the extents agree to the last element, as oneDNN wants it.
        window.pad_end[i] = (out - 1) * v->stride + reach + 1 - in - v->pad;
    }
    return window;
}

static dnnl_primitive_desc_t make_pd(onednn_program *program, const bench_case *c, const tensors *t, unsigned flags,
                                     const onednn_quantized *q, const onednn_operands *operands)
{
    const_dnnl_primitive_attr_t attr = onednn_quantized_attr(program, q, true, operands);
    const onednn_md *x = layout_of(program, t->x_type, flags, t->x_dims, t->x);
    const onednn_md *y = layout_of(program, t->y_type, flags, t->y_dims, t->y);
    const onednn_md *w = flags & OWN_WEIGHTS
                             ? onednn_program_md_tagged_of(program, dnnl_s8, t->w_rank, t->w_dims, dnnl_format_tag_any)
                             : t->w;
    const onednn_window window = window_of(&c->as.quantized_conv);
    dnnl_primitive_desc_t pd = NULL;
    if (!onednn_program_ok(program))
        return NULL;
    dnnl_status_t made = onednn_convolution(&pd, program->session->engine, dnnl_forward_inference,
                                            dnnl_convolution_direct, x, w, t->bias, y, &window, attr);
    onednn_program_pd(program, made, pd, "a convolution of bytes");
    onednn_program_refuse_without_vnni(program, "a convolution of bytes that is exact without VNNI");
    // Seen with 3.7 and 3.12: most outputs are wrong, and differ from run to run.
    if (q->from.zero != 0)
        onednn_program_mistrust(program, "gemm_s8s8s32", 0, "a convolution of i8 with a zero point");
    return onednn_program_ok(program) ? pd : NULL;
}

// As with floats: with packed weights everything may stay in oneDNN's layouts, otherwise each run pays for it.
static void build(onednn_program *program, const bench_case *c, const onednn_operands *operands, unsigned flags)
{
    const onednn_quantized q = describe(c);
    const tensors t = make_tensors(program, &c->as.quantized_conv, operands);
    dnnl_primitive_desc_t pd = make_pd(program, c, &t, flags, &q, operands);
    const onednn_stage packing = onednn_packing_stage(c);
    if (!pd)
        return;
    const onednn_md *x = onednn_program_query(program, pd, dnnl_query_src_md, 0);
    const onednn_md *w = onednn_program_query(program, pd, dnnl_query_weights_md, 0);
    const onednn_md *y = onednn_program_query(program, pd, dnnl_query_dst_md, 0);
    if (!onednn_program_ok(program))
        return;
    const bool same_y = dnnl.memory_desc_equal(y, t.y);
    dnnl_memory_t y_memory = same_y ? t.y_memory : onednn_program_memory(program, y, NULL);
    if (!same_y && c->packed)
        onednn_program_reorder(program, ONEDNN_RESET, t.y, t.y_memory, y, y_memory);
    dnnl_exec_arg_t arguments[4 + ONEDNN_QUANTIZED_ARGUMENTS] = {
        {DNNL_ARG_SRC, onednn_program_input(program, packing, t.x, t.x_memory, x)},
        {DNNL_ARG_WEIGHTS, onednn_program_input(program, packing, t.w, t.w_memory, w)},
        {DNNL_ARG_BIAS, t.bias_memory},
        {DNNL_ARG_DST, y_memory}};
    onednn_quantized_arguments(program, &q, true, operands, arguments + 4);
    onednn_program_step(program, ONEDNN_RUN, pd, 4 + ONEDNN_QUANTIZED_ARGUMENTS, arguments);
    if (!same_y)
        onednn_program_reorder(program, c->packed ? ONEDNN_READ : ONEDNN_RUN, y, y_memory, t.y, t.y_memory);
}

static const onednn_way ways[] = {
    {"convolution, plain weights", "auto", 0, applies, build},
    {"convolution, plain activations", "auto", OWN_WEIGHTS, applies, build},
    {"convolution, own layouts", "auto", OWN_WEIGHTS | OWN_ACTIVATIONS, applies, build},
    {"convolution, channels last", "auto", OWN_WEIGHTS | CHANNELS_LAST, applies, build},
    {.name = NULL},
};

extern const onednn_op onednn_op_quantized_conv;
const onednn_op onednn_op_quantized_conv = {.ways = ways, .supports = supports, .make_operands = make_operands};
