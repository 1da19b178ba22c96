// SPDX-License-Identifier: MIT
// The runner ref: softmax.
#include "ref/softmax/softmax.h"

#include "baseline/ref_op.h"

static bool run(const bench_ref_state *s, const husk_ref_array *y)
{
    const husk_softmax_params params = HUSK_MAKE(husk_softmax_params, .axis = 1, .log = (uint32_t)s->c.as.softmax.log);
    husk_ref_array x = bench_ref_array(&s->data->x);
    const husk_ref_softmax op = {.params = &params, .x = &x};
    return husk_ref_softmax_run(&op, y);
}

extern const bench_ref_op bench_ref_op_softmax;
const bench_ref_op bench_ref_op_softmax = {.run = run};
