/* SPDX-License-Identifier: MIT */
/*
 * ops/shared/matrices.h: what a batch of matrix products must keep to, for gemm and quantized_gemm. In
 * ops/shared/matrices.c.
 */
#ifndef HUSK_OPS_SHARED_MATRICES_H
#define HUSK_OPS_SHARED_MATRICES_H

#include "base/error.h"

/* Refuses sizes of c = a b whose packed operands could not be counted: it names c. */
husk_status husk__matrices_check(int64_t batch, int64_t m, int64_t n, int64_t k, const husk__scope *scope);

#endif
