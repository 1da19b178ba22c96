/* SPDX-License-Identifier: MIT */
/** @file
 * General matrix multiplication, and its gradients.
 *
 *     C = activation(alpha * op(A) * op(B) + beta * C + bias)
 *
 * ## Tensors
 *
 * | tensor | shape | remark |
 * | --- | --- | --- |
 * | A | [m, k]; with transpose_a [k, m] | |
 * | B | [k, n]; with transpose_b [n, k] | may be packed |
 * | C | [m, n] | read only if beta is not 0 |
 * | bias | [n], added to every row; or [m, 1], added to every column | may be NULL |
 *
 * - With a third, leading dimension each is a batch of matrices: [batch, ...]. An A or B serves the whole batch if its
 *   rank is 2, or if its batch dimension is 1 or has stride 0. C has the full batch. bias has no batch.
 * - A and B may have any non-negative strides: leading dimensions, transposed views and batch strides are all strides.
 * - C's elements must not coincide, and C must not overlap A, B or bias.
 *
 * ## Dtypes
 *
 * - A, B and C have one dtype: f32, f16, bf16 or f64. Or some of them are f32 and the others f16, or the others bf16:
 *   for example f32 results of f16 matrices, or f32 activations times bf16 weights.
 * - bias has the narrow dtype or f32.
 * - Narrow numbers are widened when they are read. Sums are f32 from the first product to the last, and are rounded
 *   once, to nearest, when they are stored. alpha, beta, bias and activation are applied before that. Past f16's range
 *   (65504) C is infinite.
 * - f64 does not mix with other dtypes, bias included, and is computed in f64. Only alpha, beta and the activation's
 *   slope are f32 numbers.
 *
 * ## Zero sizes
 *
 * - m, n or batch of 0 does nothing.
 * - k of 0 gives activation(beta * C + bias). So does alpha of 0: A and B are not read, as in BLAS, whatever they hold.
 *   The named variant does not matter then. What computes this case is made at the first such call, also of a plan.
 *
 * ## Error
 *
 * For each element before the activation:
 *
 *     |error| <= (4 + 2 sqrt k) * 2^-24 * (|alpha| sum |a b| + |beta c| + |bias|)      2^-53 in f64
 *
 * A C in f16 or bf16 adds half a unit in the last place. This bound is for rounding errors of either sign. If a
 * thousand terms or more have one sign and similar size, all variants except packed may err by as much as
 * (4 + k) * 2^-24 times the same sum (docs/operators.md).
 *
 * Matrix engines, and f32 matrices in the precision HIGH or MEDIUM, have bounds of their own: see ::husk_precision, and
 * husk_plan_error_factor() for a plan.
 *
 * NaN and infinity propagate as IEEE 754 says. Denormals may be flushed to zero, also among the products before alpha.
 * Denormals of f16 are not flushed.
 */
#ifndef HUSK_OPS_GEMM_H
#define HUSK_OPS_GEMM_H

#include <husk/ops/activation.h>
#include <husk/plan.h>

HUSK_BEGIN_DECLS

/** Options of husk_gemm() and its gradient. */
typedef struct husk_gemm_params {
    uint32_t size;            /**< sizeof this struct; HUSK_GEMM_PARAMS() sets it. */
    uint32_t transpose_a;     /**< Not 0: A is given as [k, m]. */
    uint32_t transpose_b;     /**< Not 0: B is given as [n, k]. */
    husk_act activation;
    float activation_slope;   /**< LEAKY_RELU only, as in husk_activation_params. */
    husk_precision precision;
    uint64_t workspace_limit; /**< Most bytes of scratch memory; 0: the default of husk_plan_workspace(). */
    /** NULL: the library chooses. Else a name of husk_op_variant() for "gemm", or "name:configuration". */
    const char *variant;
    uint32_t accumulate;      /**< Gradients only: bits of husk_accumulate. */
} husk_gemm_params;

/** Makes a husk_gemm_params; see husk/export.h. */
#define HUSK_GEMM_PARAMS(...) HUSK_MAKE(husk_gemm_params, __VA_ARGS__)

/**
 * Enqueue the multiplication.
 *
 * @param params NULL for the defaults
 */
HUSK_API husk_status husk_gemm(husk_queue *queue, const husk_gemm_params *params, float alpha, const husk_tensor *a,
                               const husk_tensor *b, const husk_tensor *bias, float beta, const husk_tensor *c);

/**
 * Create a plan for these shapes, strides and options. Buffers and offsets of the tensors are ignored, and may differ
 * in every run; shapes and strides may not. alpha and beta are arguments of the run.
 */
HUSK_API husk_status husk_gemm_plan_create(husk_context *context, const husk_gemm_params *params, const husk_tensor *a,
                                           const husk_tensor *b, const husk_tensor *bias, const husk_tensor *c,
                                           husk_plan **plan, husk_error *error);
/** Enqueue a run of the plan. */
HUSK_API husk_status husk_gemm_plan_run(husk_plan *plan, husk_queue *queue, float alpha, const husk_tensor *a,
                                        const husk_tensor *b, const husk_tensor *bias, float beta,
                                        const husk_tensor *c);
/**
 * Pack B for the plan. The packing is enqueued on the queue; uses on other queues must be ordered after it
 * (husk_queue_record(), husk_queue_wait()).
 *
 * The packed B fits every plan on this context with the same k, n, transpose_b, dtype of B, precision, variant and
 * configuration, whatever its m. Other plans refuse it. f16 and bf16 are kept as they are, in half the memory.
 *
 * @retval HUSK_UNSUPPORTED B is batched, or B is f32 and another tensor is narrower.
 */
HUSK_API husk_status husk_gemm_plan_pack(husk_plan *plan, husk_queue *queue, const husk_tensor *b,
                                         husk_packed **packed);

/**
 * Enqueue the gradients, from dy, the gradient of the result.
 *
 * The result is C' = activation(x) with x = alpha * op(A) * op(B) + beta * C + bias. With z = dy * activation'(x), over
 * every matrix of the batch:
 *
 *     da      [as A]               op(A)' = alpha * z * op(B)^T
 *     db      [as B]               op(B)' = alpha * op(A)^T * z
 *     dbias   [n], [1, n], [m, 1]  the sum of z over batch and rows, or over batch and columns
 *     dc      [as C]               beta * z: the gradient of the C that forward read
 *
 * Each has the transposition of A, B or C; any may be NULL. PyTorch's autograd through matmul, addmm and baddbmm gives
 * the same.
 *
 * @par An A or B that serves the whole batch
 * Its gradient is the sum over the batch. da is then [m, k], [1, m, k] or, like an A that was expanded, [batch, m, k]
 * with a batch stride of 0. For an A that was expanded, a full da may be requested instead: the gradient of each use.
 *
 * @par Tensors
 * - a is needed for db; otherwise it may be NULL.
 * - b is needed for da; otherwise it may be NULL. It is never packed.
 * - x and y are what the activation read and wrote, as for husk_activation_backward(); y is the C that forward wrote.
 * - dy is [m, n] or [batch, m, n], with any strides.
 * - The elements of a gradient must not coincide, except by a batch stride of 0. No gradient may overlap anything else;
 *   only dc may be dy itself, unless it is added to.
 *
 * @par Which of x and y is needed
 * | activation | needed |
 * | --- | --- |
 * | NONE | neither |
 * | RELU, LEAKY_RELU with a slope >= 0, RELU6, SIGMOID, TANH | y or x; if both are given, y is read |
 * | GELU, GELU_TANH, SILU | x |
 *
 * @par
 * To have x, run husk_gemm() without an activation, keep its result, and apply husk_activation() to it.
 *
 * @par Options
 * params are those of forward; the variant is one of gemm_backward. HUSK_ACCUMULATE_INPUTS adds to da and dc,
 * HUSK_ACCUMULATE_PARAMETERS adds to db and dbias.
 *
 * @par Dtypes
 * - dy, x, y and dc have one dtype: f32, f16, bf16 or f64.
 * - a, b, da, db and dbias each have the same or, beside f16 and bf16, f32. So weights and their gradients may stay f32
 *   beside narrower activations.
 * - z, and sums over rows or the batch, are f32 inside, or f64 for f64. A gradient is rounded once, when it is stored.
 *
 * @par Zero sizes
 * An empty sum is 0: with m of 0, db is 0; with n of 0, da is 0. If beta is 0, so is dc.
 *
 * @par Determinism
 * Sums are divided by shape alone, and batches are added in their order. The same call gives the same bits.
 *
 * @par Error
 * For da and db, with K the number of products in a sum: n or m, times the batch if the batch is summed:
 *
 *     |error| <= (4 + 2 sqrt K) * 2^-24 * (|alpha| sum |z b| + |what was there|)
 *
 * - f16 and bf16 add half a unit in the last place.
 * - The error of z itself adds |alpha| sum |e b|, with e the bound of z from husk_activation_backward().
 * - dbias has the same bound with factors of 1.
 * - dc has one rounding of beta * z, one more if it is added to, and |beta| e.
 * - If a matrix engine multiplies, husk_plan_error_factor() replaces 4 + 2 sqrt K. It is the wider of da's and db's.
 *   dbias is not computed by engines, and keeps its bound.
 */
HUSK_API husk_status husk_gemm_backward(husk_queue *queue, const husk_gemm_params *params, float alpha,
                                        const husk_tensor *a, const husk_tensor *b, float beta, const husk_tensor *x,
                                        const husk_tensor *y, const husk_tensor *dy, const husk_tensor *da,
                                        const husk_tensor *db, const husk_tensor *dbias, const husk_tensor *dc);

/**
 * Create a plan for the gradients, as husk_gemm_plan_create() does. Every run has the same tensors, with the same
 * shapes and strides.
 */
HUSK_API husk_status husk_gemm_backward_plan_create(husk_context *context, const husk_gemm_params *params,
                                                    const husk_tensor *a, const husk_tensor *b, const husk_tensor *x,
                                                    const husk_tensor *y, const husk_tensor *dy, const husk_tensor *da,
                                                    const husk_tensor *db, const husk_tensor *dbias,
                                                    const husk_tensor *dc, husk_plan **plan, husk_error *error);
/** Enqueue a run of the plan. */
HUSK_API husk_status husk_gemm_backward_plan_run(husk_plan *plan, husk_queue *queue, float alpha, const husk_tensor *a,
                                                 const husk_tensor *b, float beta, const husk_tensor *x,
                                                 const husk_tensor *y, const husk_tensor *dy, const husk_tensor *da,
                                                 const husk_tensor *db, const husk_tensor *dbias,
                                                 const husk_tensor *dc);

HUSK_END_DECLS

#endif
