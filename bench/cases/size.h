/* SPDX-License-Identifier: MIT */
/* bench/cases/size.h: how much a case computes and moves. */
#ifndef BENCH_CASES_SIZE_H
#define BENCH_CASES_SIZE_H

#include "cases/case.h"

/* Floating-point operations by the operator's own definition (multiply and add count as two). */
double bench_case_flops(const bench_case *c);
/* Multiply-adds of the linear part; 0 for pool, softmax and activation. */
double bench_case_macs(const bench_case *c);
/* Bytes that must move at the least: what is needed of every input read once, every output written once. */
double bench_case_bytes(const bench_case *c);
/*
 * Bytes that the operands and results take, whether they have to move or not, with what lies between rows: of small
 * cases about, of large ones close.
 */
double bench_case_operands(const bench_case *c);
/* How many operations of the case a device does in the time of one of f32's. */
double bench_case_peak_factor(const bench_case *c);
/* True when the case's figure of merit is GB/s instead of GFLOP/s (pool, softmax, activation). */
bool bench_case_is_bandwidth(const bench_case *c);

#endif
