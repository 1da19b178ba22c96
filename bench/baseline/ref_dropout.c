// SPDX-License-Identifier: MIT
// The runner ref: dropout.
#include "ref/elementwise/dropout.h"

#include "baseline/ref_op.h"

static bool run(const bench_ref_state *s, const husk_ref_array *y)
{
    const husk_dropout_params params =
        HUSK_DROPOUT_PARAMS(.p = (float)s->c.as.dropout.percent / 100.0f, .seed = 20150416, .offset = 7);
    husk_ref_array x = bench_ref_array(&s->data->x);
    const husk_ref_dropout op = {.params = &params, .x = &x};
    husk_ref_dropout_run(&op, y);
    return true;
}

extern const bench_ref_op bench_ref_op_dropout;
const bench_ref_op bench_ref_op_dropout = {.run = run};
