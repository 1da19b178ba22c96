/* SPDX-License-Identifier: MIT */
/*
 * husk/ops/gemm.h: general matrix multiplication.
 *
 *     C = activation(alpha * op(A) * op(B) + beta * C + bias)
 *
 *     A     [m, k], or [k, m] with transpose_a      f32
 *     B     [k, n], or [n, k] with transpose_b      f32, or packed
 *     C     [m, n]                                  f32, read only when beta is not 0
 *     bias  [n], added to every row; or [m, 1], added to every column; or NULL
 *
 * With a third, leading dimension each is a batch of matrices: [batch, ...]; an A or B of rank 2, or whose
 * batch dimension is 1 or has stride 0, serves the whole batch. C has the full batch. bias has none.
 *
 * Any non-negative strides are legal for A and B: leading dimensions, transposed views and batch strides
 * are all strides. C's elements must not coincide, and C must not overlap A, B or bias.
 * m, n or batch of 0 does nothing; k of 0 gives activation(beta * C + bias).
 *
 * Error, per element: |error| <= (4 + 2 sqrt k) * 2^-24 * (|alpha| sum |a b| + |beta c| + |bias|) before
 * the activation. NaN and infinity propagate as IEEE 754 says; denormals may be flushed to zero.
 */
#ifndef HUSK_OPS_GEMM_H
#define HUSK_OPS_GEMM_H

#include <husk/ops/activation.h>
#include <husk/plan.h>

HUSK_BEGIN_DECLS

typedef struct husk_gemm_params {
    uint32_t size;            /* sizeof this struct: HUSK_GEMM_PARAMS sets it */
    uint32_t transpose_a;     /* not 0: A is given as [k, m] */
    uint32_t transpose_b;     /* not 0: B is given as [n, k] */
    husk_act activation;
    float activation_slope;   /* LEAKY_RELU alone; 0 means 0.01 */
    husk_precision precision;
    uint64_t workspace_limit; /* most bytes of scratch; 0: the default, see husk_plan_workspace */
    const char
        *variant; /* NULL: chosen; else a name from husk_op_variant("gemm", i), or "name:configuration" */
} husk_gemm_params;

#define HUSK_GEMM_PARAMS(...) (husk_gemm_params) { .size = sizeof(husk_gemm_params), __VA_ARGS__ }

/* Enqueue the multiplication. params: NULL for the defaults. */
HUSK_API husk_status husk_gemm(husk_queue *queue, const husk_gemm_params *params, float alpha,
                               const husk_tensor *a, const husk_tensor *b, const husk_tensor *bias,
                               float beta, const husk_tensor *c);

/*
 * A plan for these shapes, strides and options; buffers and offsets of the tensors do not count, and may
 * differ in every run. Strides and shapes may not. alpha and beta are arguments of the run.
 */
HUSK_API husk_status husk_gemm_plan_create(husk_context *context, const husk_gemm_params *params,
                                           const husk_tensor *a, const husk_tensor *b,
                                           const husk_tensor *bias, const husk_tensor *c, husk_plan **plan,
                                           husk_error *error);
HUSK_API husk_status husk_gemm_plan_run(husk_plan *plan, husk_queue *queue, float alpha, const husk_tensor *a,
                                        const husk_tensor *b, const husk_tensor *bias, float beta,
                                        const husk_tensor *c);
/*
 * Pack B for the plan; the packing is enqueued on the queue, and uses on other queues must be ordered after
 * it (husk_queue_record, husk_queue_wait). The packed B fits every plan of the same k, n, transpose_b,
 * variant and configuration on this context, whatever its m; others refuse it. UNSUPPORTED for a batched B.
 */
HUSK_API husk_status husk_gemm_plan_pack(husk_plan *plan, husk_queue *queue, const husk_tensor *b,
                                         husk_packed **packed);

HUSK_END_DECLS

#endif
