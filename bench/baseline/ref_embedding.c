// SPDX-License-Identifier: MIT
// The runner ref: embedding.
#include "ref/lookup/embedding.h"

#include "baseline/ref_op.h"

static bool run(const bench_ref_state *s, const husk_ref_array *y)
{
    husk_ref_array table = bench_ref_array(&s->data->x), indices = bench_ref_array(&s->data->saved[0]);
    const husk_ref_embedding op = {.table = &table, .indices = &indices};
    husk_ref_embedding_run(&op, y);
    return true;
}

extern const bench_ref_op bench_ref_op_embedding;
const bench_ref_op bench_ref_op_embedding = {.run = run};
