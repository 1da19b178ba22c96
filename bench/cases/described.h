/* SPDX-License-Identifier: MIT */
/*
 * bench/cases/described.h: the case of a kernel that somebody has described (bench/spec/spec.h) and that is none of
 * Husk's operators: what it is called, computes and moves.
 */
#ifndef BENCH_CASES_DESCRIBED_H
#define BENCH_CASES_DESCRIBED_H

#include "cases/op.h"

extern const bench_op bench_op_described;

/* text: its canonical form, such as "saxpy WG=64 n=1000". dtype: what it computes in. */
void bench_case_describe(bench_case *c, const char *text, husk_dtype dtype, double flops, double bytes);

#endif
