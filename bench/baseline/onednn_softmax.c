// SPDX-License-Identifier: MIT
// oneDNN: softmax and log-softmax.
#include <stdio.h>

#include "baseline/onednn_op.h"

enum { IN_PLACE, AXIS_LAST };

static bool supports(const bench_case *c, char reason[BENCH_REASON_TEXT])
{
    const bench_softmax *s = &c->as.softmax;
    if (s->outer && s->axis && s->inner)
        return true;
    snprintf(reason, BENCH_REASON_TEXT, "empty tensors");
    return false;
}

static bool applies(const bench_case *c, unsigned flags)
{
    return flags == IN_PLACE || c->as.softmax.inner > 1;
}

// The gradient takes y, which forward has saved.
static void build_backward(onednn_program *program, const bench_case *c, const onednn_operands *operands,
                           const onednn_md *plain, const onednn_md *md)
{
    const bool log = c->as.softmax.log != 0;
    const dnnl_engine_t engine = program->session->engine;
    dnnl_memory_t y = onednn_program_memory(program, plain, operands->saved[0]);
    dnnl_memory_t dy = onednn_program_memory(program, plain, operands->dy);
    dnnl_memory_t dx = onednn_program_memory(program, plain, operands->y);
    if (!onednn_program_ok(program))
        return;
    dnnl_primitive_desc_t forward = NULL, pd = NULL;
    dnnl_status_t made = onednn_softmax(&forward, engine, dnnl_forward_training, log, md, 1);
    onednn_program_check(program, made, "softmax, training");
    if (made == dnnl_success) {
        made = onednn_softmax_backward(&pd, engine, log, md, 1, forward);
        dnnl.primitive_desc_destroy(forward);
        onednn_program_pd(program, made, pd, "softmax, backward");
    }
    dnnl_memory_t saved = onednn_program_input(program, ONEDNN_RUN, plain, y, md);
    dnnl_memory_t from = onednn_program_input(program, ONEDNN_RUN, plain, dy, md);
    dnnl_memory_t to = md == plain ? dx : onednn_program_memory(program, md, NULL);
    dnnl_exec_arg_t arguments[] = {{DNNL_ARG_DST, saved}, {DNNL_ARG_DIFF_DST, from}, {DNNL_ARG_DIFF_SRC, to}};
    onednn_program_step(program, ONEDNN_RUN, pd, 3, arguments);
    if (md != plain)
        onednn_program_reorder(program, ONEDNN_RUN, md, to, plain, dx);
}

static void build(onednn_program *program, const bench_case *c, const onednn_operands *operands, unsigned flags)
{
    const bench_softmax *s = &c->as.softmax;
    const int64_t dims[3] = {s->outer, s->axis, s->inner};
    const int64_t axis_last[3] = {s->axis * s->inner, 1, s->axis};
    const int rank = s->inner > 1 ? 3 : 2;
    const onednn_md *plain = onednn_program_md_packed(program, rank, dims);
    const onednn_md *md = flags == AXIS_LAST ? onednn_program_md(program, rank, dims, axis_last) : plain;
    if (c->dir == BENCH_BWD) {
        build_backward(program, c, operands, plain, md);
        return;
    }
    dnnl_memory_t x = onednn_program_memory(program, plain, operands->x);
    dnnl_memory_t y = onednn_program_memory(program, plain, operands->y);
    if (!onednn_program_ok(program))
        return;
    dnnl_primitive_desc_t pd = NULL;
    dnnl_status_t made = onednn_softmax(&pd, program->session->engine, dnnl_forward_inference, s->log != 0, md, 1);
    onednn_program_pd(program, made, pd, "softmax");
    dnnl_memory_t from = onednn_program_input(program, ONEDNN_RUN, plain, x, md);
    dnnl_memory_t to = flags == AXIS_LAST ? onednn_program_memory(program, md, NULL) : y;
    dnnl_exec_arg_t arguments[] = {{DNNL_ARG_SRC, from}, {DNNL_ARG_DST, to}};
    onednn_program_step(program, ONEDNN_RUN, pd, 2, arguments);
    if (flags == AXIS_LAST)
        onednn_program_reorder(program, ONEDNN_RUN, md, to, plain, y);
}

static const onednn_way ways[] = {
    {"softmax", "auto", IN_PLACE, applies, build},
    {"softmax between reorders to axis last", "auto", AXIS_LAST, applies, build},
    {.name = NULL},
};

extern const onednn_op onednn_op_softmax;
const onednn_op onednn_op_softmax = {.ways = ways, .has_backward = true, .supports = supports};
