/* SPDX-License-Identifier: MIT */
/*
 * husk/ops/gemm.h: general matrix multiplication.
 *
 *     C = activation(alpha * op(A) * op(B) + beta * C + bias)
 *
 *     A     [m, k], or [k, m] with transpose_a      f32, f16, bf16 or f64
 *     B     [k, n], or [n, k] with transpose_b      the same, or packed
 *     C     [m, n]                                  the same; read only when beta is not 0
 *     bias  [n], added to every row; or [m, 1], added to every column; or NULL
 *
 * A, B and C are of one dtype, or some of them f32 and the others f16, or the others bf16: f32 results of f16 matrices,
 * f32 activations times bf16 weights. bias is of the narrow dtype or f32. Whatever is narrower is widened when it is
 * read; sums are f32 from their first product to their last, and rounded once, to nearest, when they are stored. Past
 * f16's range (65504) C is infinite; alpha, beta, bias and activation come before that. f64 stands alone, bias
 * included, and is computed in f64; alpha, beta and the activation's slope are f32 numbers there, too.
 *
 * With a third, leading dimension each is a batch of matrices: [batch, ...]; an A or B of rank 2, or whose
 * batch dimension is 1 or has stride 0, serves the whole batch. C has the full batch. bias has none.
 *
 * Any non-negative strides are legal for A and B: leading dimensions, transposed views and batch strides
 * are all strides. C's elements must not coincide, and C must not overlap A, B or bias.
 * m, n or batch of 0 does nothing; k of 0 gives activation(beta * C + bias), and so does alpha of 0: A and B are not
 * read, as in BLAS, whatever they hold. The variant that was named does not matter then, and what computes it is made
 * at the first such call, of a plan, too.
 *
 * Error, per element: |error| <= (4 + 2 sqrt k) * 2^-24 * (|alpha| sum |a b| + |beta c| + |bias|) before the
 * activation, and half a unit in the last place of a C that is f16 or bf16; in f64 2^-53 instead of 2^-24. That is for
 * rounding errors of either sign: where a thousand terms and more are of one sign and alike, all but variant packed
 * may err by as much as (4 + k) * 2^-24 times the same (docs/operators.md). A matrix engine, and precision HIGH or
 * MEDIUM of f32 matrices, have bounds of their own: husk_precision (husk/context.h), and husk_plan_error_factor for
 * the plan at hand. NaN and infinity propagate as IEEE 754 says; denormals, products before alpha among them, may be
 * flushed to zero, f16's are not.
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
    float activation_slope; /* LEAKY_RELU alone, as in husk_activation_params */
    husk_precision precision;
    uint64_t workspace_limit; /* most bytes of scratch; 0: the default, see husk_plan_workspace */
    const char
        *variant; /* NULL: chosen; else a name from husk_op_variant("gemm", i), or "name:configuration" */
    uint32_t accumulate;      /* husk_accumulate's bits, for the gradients alone */
} husk_gemm_params;

#define HUSK_GEMM_PARAMS(...) HUSK_MAKE(husk_gemm_params, __VA_ARGS__)

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
 * it (husk_queue_record, husk_queue_wait). The packed B fits every plan of the same k, n, transpose_b, dtype of B,
 * precision, variant and configuration on this context, whatever its m; others refuse it. f16 and bf16 stay what they
 * are, in half the memory. UNSUPPORTED for a batched B, and for an f32 B beside something narrower.
 */
HUSK_API husk_status husk_gemm_plan_pack(husk_plan *plan, husk_queue *queue, const husk_tensor *b,
                                         husk_packed **packed);

/*
 * The gradients of C' = activation(x), x = alpha * op(A) * op(B) + beta * C + bias, from dy, the gradient of C'.
 * With z = dy * activation'(x), over every matrix of the batch,
 *
 *     da      [as A]               op(A)' = alpha * z * op(B)^T
 *     db      [as B]               op(B)' = alpha * op(A)^T * z
 *     dbias   [n], [1, n], [m, 1]  the sum of z over batch and rows, or over batch and columns
 *     dc      [as C]               beta * z: the gradient of the C that forward read; may be dy itself
 *
 * each with A's, B's and C's transposition; any may be NULL. An A or B that serves the whole batch has as gradient
 * the sum over the batch: da is then [m, k], [1, m, k] or, like an A that was expanded, [batch, m, k] with a batch
 * stride of 0. Of an A that was expanded a full da, of each use by itself, may be asked for instead.
 *
 *     a       wanted for db, else it may be NULL
 *     b       wanted for da, else it may be NULL; never packed
 *     x, y    what the activation read and wrote, as for husk_activation_backward: y, which is the C that forward left,
 *             suffices for NONE (which needs neither), RELU, LEAKY_RELU with a slope >= 0, RELU6, SIGMOID and TANH.
 *             GELU, GELU_TANH and SILU want x: run husk_gemm without an activation, keep what it gives, and apply
 *             husk_activation to that. Where both are given, y is read for those kinds and x for the others.
 *     dy      [m, n] or [batch, m, n], with any strides
 *
 * params: forward's; its variant names one of gemm_backward. accumulate: HUSK_ACCUMULATE_INPUTS adds to da and dc,
 * HUSK_ACCUMULATE_PARAMETERS to db and dbias. PyTorch's autograd through matmul, addmm and baddbmm gives the same.
 *
 * dy, x, y and dc are of one dtype, f32, f16, bf16 or f64; a, b, da, db and dbias each of that, or, beside f16 and
 * bf16, f32: weights and their gradients may stay f32 beside narrower activations. z, and what adds up over rows or the
 * batch, is f32 meanwhile (of f64: f64), and a gradient is rounded once, when it is stored. The gradients' elements
 * must not coincide (batches of stride 0 apart), and no gradient may overlap anything else, but dc may be dy unless it
 * is added to. An empty sum is 0: with m of 0 db is zeros, with n of 0 da. Where beta is 0, so is dc. Sums are cut up
 * by shape alone, and batches are added up in their order: the same call gives the same bits.
 *
 * Error: |error| <= (4 + 2 sqrt K) * 2^-24 * (|alpha| sum |z b| + |what was there|), K being the products in a sum:
 * n or m, times the batch where that is summed up; half a unit in the last place of f16 or bf16; and beside it, for
 * what z itself errs by, |alpha| sum |e b| with husk_activation_backward's bound e of z. The same for dbias with
 * factors of 1; for dc one rounding of beta * z, one more where it is added to, and |beta| e. Where a matrix engine
 * multiplies, husk_plan_error_factor, which is the wider of da's and db's, stands for 4 + 2 sqrt K; not for dbias,
 * which no engine adds up.
 */
HUSK_API husk_status husk_gemm_backward(husk_queue *queue, const husk_gemm_params *params, float alpha,
                                        const husk_tensor *a, const husk_tensor *b, float beta,
                                        const husk_tensor *x, const husk_tensor *y, const husk_tensor *dy,
                                        const husk_tensor *da, const husk_tensor *db, const husk_tensor *dbias,
                                        const husk_tensor *dc);

/* Plans, as for husk_gemm: in every run the same tensors are there, with the same shapes and strides. */
HUSK_API husk_status husk_gemm_backward_plan_create(husk_context *context, const husk_gemm_params *params,
                                                    const husk_tensor *a, const husk_tensor *b, const husk_tensor *x,
                                                    const husk_tensor *y, const husk_tensor *dy, const husk_tensor *da,
                                                    const husk_tensor *db, const husk_tensor *dbias,
                                                    const husk_tensor *dc, husk_plan **plan, husk_error *error);
HUSK_API husk_status husk_gemm_backward_plan_run(husk_plan *plan, husk_queue *queue, float alpha,
                                                 const husk_tensor *a, const husk_tensor *b, float beta,
                                                 const husk_tensor *x, const husk_tensor *y, const husk_tensor *dy,
                                                 const husk_tensor *da, const husk_tensor *db,
                                                 const husk_tensor *dbias, const husk_tensor *dc);

HUSK_END_DECLS

#endif
