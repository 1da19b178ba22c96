// SPDX-License-Identifier: MIT
// The runner ref: conv.
#include "ref/conv/conv.h"

#include "baseline/ref_op.h"
#include "cases/space.h"

static bool run(const bench_ref_state *s, const husk_ref_array *y)
{
    const bench_conv *v = &s->c.as.conv;
    husk_conv_params params =
        HUSK_CONV_PARAMS(.activation = s->c.act, .activation_slope = BENCH_LEAKY_SLOPE, .groups = v->groups);
    for (int64_t i = 0; i < v->space; i++) {
        params.stride[i] = v->stride[i];
        params.pad[i] = v->pad[i];
        params.pad_end_extra[i] = v->pad_end[i] - v->pad[i];
        params.dilation[i] = v->dilation[i];
    }
    husk_ref_array x = bench_ref_array(&s->data->x), w = bench_ref_array(&s->data->w), bias;
    const husk_ref_array *there = &bias;
    bias = bench_ref_optional(&s->data->bias, &there);
    const husk_ref_conv op = {.params = &params, .x = &x, .w = &w, .bias = there};
    husk_ref_conv_run(&op, y);
    return true;
}

extern const bench_ref_op bench_ref_op_conv;
const bench_ref_op bench_ref_op_conv = {.run = run};
