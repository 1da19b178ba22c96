// SPDX-License-Identifier: MIT
#include "cases/size.h"

#include "cases/ops.h"

double bench_case_flops(const bench_case *c)
{
    return bench_op_get(c->op)->flops(c);
}

double bench_case_peak_factor(const bench_case *c)
{
    const bench_op *op = bench_op_get(c->op);
    return op->peak_factor > 0 ? op->peak_factor : 1;
}

double bench_case_macs(const bench_case *c)
{
    const bench_op *op = bench_op_get(c->op);
    return op->macs ? op->macs(c) : 0;
}

double bench_case_bytes(const bench_case *c)
{
    return bench_op_get(c->op)->bytes(c);
}

double bench_case_operands(const bench_case *c)
{
    const bench_op *op = bench_op_get(c->op);
    return op->operands ? op->operands(c) : op->bytes(c);
}

bool bench_case_is_bandwidth(const bench_case *c)
{
    // Without operations there is nothing but what it moves.
    return bench_op_get(c->op)->is_bandwidth || (c->op == BENCH_OP_DESCRIBED && !(c->as.described.flops > 0));
}
