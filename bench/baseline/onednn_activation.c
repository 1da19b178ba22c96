// SPDX-License-Identifier: MIT
// oneDNN: activations alone.
#include <stdio.h>

#include "baseline/onednn_op.h"

static bool supports(const bench_case *c, char reason[BENCH_REASON_TEXT])
{
    dnnl_alg_kind_t kind;
    float alpha, beta;
    if (c->act == HUSK_ACT_NONE || onednn_activation(c->act, &kind, &alpha, &beta))
        return true;
    snprintf(reason, BENCH_REASON_TEXT, "no such activation");
    return false;
}

static bool applies(const bench_case *c, unsigned flags)
{
    (void)c;
    (void)flags;
    return true;
}

// The gradient takes x, as ours does.
static void build_backward(onednn_program *program, const onednn_operands *operands, const onednn_md *md,
                           dnnl_alg_kind_t kind, float alpha, float beta)
{
    const dnnl_engine_t engine = program->session->engine;
    dnnl_memory_t x = onednn_program_memory(program, md, operands->x);
    dnnl_memory_t dy = onednn_program_memory(program, md, operands->dy);
    dnnl_memory_t dx = onednn_program_memory(program, md, operands->y);
    dnnl_primitive_desc_t forward = NULL, pd = NULL;
    if (!onednn_program_ok(program))
        return;
    dnnl_status_t made = onednn_eltwise(&forward, engine, dnnl_forward_training, kind, md, alpha, beta);
    onednn_program_check(program, made, "eltwise, training");
    if (made != dnnl_success)
        return;
    made = onednn_eltwise_backward(&pd, engine, kind, md, alpha, beta, forward);
    dnnl.primitive_desc_destroy(forward);
    onednn_program_pd(program, made, pd, "eltwise, backward");
    dnnl_exec_arg_t arguments[] = {{DNNL_ARG_SRC, x}, {DNNL_ARG_DIFF_DST, dy}, {DNNL_ARG_DIFF_SRC, dx}};
    onednn_program_step(program, ONEDNN_RUN, pd, 3, arguments);
}

static void build(onednn_program *program, const bench_case *c, const onednn_operands *operands, unsigned flags)
{
    (void)flags;
    const onednn_md *md = onednn_program_md_packed(program, 1, &c->as.activation.count);
    dnnl_memory_t x = onednn_program_memory(program, md, operands->x);
    dnnl_memory_t y = onednn_program_memory(program, md, operands->y);
    dnnl_alg_kind_t kind = dnnl_eltwise_linear; // y = x
    float alpha = 1, beta = 0;
    if (c->act != HUSK_ACT_NONE)
        onednn_activation(c->act, &kind, &alpha, &beta);
    if (!onednn_program_ok(program))
        return;
    if (c->dir != BENCH_FWD) {
        build_backward(program, operands, md, kind, alpha, beta);
        return;
    }
    dnnl_primitive_desc_t pd = NULL;
    dnnl_status_t made = onednn_eltwise(&pd, program->session->engine, dnnl_forward_inference, kind, md, alpha, beta);
    onednn_program_pd(program, made, pd, "eltwise");
    dnnl_exec_arg_t arguments[] = {{DNNL_ARG_SRC, x}, {DNNL_ARG_DST, y}};
    onednn_program_step(program, ONEDNN_RUN, pd, 2, arguments);
}

static const onednn_way ways[] = {
    {"eltwise", "auto", 0, applies, build},
    {.name = NULL},
};

extern const onednn_op onednn_op_activation;
const onednn_op onednn_op_activation = {.ways = ways, .has_backward = true, .supports = supports};
