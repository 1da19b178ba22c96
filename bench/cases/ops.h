/* SPDX-License-Identifier: MIT */
/* bench/cases/ops.h: every operator, in the order of husk_add_op. */
#ifndef BENCH_CASES_OPS_H
#define BENCH_CASES_OPS_H

#include "cases/op.h"

/* The library's operator that computes the case's direction, whose variants are its forms; NULL where there is none. */
const char *bench_op_row(const bench_case *c);

/* NULL when the number or name is no operator. DESCRIBED has sizes alone: no keys, no operands, no variants. */
const bench_op *bench_op_get(bench_op_kind kind);
const bench_op *bench_op_find(const char *name);

/* The index-th key of an operator, the common ones after its own; NULL past the end. */
const bench_field *bench_field_get(const bench_op *op, size_t index);

#endif
