// SPDX-License-Identifier: MIT
// The runner ref: gemm.
#include "ref/gemm/gemm.h"

#include "baseline/ref_op.h"

static bool run(const bench_ref_state *s, const husk_ref_array *y)
{
    const bench_gemm *g = &s->c.as.gemm;
    const husk_gemm_params params = HUSK_GEMM_PARAMS(.transpose_a = (uint32_t)g->ta, .transpose_b = (uint32_t)g->tb,
                                                     .activation = s->c.act, .activation_slope = BENCH_LEAKY_SLOPE);
    husk_ref_array a = bench_ref_array(&s->data->x), b = bench_ref_array(&s->data->w), bias;
    const husk_ref_array *there = &bias;
    bias = bench_ref_optional(&s->data->bias, &there);
    const husk_ref_gemm op = {
        .params = &params, .alpha = (float)g->alpha, .beta = (float)g->beta, .a = &a, .b = &b, .bias = there, .c = y};
    husk_ref_gemm_run(&op, y);
    return true;
}

extern const bench_ref_op bench_ref_op_gemm;
const bench_ref_op bench_ref_op_gemm = {.run = run};
