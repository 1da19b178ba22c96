/* SPDX-License-Identifier: MIT */
/*
 * ops/gemm/backward_problem.h: the gradients of a multiplication with every default filled in, shared by
 * backward.c (the public calls) and backward_variants.c.
 */
#ifndef HUSK_OPS_GEMM_BACKWARD_PROBLEM_H
#define HUSK_OPS_GEMM_BACKWARD_PROBLEM_H

#include <husk/ops/gemm.h>

#include "base/epilogue.h"
#include "select/plan.h"

/* The tensors of a call, in its order but for FROM, which is the x or y that is read. */
typedef enum husk__gemm_backward_tensor {
    HUSK__GEMM_BACKWARD_A,
    HUSK__GEMM_BACKWARD_B,
    HUSK__GEMM_BACKWARD_FROM,
    HUSK__GEMM_BACKWARD_DY,
    HUSK__GEMM_BACKWARD_DA,
    HUSK__GEMM_BACKWARD_DB,
    HUSK__GEMM_BACKWARD_DBIAS,
    HUSK__GEMM_BACKWARD_DC,
    HUSK__GEMM_BACKWARD_TENSORS
} husk__gemm_backward_tensor;

typedef struct husk__gemm_backward_problem {
    husk_tensor tensors[HUSK__GEMM_BACKWARD_TENSORS]; /* resolved, without memory */
    bool has[HUSK__GEMM_BACKWARD_TENSORS];            /* given, or wanted */
    bool transpose_a, transpose_b;
    bool bias_is_by_rows; /* dbias has a number a row of C */
    bool is_from_y;       /* the derivative is taken from y */
    uint32_t accumulate;
    husk_precision precision;
    husk__epilogue activation;
    int32_t kind; /* the kernels' */
    int64_t batch, m, n, k;
} husk__gemm_backward_problem;

/* What a run works on. */
typedef struct husk__gemm_backward_run {
    float alpha, beta;
    const husk_tensor *tensors[HUSK__GEMM_BACKWARD_TENSORS]; /* NULL where the problem has none */
} husk__gemm_backward_run;

extern const husk__op husk__op_gemm_backward;
extern const husk__variant husk__gemm_backward_vector;
extern const husk__variant husk__gemm_backward_grid;

#endif
