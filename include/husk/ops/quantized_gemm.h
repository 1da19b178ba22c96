/* SPDX-License-Identifier: MIT */
/*
 * husk/ops/quantized_gemm.h: matrix multiplication of integers of eight bits, summed up in i32.
 *
 *     s[i, j] = sum over k of (A[i, k] - a.zero) B[k, j]                    exactly
 *
 *     C in i32              s
 *     C in f32, f16, bf16   x = a.scale * b_scale[j] * s[i, j] + bias[j],  C = activation(x)
 *     C in i8, u8           saturate(round(activation(x) / c.scale) + c.zero), as husk_quantize does it
 *
 * s is an i32: K beyond 65,793 can make it longer, and then its lowest 32 bits count, whatever C is (as ONNX has it).
 *
 *     A        [m, k] or [batch, m, k]   i8 or u8
 *     B        [k, n] or [batch, k, n]   i8, or packed for a plan; its zero point is 0 (symmetric weights)
 *     b_scale  f32, one element, or [n]: one for each output channel; NULL where C is i32
 *     bias     f32 [n], or NULL, as it must be where C is i32
 *     C        [m, n] or [batch, m, n]
 *
 * Any strides; transposed operands are views (husk_tensor_permute). A or B of one matrix serves the whole batch. C
 * overlaps nothing, and its elements do not coincide. a and c: scale 0 means 1, NULL means scale 1 and zero 0; zero is
 * a number of A's (C's) dtype. c only where C is quantized.
 *
 * The same as ONNX's MatMulInteger (C in i32, no zero point of B) and QLinearMatMul (C quantized; scales of B by
 * column), PyTorch's quantized linear, oneDNN's matmul with src, weights and dst scales and zero points (symmetric
 * weights). Error of x: |error| <= 2^-24 (6 |a.scale b_scale s| + 2 |bias|); C in i8 or u8 is exact, except where
 * activation(x) / c.scale lies so near a tie that this error, and 5 * 2^-24 of the quotient, decides. NaN in scales or
 * bias goes where the formula sends it, and becomes c.zero. With k of 0 sums are 0. There is no gradient: train in
 * floats.
 */
#ifndef HUSK_OPS_QUANTIZED_GEMM_H
#define HUSK_OPS_QUANTIZED_GEMM_H

#include <husk/ops/activation.h>
#include <husk/ops/quantize.h>
#include <husk/plan.h>

HUSK_BEGIN_DECLS

typedef struct husk_quantized_gemm_params {
    uint32_t size;            /* sizeof this struct: HUSK_QUANTIZED_GEMM_PARAMS sets it */
    husk_act activation;      /* none where C is i32 */
    float activation_slope;   /* LEAKY_RELU alone, as in husk_activation_params */
    uint64_t workspace_limit; /* most bytes of scratch; 0: the default, see husk_plan_workspace */
    const char *variant;      /* NULL: chosen */
} husk_quantized_gemm_params;

#define HUSK_QUANTIZED_GEMM_PARAMS(...) HUSK_MAKE(husk_quantized_gemm_params, __VA_ARGS__)

/* params: NULL for the defaults. */
HUSK_API husk_status husk_quantized_gemm(husk_queue *queue, const husk_quantized_gemm_params *params,
                                         const husk_tensor *a, const husk_quantization *a_quantization,
                                         const husk_tensor *b, const husk_tensor *b_scale, const husk_tensor *bias,
                                         const husk_tensor *c, const husk_quantization *c_quantization);

/*
 * A plan for these shapes, strides and options, and B packed for it, as husk_gemm_plan_create has it: buffers and
 * offsets may differ in every run, and the scales and zero points of A and C are arguments of the run.
 */
HUSK_API husk_status husk_quantized_gemm_plan_create(husk_context *context, const husk_quantized_gemm_params *params,
                                                     const husk_tensor *a, const husk_tensor *b,
                                                     const husk_tensor *b_scale, const husk_tensor *bias,
                                                     const husk_tensor *c, husk_plan **plan, husk_error *error);
HUSK_API husk_status husk_quantized_gemm_plan_run(husk_plan *plan, husk_queue *queue, const husk_tensor *a,
                                                  const husk_quantization *a_quantization, const husk_tensor *b,
                                                  const husk_tensor *b_scale, const husk_tensor *bias,
                                                  const husk_tensor *c, const husk_quantization *c_quantization);
/*
 * Pack B for the plan, columns' sums included. It fits every plan of the same k, n, variant and configuration on this
 * context; others refuse it. UNSUPPORTED for a batched B, and where the plan's variant takes B as it is, as those for
 * GPUs do: then run it with B itself.
 */
HUSK_API husk_status husk_quantized_gemm_plan_pack(husk_plan *plan, husk_queue *queue, const husk_tensor *b,
                                                   husk_packed **packed);

HUSK_END_DECLS

#endif
