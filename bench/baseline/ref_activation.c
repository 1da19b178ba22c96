// SPDX-License-Identifier: MIT
// The runner ref: activation.
#include "ref/elementwise/activation.h"

#include "baseline/ref_op.h"

static bool run(const bench_ref_state *s, const husk_ref_array *y)
{
    const husk_activation_params params = HUSK_ACTIVATION_PARAMS(.activation = s->c.act, .slope = BENCH_LEAKY_SLOPE);
    husk_ref_array x = bench_ref_array(&s->data->x);
    const husk_ref_activation op = {.params = &params, .x = &x};
    husk_ref_activation_run(&op, y);
    return true;
}

extern const bench_ref_op bench_ref_op_activation;
const bench_ref_op bench_ref_op_activation = {.run = run};
