// SPDX-License-Identifier: MIT
// oneDNN: matrix multiplication, by its sgemm, its matmul and its inner product.
#include <stdio.h>
#include <string.h>

#include "baseline/onednn_gemm_backward.h"
#include "baseline/onednn_gemm_shared.h"

static bool supports(const bench_case *c, char reason[BENCH_REASON_TEXT])
{
    const bench_gemm *g = &c->as.gemm;
    if (g->m && g->n && g->k && g->batch)
        return c->dir == BENCH_FWD || onednn_gemm_backward_supports(c, reason);
    snprintf(reason, BENCH_REASON_TEXT, "empty matrices: oneDNN leaves its output untouched");
    return false;
}

// ---- sgemm: no epilogue

typedef struct sgemm_call {
    bench_gemm g;
    const float *a, *b;
    float *c;
} sgemm_call;

static dnnl_status_t call_sgemm(const void *context)
{
    const sgemm_call *s = context;
    const bench_gemm *g = &s->g;
    const int64_t a_size = (g->ta ? g->k : g->m) * g->lda, b_size = (g->tb ? g->n : g->k) * g->ldb;
    dnnl_status_t status = dnnl_success;
    for (int64_t i = 0; i < g->batch && status == dnnl_success; i++)
        status = dnnl.sgemm(g->ta ? 'T' : 'N', g->tb ? 'T' : 'N', g->m, g->n, g->k, (float)g->alpha, s->a + i * a_size,
                            g->lda, s->b + i * b_size, g->ldb, (float)g->beta, s->c + i * g->m * g->ldc, g->ldc);
    return status;
}

static bool sgemm_applies(const bench_case *c, unsigned flags)
{
    (void)flags;
    return c->dir == BENCH_FWD && c->as.gemm.bias == BENCH_BIAS_NONE && c->act == HUSK_ACT_NONE &&
           c->dtype == HUSK_F32 && c->precision == HUSK_PRECISION_HIGHEST;
}

static void build_sgemm(onednn_program *program, const bench_case *c, const onednn_operands *operands, unsigned flags)
{
    (void)flags;
    sgemm_call *call = malloc(sizeof *call);
    if (!call) {
        onednn_program_check(program, dnnl_out_of_memory, "sgemm");
        return;
    }
    *call = (sgemm_call){c->as.gemm, operands->x, operands->w, operands->y};
    onednn_program_own(program, call, free);
    onednn_program_call(program, ONEDNN_RUN, call_sgemm, call);
}

// ---- matmul and inner product

// The matrices as oneDNN sees them, batch first where there is one.
typedef struct matrices {
    int rank;
    const onednn_md *a, *b, *b_any, *c, *bias;
    dnnl_memory_t a_memory, b_memory, c_memory, bias_memory;
} matrices;

static matrices describe(onednn_program *program, const bench_gemm *g, const onednn_operands *operands)
{
    matrices m = {.rank = g->batch > 1 ? 3 : 2};
    m.a = onednn_gemm_md(program, g->batch, g->m, g->k, g->lda, g->ta != 0, false);
    m.b = onednn_gemm_md(program, g->batch, g->k, g->n, g->ldb, g->tb != 0, false);
    m.b_any = onednn_gemm_md(program, g->batch, g->k, g->n, g->ldb, g->tb != 0, true);
    m.c = onednn_gemm_md(program, g->batch, g->m, g->n, g->ldc, false, false);
    m.a_memory = onednn_program_memory(program, m.a, operands->x);
    m.b_memory = onednn_program_memory(program, m.b, operands->w);
    m.c_memory = onednn_program_memory(program, m.c, operands->y);
    if (g->bias != BENCH_BIAS_NONE) {
        const int64_t dims[3] = {1, g->bias == BENCH_BIAS_COLUMN ? g->m : 1, g->bias == BENCH_BIAS_COLUMN ? 1 : g->n};
        m.bias = onednn_program_md_packed(program, m.rank, dims + 3 - m.rank);
        m.bias_memory = onednn_program_memory(program, m.bias, operands->bias);
    }
    return m;
}

static bool matmul_applies(const bench_case *c, unsigned flags)
{
    if (c->dir != BENCH_FWD)
        return false;
    if (flags & ONEDNN_GEMM_SEPARATE_BIAS)
        return c->as.gemm.bias != BENCH_BIAS_NONE && (flags & ONEDNN_GEMM_OWN_WEIGHTS ? c->packed : !c->packed);
    return true;
}

// Vectors whose elements lie apart, as columns of larger matrices. oneDNN 3.7 takes them for packed, 3.12 does not.
static bool has_spread_vector(const bench_gemm *g)
{
    return (g->n == 1 && (g->ldc != 1 || (!g->tb && g->ldb != 1))) || (g->m == 1 && g->ta && g->lda != 1);
}

/*
 * oneDNN's own bias comes before alpha, ours after: then, and for a bias along the columns, it is a binary
 * post-operation; or a primitive of its own after the multiplication, which then carries the activation.
 */
static void build_matmul(onednn_program *program, const bench_case *c, const onednn_operands *operands, unsigned flags)
{
    const bench_gemm *g = &c->as.gemm;
    matrices m = describe(program, g, operands);
    const bool separate = (flags & ONEDNN_GEMM_SEPARATE_BIAS) != 0;
    const bool native = g->bias == BENCH_BIAS_ROW && g->alpha == 1 && !separate;
    onednn_epilogue epilogue = {.alpha = (float)g->alpha,
                                .beta = (float)g->beta,
                                .act = separate ? HUSK_ACT_NONE : c->act,
                                .precision = c->precision};
    if (m.bias && !native && !separate)
        epilogue.add = m.bias;
    const int add_index = (g->alpha != 1) + (g->beta != 0);
    const_dnnl_primitive_attr_t attr = onednn_program_attr(program, &epilogue);
    if (!onednn_program_ok(program))
        return;

    dnnl_primitive_desc_t pd = NULL;
    dnnl_status_t made =
        onednn_matmul(&pd, program->session->engine, m.a, flags & ONEDNN_GEMM_OWN_WEIGHTS ? m.b_any : m.b,
                      native ? m.bias : NULL, m.c, attr);
    onednn_program_pd(program, made, pd, "matmul");
    if (has_spread_vector(g))
        onednn_program_mistrust(program, "brg_matmul", 12, "matmul with a vector whose elements lie apart");
    onednn_program_allow(program, c->precision, g->k);
    const onednn_md *b = onednn_program_query(program, pd, dnnl_query_weights_md, 0);
    dnnl_memory_t b_memory = onednn_program_input(program, onednn_packing_stage(c), m.b, m.b_memory, b);
    dnnl_exec_arg_t arguments[] = {
        {DNNL_ARG_SRC, m.a_memory},
        {DNNL_ARG_WEIGHTS, b_memory},
        {DNNL_ARG_DST, m.c_memory},
        {DNNL_ARG_BIAS, native ? m.bias_memory : NULL},
        {DNNL_ARG_ATTR_MULTIPLE_POST_OP(add_index) | DNNL_ARG_SRC_1, epilogue.add ? m.bias_memory : NULL},
    };
    onednn_program_step(program, ONEDNN_RUN, pd, 5, arguments);

    if (separate && onednn_program_ok(program)) {
        const onednn_epilogue activation = {.alpha = 1, .act = c->act};
        dnnl_primitive_desc_t add = NULL;
        made = onednn_add(&add, program->session->engine, m.c, m.bias, onednn_program_attr(program, &activation));
        onednn_program_pd(program, made, add, "binary");
        dnnl_exec_arg_t add_arguments[] = {
            {DNNL_ARG_SRC_0, m.c_memory}, {DNNL_ARG_SRC_1, m.bias_memory}, {DNNL_ARG_DST, m.c_memory}};
        onednn_program_step(program, ONEDNN_RUN, add, 3, add_arguments);
    }
}

static bool inner_product_applies(const bench_case *c, unsigned flags)
{
    const bench_gemm *g = &c->as.gemm;
    (void)flags;
    return c->dir == BENCH_FWD && g->batch == 1 && !g->ta && g->alpha == 1 && g->bias != BENCH_BIAS_COLUMN;
}

// Its weights are [n, k]: B seen the other way round.
static void build_inner_product(onednn_program *program, const bench_case *c, const onednn_operands *operands,
                                unsigned flags)
{
    const bench_gemm *g = &c->as.gemm;
    matrices m = describe(program, g, operands);
    const onednn_md *b = onednn_gemm_md(program, 1, g->n, g->k, g->ldb, !g->tb, false);
    const onednn_md *b_any = onednn_gemm_md(program, 1, g->n, g->k, g->ldb, !g->tb, true);
    const onednn_md *bias = g->bias ? onednn_program_md_packed(program, 1, &g->n) : NULL;
    dnnl_memory_t b_memory = onednn_program_memory(program, b, operands->w);
    dnnl_memory_t bias_memory = bias ? onednn_program_memory(program, bias, operands->bias) : NULL;
    const onednn_epilogue epilogue = {.alpha = 1, .beta = (float)g->beta, .act = c->act, .precision = c->precision};
    const_dnnl_primitive_attr_t attr = onednn_program_attr(program, &epilogue);
    if (!onednn_program_ok(program))
        return;

    dnnl_primitive_desc_t pd = NULL;
    dnnl_status_t made = onednn_inner_product(&pd, program->session->engine, dnnl_forward_inference, m.a,
                                              flags & ONEDNN_GEMM_OWN_WEIGHTS ? b_any : b, bias, m.c, attr);
    onednn_program_pd(program, made, pd, "inner product");
    onednn_program_allow(program, c->precision, g->k);
    const onednn_md *own = onednn_program_query(program, pd, dnnl_query_weights_md, 0);
    dnnl_memory_t weights = onednn_program_input(program, onednn_packing_stage(c), b, b_memory, own);
    dnnl_exec_arg_t arguments[] = {{DNNL_ARG_SRC, m.a_memory},
                                   {DNNL_ARG_WEIGHTS, weights},
                                   {DNNL_ARG_BIAS, bias_memory},
                                   {DNNL_ARG_DST, m.c_memory}};
    onednn_program_step(program, ONEDNN_RUN, pd, 4, arguments);
}

static const onednn_way ways[] = {
    {"sgemm", "auto", 0, sgemm_applies, build_sgemm},
    {"matmul", "auto", 0, matmul_applies, build_matmul},
    {"matmul, own weights", "auto", ONEDNN_GEMM_OWN_WEIGHTS, matmul_applies, build_matmul},
    {"matmul and binary", "auto", ONEDNN_GEMM_SEPARATE_BIAS, matmul_applies, build_matmul},
    {"matmul, own weights, and binary", "auto", ONEDNN_GEMM_SEPARATE_BIAS | ONEDNN_GEMM_OWN_WEIGHTS, matmul_applies,
     build_matmul},
    {"inner product", "auto", 0, inner_product_applies, build_inner_product},
    {"inner product, own weights", "auto", ONEDNN_GEMM_OWN_WEIGHTS, inner_product_applies, build_inner_product},
    {"two matmuls", "auto", 0, onednn_gemm_backward_applies, onednn_gemm_backward_build},
    {"inner product, backward", "auto", ONEDNN_GEMM_INNER_PRODUCT, onednn_gemm_backward_applies,
     onednn_gemm_backward_build},
    {"inner product, backward, own weights", "auto", ONEDNN_GEMM_INNER_PRODUCT | ONEDNN_GEMM_OWN_WEIGHTS,
     onednn_gemm_backward_applies, onednn_gemm_backward_build},
    {.name = NULL},
};

extern const onednn_op onednn_op_gemm;
const onednn_op onednn_op_gemm = {.ways = ways, .has_backward = true, .has_bf16 = true, .supports = supports};
