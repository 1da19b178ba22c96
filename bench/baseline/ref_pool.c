// SPDX-License-Identifier: MIT
// The runner ref: pool.
#include "ref/pool/pool.h"

#include "baseline/ref_op.h"
#include "cases/space.h"

static bool prepare(bench_ref_state *s)
{
    return !s->c.as.pool.indices || bench_ref_make_output(&s->indices, HUSK_I32, s->y.rank, s->y.shape, s->y.strides);
}

static bool run(const bench_ref_state *s, const husk_ref_array *y)
{
    const bench_pool *p = &s->c.as.pool;
    husk_pool_params params = HUSK_POOL_PARAMS(.kind = (husk_pool_kind)p->kind, .ceil_mode = (uint32_t)p->ceil,
                                               .count_pad = (uint32_t)p->count_pad, .global = (uint32_t)p->global);
    for (int64_t i = 0; i < p->space && !p->global; i++) {
        params.window[i] = p->window[i];
        params.stride[i] = p->stride[i];
        params.pad[i] = p->pad[i];
        params.pad_end_extra[i] = p->pad_end[i] - p->pad[i];
        params.dilation[i] = p->dilation[i];
    }
    husk_ref_array x = bench_ref_array(&s->data->x), indices;
    const husk_ref_array *there = &indices;
    indices = bench_ref_optional(&s->indices, &there);
    const husk_ref_pool op = {.params = &params, .x = &x};
    husk_ref_pool_run(&op, y, there);
    return true;
}

extern const bench_ref_op bench_ref_op_pool;
const bench_ref_op bench_ref_op_pool = {.prepare = prepare, .run = run};
