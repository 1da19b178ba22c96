/* SPDX-License-Identifier: MIT */
/* bench/baseline/onednn_gemm_backward.h: the gradients of matrix multiplication. */
#ifndef BENCH_BASELINE_ONEDNN_GEMM_BACKWARD_H
#define BENCH_BASELINE_ONEDNN_GEMM_BACKWARD_H

#include "baseline/onednn_op.h"

/* The gradients (dir=bwd). */
bool onednn_gemm_backward_supports(const bench_case *c, char reason[BENCH_REASON_TEXT]);
bool onednn_gemm_backward_applies(const bench_case *c, unsigned flags);
void onednn_gemm_backward_build(onednn_program *program, const bench_case *c, const onednn_operands *operands,
                                unsigned flags);

#endif
