/* SPDX-License-Identifier: MIT */
/*
 * bench/baseline/onednn_gemm_shared.h: what matrix multiplication and its gradients share.
 */
#ifndef BENCH_BASELINE_ONEDNN_GEMM_SHARED_H
#define BENCH_BASELINE_ONEDNN_GEMM_SHARED_H

#include "baseline/onednn_op.h"

enum { ONEDNN_GEMM_OWN_WEIGHTS = 1, ONEDNN_GEMM_SEPARATE_BIAS = 2, ONEDNN_GEMM_INNER_PRODUCT = 4 };

/* A matrix [rows, columns], or a batch of them, stored so or transposed. any: in whatever layout oneDNN likes best. */
const onednn_md *onednn_gemm_md(onednn_program *program, int64_t batch, int64_t rows, int64_t columns, int64_t leading,
                                bool transposed, bool any);

#endif
