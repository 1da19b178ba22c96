/* SPDX-License-Identifier: MIT */
/*
 * ops/gemm/problem.h: a multiplication with every default filled in, shared by gemm.c and its variants.
 */
#ifndef HUSK_OPS_GEMM_PROBLEM_H
#define HUSK_OPS_GEMM_PROBLEM_H

#include <husk/ops/gemm.h>

#include "select/plan.h"

/* The same numbers as BIAS_NONE, BIAS_COLUMN and BIAS_ROW in cl/gemm. */
typedef enum husk__gemm_bias {
    HUSK__GEMM_BIAS_NONE = 0,
    HUSK__GEMM_BIAS_COLUMN = 1, /* one value a column */
    HUSK__GEMM_BIAS_ROW = 2     /* one value a row */
} husk__gemm_bias;

/*
 * The multiplication as a kernel sees it: sizes, and how far apart neighbours lie. A dimension of one element
 * has stride 1 here, whatever the tensor says, so that it counts as contiguous.
 */
typedef struct husk__gemm_shape {
    int64_t batch, m, n, k;
    int64_t a_row, a_step, a_batch;
    int64_t b_step, b_column, b_batch;
    int64_t c_row, c_column, c_batch;
    husk__gemm_bias bias;
    int64_t bias_stride;
} husk__gemm_shape;

/* Operands that are f32 where others are narrower. The same numbers as WIDE_A ... in cl/lib/gemm.clh. */
enum {
    HUSK__GEMM_WIDE_A = 1,
    HUSK__GEMM_WIDE_B = 2,
    HUSK__GEMM_WIDE_C = 4,
    HUSK__GEMM_WIDE_BIAS = 8,
    HUSK__GEMM_WIDE_PARTS = 16
};

typedef struct husk__gemm_problem {
    husk_tensor a, b, c, bias; /* resolved, without memory; what a run is compared with */
    husk_dtype dtype;          /* the narrowest of them: what the kernels are built for */
    int32_t wide;              /* HUSK__GEMM_WIDE_*; 0 for an f32 multiplication */
    bool has_bias;
    bool b_is_packed; /* the caller gave packed weights: b's strides mean nothing */
    bool transpose_a, transpose_b;
    husk_precision precision; /* resolved */
    husk__gemm_shape shape;
    /* As lib/activation.clh wants it. */
    int32_t activation;
    float low, slope, high;
    bool activation_is_smooth;
} husk__gemm_problem;

/* What a run works on. */
typedef struct husk__gemm_run {
    float alpha, beta;
    const husk_tensor *a, *b, *c;
    const husk_tensor *bias; /* NULL where there is none */
} husk__gemm_run;

/* ---- what the variants share: problem.c ---- */

/* C^T = B^T A^T: the same multiplication with rows and columns exchanged. */
husk__gemm_shape husk__gemm_transposed(const husk__gemm_shape *shape);

/* Whether rows and columns are better exchanged, since C lies by columns. */
bool husk__gemm_is_by_columns(const husk__gemm_shape *shape);

/* Sizes beyond this do not fit the kernels' int. */
#define HUSK__GEMM_MAX_EXTENT INT64_C(2147483000)
bool husk__gemm_fits_int(const husk__gemm_shape *shape, char reason[HUSK__REASON_CAPACITY]);

/* Whether C is too narrow for sums to wait in it: they wait in scratch memory, in f32. */
bool husk__gemm_is_narrow(const husk__gemm_problem *problem);
/* problem->wide with A and B exchanged. */
int32_t husk__gemm_wide_exchanged(int32_t wide);

double husk__gemm_flops(const husk__candidate *candidate);

/* -D options of the dtype and the activation, before a configuration's own. */
void husk__gemm_options(const husk__gemm_problem *problem, const char *configuration, char *options, size_t capacity);

/* What must agree between packed weights and a plan that uses them. */
void husk__gemm_describe_packed(const husk_plan *plan, husk__key *key);

/* ---- aligned rows, the packed weights of tiled, matrix and clblast: pack.c ---- */

/* op(B) [k, n] row after row. */
husk_status husk__gemm_rows_pack(const husk_plan *plan, husk_queue *queue, const husk_tensor *b, husk_packed **packed,
                                 const husk__scope *scope);
/* B's strides as they are there. */
void husk__gemm_use_rows(husk__gemm_shape *shape);

/* ---- panels, the packed weights of packed and skinny: packed.c ---- */

husk_status husk__gemm_panels_pack(const husk_plan *plan, husk_queue *queue, const husk_tensor *b, husk_packed **packed,
                                   const husk__scope *scope);
/* Multiply by packed weights, for any m, with so many bytes of scratch memory. */
uint64_t husk__gemm_panels_workspace(const husk__candidate *candidate);
double husk__gemm_panels_cost(const husk__candidate *candidate);
husk_status husk__gemm_panels_run(const husk_plan *plan, husk_queue *queue, const husk__gemm_run *run,
                                  const husk__scratch *scratch, const husk__scope *scope);

/* Of matrix: builds what its runs by packed weights take, so that they need not: tiled.c. */
husk_status husk__gemm_matrix_expect_packed(const husk_plan *plan, const husk__scope *scope);

/* Panels of tiles, the packed weights of cpu_matrix: cpu_matrix.c. */
husk_status husk__gemm_cpu_matrix_pack(const husk_plan *plan, husk_queue *queue, const husk_tensor *b,
                                       husk_packed **packed, const husk__scope *scope);

/* ---- the last step alone: reduce.c ---- */

/* Kernel husk_gemm_reduce: splits partial sums (0: none, so that C = act(beta * C + bias)) into C. */
typedef struct husk__gemm_reduce {
    husk__arg parts; /* the buffer of partial sums, or C itself */
    int64_t row, column, split, batch;
    int32_t splits;
    float alpha, beta;
    bool only_scales; /* no bias and no activation */
    bool wide_parts;  /* the partial sums are f32, whatever C is */
} husk__gemm_reduce;

husk_status husk__gemm_reduce_get(husk_plan *plan, const husk__kernel **kernel, const husk__scope *scope);
husk_status husk__gemm_reduce_launch(const husk__kernel *kernel, husk_queue *queue, const husk__gemm_problem *problem,
                                     const husk__gemm_reduce *reduce, const husk__gemm_run *run,
                                     const husk__scope *scope);

/* The three arguments of a bias, and the four of an activation, in the kernels' order. */
#define HUSK__GEMM_BIAS_ARGUMENTS(shape, run) \
    HUSK__ARG_TENSOR((run)->bias), HUSK__ARG_I64((shape)->bias_stride), HUSK__ARG_I32((shape)->bias)
#define HUSK__GEMM_ACTIVATION_ARGUMENTS(problem) \
    HUSK__ARG_I32((problem)->activation), HUSK__ARG_F32((problem)->low), HUSK__ARG_F32((problem)->slope), \
        HUSK__ARG_F32((problem)->high)

/* ---- the rows ---- */

extern const husk__op husk__op_gemm;
extern const husk__variant husk__gemm_packed;
extern const husk__variant husk__gemm_cpu_matrix;
extern const husk__variant husk__gemm_skinny;
extern const husk__variant husk__gemm_tiled;
extern const husk__variant husk__gemm_matrix;
#ifdef HUSK_WITH_CLBLAST
extern const husk__variant husk__gemm_clblast;
#endif

#endif
