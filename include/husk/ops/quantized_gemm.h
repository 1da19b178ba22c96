/* SPDX-License-Identifier: MIT */
/** @file
 * Matrix multiplication of integers of eight bits, with sums in i32.
 *
 *     s[i, j] = sum over k of (A[i, k] - a.zero) B[k, j]                    exactly
 *
 *     C in i32              s
 *     C in f32, f16, bf16   x = a.scale * b_scale[j] * s[i, j] + bias[j],  C = activation(x)
 *     C in i8, u8           saturate(round(activation(x) / c.scale) + c.zero), as husk_quantize does it
 *
 * s is an i32. With K beyond 65,793 it may overflow; then its lowest 32 bits count, whatever C is, as in ONNX.
 *
 * ## Tensors
 *
 * | tensor | shape | dtype |
 * | --- | --- | --- |
 * | A | [m, k] or [batch, m, k] | i8 or u8 |
 * | B | [k, n] or [batch, k, n]; or packed for a plan | i8; its zero point is 0 (symmetric weights) |
 * | b_scale | one element, or [n], one for each output channel; NULL if C is i32 | f32 |
 * | bias | [n]; may be NULL, and must be if C is i32 | f32 |
 * | C | [m, n] or [batch, m, n] | i32, f32, f16, bf16, i8 or u8 |
 *
 * - Any strides. Transposed operands are views (husk_tensor_permute()).
 * - An A or B of one matrix serves the whole batch.
 * - C overlaps nothing, and its elements do not coincide.
 * - a and c are the quantizations of A and C. A scale of 0 means 1; NULL means scale 1 and zero 0. zero is a number of
 *   A's or C's dtype. c is given only if C is quantized.
 * - With k of 0, sums are 0.
 * - There is no gradient: train in floats.
 *
 * ## PyTorch, ONNX and oneDNN
 *
 * | there | here |
 * | --- | --- |
 * | ONNX's MatMulInteger | C in i32, no zero point of B |
 * | ONNX's QLinearMatMul | C quantized; scales of B by column |
 * | PyTorch's quantized linear | the same |
 * | oneDNN's matmul with scales and zero points of src, weights and dst | symmetric weights only |
 *
 * ## Error
 *
 * Of x:
 *
 *     |error| <= 2^-24 (6 |a.scale b_scale s| + 2 |bias|)
 *
 * C in i8 or u8 is exact, with one exception: activation(x) / c.scale may lie so near to a tie that this error, and
 * 5 * 2^-24 of the quotient, decides. NaN in scales or bias goes where the formula sends it; in i8 and u8 it becomes
 * c.zero.
 */
#ifndef HUSK_OPS_QUANTIZED_GEMM_H
#define HUSK_OPS_QUANTIZED_GEMM_H

#include <husk/ops/activation.h>
#include <husk/ops/quantize.h>
#include <husk/plan.h>

HUSK_BEGIN_DECLS

/** Options of husk_quantized_gemm(). */
typedef struct husk_quantized_gemm_params {
    uint32_t size;            /**< sizeof this struct; HUSK_QUANTIZED_GEMM_PARAMS() sets it. */
    husk_act activation;      /**< NONE if C is i32. */
    float activation_slope;   /**< LEAKY_RELU only, as in husk_activation_params. */
    uint64_t workspace_limit; /**< Most bytes of scratch memory; 0: the default of husk_plan_workspace(). */
    const char *variant;      /**< NULL: the library chooses. */
} husk_quantized_gemm_params;

/** Makes a husk_quantized_gemm_params; see husk/export.h. */
#define HUSK_QUANTIZED_GEMM_PARAMS(...) HUSK_MAKE(husk_quantized_gemm_params, __VA_ARGS__)

/**
 * Enqueue the multiplication.
 *
 * @param params NULL for the defaults
 */
HUSK_API husk_status husk_quantized_gemm(husk_queue *queue, const husk_quantized_gemm_params *params,
                                         const husk_tensor *a, const husk_quantization *a_quantization,
                                         const husk_tensor *b, const husk_tensor *b_scale, const husk_tensor *bias,
                                         const husk_tensor *c, const husk_quantization *c_quantization);

/**
 * Create a plan for these shapes, strides and options, as husk_gemm_plan_create() does. Buffers and offsets are
 * ignored, and may differ in every run. The scales and zero points of A and C are arguments of the run.
 */
HUSK_API husk_status husk_quantized_gemm_plan_create(husk_context *context, const husk_quantized_gemm_params *params,
                                                     const husk_tensor *a, const husk_tensor *b,
                                                     const husk_tensor *b_scale, const husk_tensor *bias,
                                                     const husk_tensor *c, husk_plan **plan, husk_error *error);
/** Enqueue a run of the plan. */
HUSK_API husk_status husk_quantized_gemm_plan_run(husk_plan *plan, husk_queue *queue, const husk_tensor *a,
                                                  const husk_quantization *a_quantization, const husk_tensor *b,
                                                  const husk_tensor *b_scale, const husk_tensor *bias,
                                                  const husk_tensor *c, const husk_quantization *c_quantization);
/**
 * Pack B for the plan, with the sums of its columns. The packed B fits every plan on this context with the same k, n,
 * variant and configuration. Other plans refuse it.
 *
 * @retval HUSK_UNSUPPORTED B is batched, or the plan's variant takes B as it is, as those for GPUs do. In the latter
 *   case run the plan with B itself.
 */
HUSK_API husk_status husk_quantized_gemm_plan_pack(husk_plan *plan, husk_queue *queue, const husk_tensor *b,
                                                   husk_packed **packed);

HUSK_END_DECLS

#endif
