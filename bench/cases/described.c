// SPDX-License-Identifier: MIT
#include "cases/described.h"

#include <stdio.h>
#include <string.h>

static double described_flops(const bench_case *c)
{
    return c->as.described.flops;
}

static double described_bytes(const bench_case *c)
{
    return c->as.described.bytes;
}

static double described_operands(const bench_case *c)
{
    return c->as.described.room > 0 ? c->as.described.room : c->as.described.bytes;
}

const bench_op bench_op_described = {
    .name = "kernel",
    .flops = described_flops,
    .bytes = described_bytes,
    .operands = described_operands,
};

void bench_case_describe(bench_case *c, const char *text, husk_dtype dtype, double flops, double bytes)
{
    memset(c, 0, sizeof *c);
    c->op = BENCH_OP_DESCRIBED;
    c->dtype = dtype;
    c->as.described.flops = flops;
    c->as.described.bytes = bytes;
    snprintf(c->canonical, sizeof c->canonical, "%s", text);
}
