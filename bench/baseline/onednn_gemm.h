/* SPDX-License-Identifier: MIT */
/*
 * baseline/onednn_gemm.h: what matrix multiplication and its gradients share.
 */
#ifndef BENCH_BASELINE_ONEDNN_GEMM_H
#define BENCH_BASELINE_ONEDNN_GEMM_H

#include "baseline/onednn_op.h"

enum { ONEDNN_GEMM_OWN_WEIGHTS = 1, ONEDNN_GEMM_SEPARATE_BIAS = 2, ONEDNN_GEMM_INNER_PRODUCT = 4 };

/* A matrix [rows, columns], or a batch of them, stored so or transposed. any: in whatever layout oneDNN likes best. */
const onednn_md *onednn_gemm_md(onednn_program *program, int64_t batch, int64_t rows, int64_t columns, int64_t leading,
                                bool transposed, bool any);

/* The gradients (dir=bwd). */
bool onednn_gemm_backward_supports(const bench_case *c, char reason[BENCH_REASON_TEXT]);
bool onednn_gemm_backward_applies(const bench_case *c, unsigned flags);
void onednn_gemm_backward_build(onednn_program *program, const bench_case *c, const onednn_operands *operands,
                                unsigned flags);

#endif
