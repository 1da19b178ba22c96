// SPDX-License-Identifier: MIT
// oneDNN: products of bytes, by its matmul and its inner product. The zero point of A is an attribute, or folded into
// the bias by sums of B's columns, which is worked out once where B is packed.
#include <stdio.h>

#include "baseline/onednn_quantized.h"

enum { OWN_WEIGHTS = 1, FOLDED_ZERO = 2, INNER_PRODUCT = 4 };

static bool supports(const bench_case *c, char reason[BENCH_REASON_TEXT])
{
    const bench_quantized_gemm *g = &c->as.quantized_gemm;
    if (g->m && g->n && g->k)
        return true;
    snprintf(reason, BENCH_REASON_TEXT, "empty matrices: oneDNN leaves its output untouched");
    return false;
}

static onednn_quantized describe(const bench_case *c)
{
    const bench_quantized_gemm *g = &c->as.quantized_gemm;
    onednn_quantized q = {.channels = g->n,
                          .out = (husk_dtype)g->c,
                          .from = BENCH_QUANTIZED_GEMM_A,
                          .to = {1.0f, 0},
                          .act = c->act,
                          .mask_of_output = 1 << 1,
                          .mask_of_weights = 1 << 1};
    if (q.out == HUSK_I8)
        q.to = (husk_quantization)BENCH_QUANTIZED_GEMM_C;
    return q;
}

static bool make_operands(const bench_case *c, onednn_operands *operands)
{
    const onednn_quantized q = describe(c);
    return onednn_quantized_make(&q, operands);
}

// Sums of B's columns into a bias of these operands, once; the caller frees it.
static bool fold_zero(const bench_case *c, const onednn_quantized *q, const onednn_operands *operands,
                      onednn_operands *folded)
{
    const bench_quantized_gemm *g = &c->as.quantized_gemm;
    const int8_t *b = (const int8_t *)operands->w;
    float *bias = malloc((size_t)g->n * sizeof *bias);
    int64_t *sums = calloc((size_t)g->n, sizeof *sums);
    const bool made = bias && sums;
    *folded = *operands;
    for (int64_t j = 0; made && j < g->n; j++)
        for (int64_t i = 0; i < g->k; i++)
            sums[j] += b[g->tb ? j * g->k + i : i * g->n + j];
    if (made)
        onednn_quantized_fold_zero(q, folded, bias, sums);
    else
        free(bias);
    free(sums);
    return made;
}

// Sums as they are have no bias that the zero point could be folded into.
static bool applies(const bench_case *c, unsigned flags)
{
    return !(flags & FOLDED_ZERO) || (c->packed && c->as.quantized_gemm.c != HUSK_I32);
}

// The matrices as oneDNN sees them; an inner product's weights are [n, k], B seen the other way round.
typedef struct matrices {
    const onednn_md *a, *b, *b_any, *bias, *c;
} matrices;

static matrices make_matrices(onednn_program *program, const bench_quantized_gemm *g, unsigned flags, bool has_bias)
{
    const bool turned = (flags & INNER_PRODUCT) != 0;
    const int64_t a[2] = {g->m, g->k}, out[2] = {g->m, g->n}, a_strides[2] = {g->k, 1}, out_strides[2] = {g->n, 1};
    const int64_t b[2] = {turned ? g->n : g->k, turned ? g->k : g->n};
    const int64_t by_k = g->tb ? 1 : g->n, by_n = g->tb ? g->k : 1;
    const int64_t b_strides[2] = {turned ? by_n : by_k, turned ? by_k : by_n};
    const int64_t bias[2] = {1, g->n};
    return (matrices){
        .a = onednn_program_md_of(program, onednn_quantized_type(g->u8 ? HUSK_U8 : HUSK_I8), 2, a, a_strides),
        .b = onednn_program_md_of(program, dnnl_s8, 2, b, b_strides),
        .b_any = onednn_program_md_tagged_of(program, dnnl_s8, 2, b, dnnl_format_tag_any),
        .bias = !has_bias ? NULL
                : turned  ? onednn_program_md_packed(program, 1, &g->n)
                          : onednn_program_md_packed(program, 2, bias),
        .c = onednn_program_md_of(program, onednn_quantized_type((husk_dtype)g->c), 2, out, out_strides)};
}

static void build_with(onednn_program *program, const bench_case *c, const onednn_operands *operands, unsigned flags,
                       bool has_bias)
{
    const bench_quantized_gemm *g = &c->as.quantized_gemm;
    onednn_quantized q = describe(c);
    const bool has_zero = !(flags & FOLDED_ZERO);
    if (flags & INNER_PRODUCT)
        q.mask_of_weights = 1 << 0;
    if (!has_zero && onednn_quantized_zero_comes_first()) {
        q.late = onednn_program_md_packed(program, 2, (const int64_t[]){1, g->n});
        q.has_late_bias = g->bias != 0;
    }
    const matrices m = make_matrices(program, g, flags, has_bias);
    const_dnnl_primitive_attr_t attr = onednn_quantized_attr(program, &q, has_zero, operands);
    dnnl_memory_t a = onednn_program_memory(program, m.a, operands->x), plain_b = NULL, bias = NULL;
    plain_b = onednn_program_memory(program, m.b, operands->w);
    bias = has_bias ? onednn_program_memory(program, m.bias, operands->scaled_bias) : NULL;
    dnnl_memory_t out = onednn_program_memory(program, m.c, operands->y);
    if (!onednn_program_ok(program))
        return;
    dnnl_primitive_desc_t pd = NULL;
    const dnnl_engine_t engine = program->session->engine;
    const onednn_md *weights = flags & OWN_WEIGHTS ? m.b_any : m.b;
    const dnnl_status_t made = flags & INNER_PRODUCT ? onednn_inner_product(&pd, engine, dnnl_forward_inference, m.a,
                                                                            weights, m.bias, m.c, attr)
                                                     : onednn_matmul(&pd, engine, m.a, weights, m.bias, m.c, attr);
    onednn_program_pd(program, made, pd, "a product of bytes");
    onednn_program_refuse_without_vnni(program, "a product of bytes that is exact without VNNI");
    const onednn_md *own = onednn_program_query(program, pd, dnnl_query_weights_md, 0);
    dnnl_memory_t b = onednn_program_input(program, onednn_packing_stage(c), m.b, plain_b, own);
    dnnl_exec_arg_t arguments[4 + ONEDNN_QUANTIZED_ARGUMENTS] = {
        {DNNL_ARG_SRC, a}, {DNNL_ARG_WEIGHTS, b}, {DNNL_ARG_BIAS, bias}, {DNNL_ARG_DST, out}};
    onednn_quantized_arguments(program, &q, has_zero, operands, arguments + 4);
    onednn_program_step(program, ONEDNN_RUN, pd, 4 + ONEDNN_QUANTIZED_ARGUMENTS, arguments);
}

static void build(onednn_program *program, const bench_case *c, const onednn_operands *operands, unsigned flags)
{
    const onednn_quantized q = describe(c);
    onednn_operands folded;
    if (!(flags & FOLDED_ZERO)) {
        build_with(program, c, operands, flags, c->as.quantized_gemm.bias != 0);
        return;
    }
    if (!fold_zero(c, &q, operands, &folded)) {
        onednn_program_check(program, dnnl_out_of_memory, "a bias");
        return;
    }
    onednn_program_own(program, folded.scaled_bias, free);
    build_with(program, c, &folded, flags, true);
}

static const onednn_way ways[] = {
    {"matmul", "auto", 0, applies, build},
    {"matmul, own weights", "auto", OWN_WEIGHTS, applies, build},
    {"matmul, own weights, zero point in the bias", "auto", OWN_WEIGHTS | FOLDED_ZERO, applies, build},
    {"inner product, own weights, zero point in the bias", "auto", OWN_WEIGHTS | FOLDED_ZERO | INNER_PRODUCT, applies,
     build},
    {.name = NULL},
};

extern const onednn_op onednn_op_quantized_gemm;
const onednn_op onednn_op_quantized_gemm = {.ways = ways, .supports = supports, .make_operands = make_operands};
