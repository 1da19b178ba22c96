// SPDX-License-Identifier: MIT
// The runner ref: unary.
#include "ref/elementwise/unary.h"

#include "baseline/ref_op.h"

static bool run(const bench_ref_state *s, const husk_ref_array *y)
{
    const husk_unary_params params = HUSK_UNARY_PARAMS(.op = s->c.as.unary.op, .low = -1, .high = 1, .exponent = 1.5f);
    husk_ref_array x = bench_ref_array(&s->data->x);
    const husk_ref_unary op = {.params = &params, .x = &x};
    husk_ref_unary_run(&op, y);
    return true;
}

extern const bench_ref_op bench_ref_op_unary;
const bench_ref_op bench_ref_op_unary = {.run = run};
