// SPDX-License-Identifier: MIT
// oneDNN: the gradients of matrix multiplication, by two matmuls, or by its inner product's own gradients.
#include "baseline/onednn_gemm_backward.h"

#include <stdio.h>

#include "baseline/onednn_gemm_shared.h"

bool onednn_gemm_backward_supports(const bench_case *c, char reason[BENCH_REASON_TEXT])
{
    const bench_gemm *g = &c->as.gemm;
    if (c->act == HUSK_ACT_NONE && g->beta == 0 && (g->bias != BENCH_BIAS_COLUMN || g->batch == 1))
        return true;
    snprintf(reason, BENCH_REASON_TEXT, "only gradients of products and of a bias a column of C are compared");
    return false;
}

bool onednn_gemm_backward_applies(const bench_case *c, unsigned flags)
{
    const bench_gemm *g = &c->as.gemm;
    if (c->dir == BENCH_FWD)
        return false;
    return !(flags & ONEDNN_GEMM_INNER_PRODUCT) ||
           (g->batch == 1 && !g->ta && g->alpha == 1 && g->bias != BENCH_BIAS_COLUMN);
}

// to = alpha left right.
static void multiply(onednn_program *program, const bench_case *c, const onednn_md *left, dnnl_memory_t left_memory,
                     const onednn_md *right, dnnl_memory_t right_memory, const onednn_md *to, dnnl_memory_t to_memory)
{
    const onednn_epilogue epilogue = {.alpha = (float)c->as.gemm.alpha, .precision = c->precision};
    const_dnnl_primitive_attr_t attr = onednn_program_attr(program, &epilogue);
    if (!onednn_program_ok(program))
        return;
    dnnl_primitive_desc_t pd = NULL;
    dnnl_status_t made = onednn_matmul(&pd, program->session->engine, left, right, NULL, to, attr);
    onednn_program_pd(program, made, pd, "matmul");
    dnnl_exec_arg_t arguments[] = {
        {DNNL_ARG_SRC, left_memory}, {DNNL_ARG_WEIGHTS, right_memory}, {DNNL_ARG_DST, to_memory}};
    onednn_program_step(program, ONEDNN_RUN, pd, 3, arguments);
}

// The sums of dy's rows or columns, of all matrices: a product with ones is faster than oneDNN's reduction. In f32,
// whatever the products' precision: so are Husk's, and so is the bound.
static void add_bias(onednn_program *program, const bench_case *c, const onednn_operands *operands)
{
    const bench_gemm *g = &c->as.gemm;
    const bool is_row = g->bias == BENCH_BIAS_ROW;
    const int64_t length = is_row ? g->batch * g->m : g->n;
    const onednn_md *ones =
        onednn_gemm_md(program, 1, is_row ? 1 : length, is_row ? length : 1, is_row ? length : 1, false, false);
    dnnl_memory_t ones_memory = onednn_program_memory(program, ones, NULL);
    void *values = NULL;
    if (!onednn_program_ok(program))
        return;
    onednn_program_check(program, dnnl.memory_get_data_handle(ones_memory, &values), "memory of ones");
    for (int64_t i = 0; values && i < length; i++)
        ((float *)values)[i] = 1;
    const int64_t rows = is_row ? g->batch * g->m : g->m;
    const onednn_md *dy = onednn_gemm_md(program, 1, rows, g->n, g->ldc, false, false);
    const onednn_md *sums = is_row ? onednn_gemm_md(program, 1, 1, g->n, g->n, false, false)
                                   : onednn_gemm_md(program, 1, g->m, 1, 1, false, false);
    dnnl_memory_t dy_memory = onednn_program_memory(program, dy, operands->dy);
    dnnl_memory_t sums_memory = onednn_program_memory(program, sums, operands->gradients[1]);
    bench_case unscaled = *c;
    unscaled.as.gemm.alpha = 1;
    unscaled.precision = HUSK_PRECISION_HIGHEST;
    if (is_row)
        multiply(program, &unscaled, ones, ones_memory, dy, dy_memory, sums, sums_memory);
    else
        multiply(program, &unscaled, dy, dy_memory, ones, ones_memory, sums, sums_memory);
}

// A matrix as it is stored, or as its transpose is: rows, columns and the operand's own flag.
typedef struct matrix {
    int64_t rows, columns, leading;
    bool is_transposed;
    float *data;
} matrix;

static matrix transposed(matrix m)
{
    return (matrix){m.columns, m.rows, m.leading, !m.is_transposed, m.data};
}

// to = alpha left right; or their transposes, so that the result is stored by rows: oneDNN has no fast way for others.
static void multiply_matrices(onednn_program *program, const bench_case *c, matrix left, matrix right, matrix to)
{
    if (to.is_transposed) {
        multiply_matrices(program, c, transposed(right), transposed(left), transposed(to));
        return;
    }
    const matrix *const all[] = {&left, &right, &to};
    const onednn_md *md[3];
    dnnl_memory_t memory[3];
    for (int i = 0; i < 3; i++) {
        md[i] = onednn_gemm_md(program, c->as.gemm.batch, all[i]->rows, all[i]->columns, all[i]->leading,
                               all[i]->is_transposed, false);
        memory[i] = onednn_program_memory(program, md[i], all[i]->data);
    }
    multiply(program, c, md[0], memory[0], md[1], memory[1], md[2], memory[2]);
}

// dA = dy B', dB = A' dy.
static void build_matmuls(onednn_program *program, const bench_case *c, const onednn_operands *operands)
{
    const bench_gemm *g = &c->as.gemm;
    const matrix a = {g->m, g->k, g->lda, g->ta != 0, operands->x};
    const matrix b = {g->k, g->n, g->ldb, g->tb != 0, operands->w};
    const matrix dy = {g->m, g->n, g->ldc, false, operands->dy};
    matrix da = a, db = b;
    onednn_program_allow(program, c->precision, g->batch * g->m + g->n + g->k);
    da.data = operands->y;
    db.data = operands->gradients[0];
    multiply_matrices(program, c, dy, transposed(b), da);
    multiply_matrices(program, c, transposed(a), dy, db);
    if (g->bias)
        add_bias(program, c, operands);
}

// Its weights are [n, k]: B seen the other way round. The bias' gradient comes with the weights'.
static void build_inner_product(onednn_program *program, const bench_case *c, const onednn_operands *operands,
                                unsigned flags)
{
    const bench_gemm *g = &c->as.gemm;
    const dnnl_engine_t engine = program->session->engine;
    const bool any = (flags & ONEDNN_GEMM_OWN_WEIGHTS) != 0;
    const onednn_md *a = onednn_gemm_md(program, 1, g->m, g->k, g->lda, false, false);
    const onednn_md *dy = onednn_gemm_md(program, 1, g->m, g->n, g->ldc, false, false);
    const onednn_md *b = onednn_gemm_md(program, 1, g->n, g->k, g->ldb, !g->tb, false);
    const onednn_md *wanted = any ? onednn_gemm_md(program, 1, g->n, g->k, g->ldb, false, true) : b;
    const onednn_md *bias = g->bias ? onednn_program_md_packed(program, 1, &g->n) : NULL;
    dnnl_memory_t a_memory = onednn_program_memory(program, a, operands->x);
    dnnl_memory_t da_memory = onednn_program_memory(program, a, operands->y);
    dnnl_memory_t b_memory = onednn_program_memory(program, b, operands->w);
    dnnl_memory_t db_memory = onednn_program_memory(program, b, operands->gradients[0]);
    dnnl_memory_t dy_memory = onednn_program_memory(program, dy, operands->dy);
    dnnl_memory_t bias_memory = bias ? onednn_program_memory(program, bias, operands->gradients[1]) : NULL;
    dnnl_primitive_desc_t forward = NULL, data = NULL, weights = NULL;
    if (!onednn_program_ok(program))
        return;
    dnnl_status_t made = onednn_inner_product(&forward, engine, dnnl_forward_training, a, wanted, bias, dy, NULL);
    onednn_program_check(program, made, "inner product, training");
    if (made != dnnl_success)
        return;
    dnnl_status_t made_data = onednn_inner_product_backward_data(&data, engine, a, wanted, dy, forward);
    dnnl_status_t made_weights = onednn_inner_product_backward_weights(&weights, engine, a, wanted, bias, dy, forward);
    dnnl.primitive_desc_destroy(forward);
    onednn_program_pd(program, made_data, data, "inner product, backward by the data");
    onednn_program_pd(program, made_weights, weights, "inner product, backward by the weights");
    const onednn_md *own = onednn_program_query(program, data, dnnl_query_weights_md, 0);
    const onednn_md *own_diff = onednn_program_query(program, weights, dnnl_query_diff_weights_md, 0);
    dnnl_memory_t from = onednn_program_input(program, ONEDNN_RUN, b, b_memory, own);
    dnnl_exec_arg_t by_data[] = {
        {DNNL_ARG_WEIGHTS, from}, {DNNL_ARG_DIFF_DST, dy_memory}, {DNNL_ARG_DIFF_SRC, da_memory}};
    onednn_program_step(program, ONEDNN_RUN, data, 3, by_data);
    if (!onednn_program_ok(program))
        return;
    const bool is_same = dnnl.memory_desc_equal(b, own_diff);
    dnnl_memory_t to = is_same ? db_memory : onednn_program_memory(program, own_diff, NULL);
    dnnl_exec_arg_t by_weights[] = {{DNNL_ARG_SRC, a_memory},
                                    {DNNL_ARG_DIFF_DST, dy_memory},
                                    {DNNL_ARG_DIFF_WEIGHTS, to},
                                    {DNNL_ARG_DIFF_BIAS, bias_memory}};
    onednn_program_step(program, ONEDNN_RUN, weights, 4, by_weights);
    if (!is_same)
        onednn_program_reorder(program, ONEDNN_RUN, own_diff, to, b, db_memory);
}

void onednn_gemm_backward_build(onednn_program *program, const bench_case *c, const onednn_operands *operands,
                                unsigned flags)
{
    if (flags & ONEDNN_GEMM_INNER_PRODUCT)
        build_inner_product(program, c, operands, flags);
    else
        build_matmuls(program, c, operands);
}
