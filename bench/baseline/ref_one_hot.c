// SPDX-License-Identifier: MIT
// The runner ref: one_hot.
#include "ref/lookup/one_hot.h"

#include "baseline/ref_op.h"

static bool run(const bench_ref_state *s, const husk_ref_array *y)
{
    const husk_one_hot_params params = HUSK_MAKE(husk_one_hot_params, .on = 0.9f, .off = 0.1f);
    husk_ref_array labels = bench_ref_array(&s->data->x);
    const husk_ref_one_hot op = {.params = &params, .labels = &labels, .classes = s->c.as.one_hot.classes};
    husk_ref_one_hot_run(&op, y);
    return true;
}

extern const bench_ref_op bench_ref_op_one_hot;
const bench_ref_op bench_ref_op_one_hot = {.run = run};
