// SPDX-License-Identifier: MIT
#include "cases/ops.h"

#include <string.h>

#include "cases/described.h"

#define OP_EXTERN(lower, upper) extern const bench_op bench_op_##lower;
BENCH_OP_LIST(OP_EXTERN)
#undef OP_EXTERN

static const bench_op *const ops[] = {
#define OP_ROW(lower, upper) &bench_op_##lower,
    BENCH_OP_LIST(OP_ROW)
#undef OP_ROW
};

const bench_op *bench_op_get(bench_op_kind kind)
{
    if (kind == BENCH_OP_DESCRIBED)
        return &bench_op_described;
    return (size_t)kind < BENCH_OP_COUNT ? ops[kind] : NULL;
}

const char *bench_op_row(const bench_case *c)
{
    const bench_op *op = bench_op_get(c->op);
    return c->dir == BENCH_FWD ? op->name : op->gradients[c->dir];
}

const bench_op *bench_op_find(const char *name)
{
    for (size_t i = 0; i < BENCH_OP_COUNT; i++) {
        if (!strcmp(ops[i]->name, name))
            return ops[i];
    }
    return NULL;
}

const bench_field *bench_field_get(const bench_op *op, size_t index)
{
    size_t count = 0;
    for (const bench_field *field = op->fields; field->key; field++) {
        if (count++ == index)
            return field;
    }
    return bench_common_field(op->common, index - count);
}
