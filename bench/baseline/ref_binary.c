// SPDX-License-Identifier: MIT
// The runner ref: binary.
#include "ref/elementwise/binary.h"

#include "baseline/ref_op.h"

static bool run(const bench_ref_state *s, const husk_ref_array *y)
{
    const husk_binary_params params = husk_binary_defaults(s->c.as.binary.op);
    husk_ref_array a = bench_ref_array(&s->data->x), b = bench_ref_array(&s->data->w);
    const husk_ref_binary op = {.params = &params, .a = &a, .b = &b};
    husk_ref_binary_run(&op, y);
    return true;
}

extern const bench_ref_op bench_ref_op_binary;
const bench_ref_op bench_ref_op_binary = {.run = run};
