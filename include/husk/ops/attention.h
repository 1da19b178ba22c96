/* SPDX-License-Identifier: MIT */
/** @file
 * Scaled dot-product attention, and its gradients.
 *
 *     s = scale q k^T + mask,  p = softmax(s) over the keys,  y = dropout(p) v      for every head of every batch
 *
 * ## Tensors
 *
 * | tensor | shape | dtype | strides |
 * | --- | --- | --- | --- |
 * | q | [batch, heads, queries, d] | f32, f16, bf16 or, if the device has it, f64 | the last is 1 |
 * | k | [batch, kv_heads, keys, d] | as q | the last is 1 |
 * | v | [batch, kv_heads, keys, e] | as q | the last is 1 |
 * | mask | see below; may be NULL | as q, or u8 | any |
 * | y | [batch, heads, queries, e] | as q | the last is 1 |
 * | log_sum_exp | [batch, heads, queries]; may be NULL | f32; f64 beside f64 | any |
 *
 * - A tensor that is [batch, length, heads, d] in memory is passed as a view.
 * - heads is a multiple of kv_heads. Head h reads the key head h / (heads / kv_heads), rounded down: grouped queries,
 *   as in PyTorch with enable_gqa and in ONNX.
 * - e may differ from d.
 * - log_sum_exp receives log sum e^s of every row, a natural logarithm, which the gradient needs. PyTorch's fused
 *   attention saves the same; ONNX has no such output.
 * - Without queries or columns nothing happens.
 *
 * ## Masks
 *
 * - mask has at most 4 dimensions. They are aligned at their ends, and each is 1 or that of
 *   [batch, heads, queries, keys].
 * - A mask of q's dtype is added to the scores. A finite number below -2^127 counts as -2^127 (f64: -2^1023).
 * - A mask of u8 says which keys take part; 0 excludes a key. These are PyTorch's and ONNX's boolean masks.
 * - params.causal limits the keys that query i sees:
 *
 *   | causal | last key of query i | as |
 *   | --- | --- | --- |
 *   | HUSK_CAUSAL_TOP_LEFT | i | PyTorch's is_causal, and ONNX |
 *   | HUSK_CAUSAL_BOTTOM_RIGHT | i + keys - queries | attention with a cache of earlier keys |
 *
 * ## Dropout
 *
 * With the probability params.dropout, an element of p becomes zero; otherwise it is divided by 1 - dropout. Which
 * elements are dropped follows from husk_dropout() for the element's number in [batch, heads, queries, keys]. So the
 * gradient has the same mask.
 *
 * ## Special values
 *
 * - A row that sees no key gives zeros, and -infinity in log_sum_exp. PyTorch does the same since 2.5 and in its fused
 *   kernels; softmax alone would give NaN.
 * - A row with a score of NaN or +infinity gives NaN. Both kinds of mask are added to the score. So NaN or infinity in
 *   k makes a score NaN or infinite even if the mask excludes the key. What causality excludes does not count.
 * - A key that is excluded has weight zero, but takes part in the product. So NaN or infinity in its value gives NaN
 *   where it is computed together with other keys.
 *
 * ## Memory
 *
 * Scores are never held as a whole: memory is linear in the lengths.
 *
 * ## Error
 *
 * With u = 2^-24 (f64: 2^-53) and A = scale sum |q k| + |mask| of a score, a score errs by delta, and its weight errs
 * by that factor:
 *
 *     delta = (12 + 2 sqrt d) u A + 8 u |s - log sum e^s|
 *
 * Products and sums add their usual errors:
 *
 *     y             |error| <= (sum p delta (|v| + sum p |v|) + (16 + 2 sqrt keys) u sum p |v|) * 1 / (1 - dropout)
 *     log_sum_exp   |error| <= sum p delta + 16 u (1 + |log sum e^s|) + 2 sqrt keys u
 *
 * These bounds are for rounding errors of either sign. If values are alike, CPUs may exceed them with millions of keys
 * (docs/operators.md).
 *
 * Matrix engines multiply f16, bf16, and f32 in the precision HIGH or MEDIUM (::husk_precision); some also in HIGHEST.
 * Then, with f the husk_plan_error_factor() of husk_queue_plan():
 *
 * - f replaces 2 sqrt keys beside 16.
 * - f - r replaces 2 sqrt d in delta.
 * - r is what weights lose that are rounded to the engine's dtype: 2^13 for f16, 2^16 for bf16, 0 for f32, whose parts
 *   f includes already. f16 also loses 2^-39 of the row's largest weight, times sum |v|.
 *
 * Softmax is always computed in f32, and log_sum_exp from weights that were not rounded.
 */
#ifndef HUSK_OPS_ATTENTION_H
#define HUSK_OPS_ATTENTION_H

#include <husk/gradient.h>

HUSK_BEGIN_DECLS

/** Which keys a query sees. */
typedef enum husk_causal {
    HUSK_CAUSAL_NONE = 0,
    HUSK_CAUSAL_TOP_LEFT = 1,    /**< Query i sees the keys 0 to i. */
    HUSK_CAUSAL_BOTTOM_RIGHT = 2 /**< The last query sees all keys. */
} husk_causal;

/** Options of husk_attention() and its gradient. */
typedef struct husk_attention_params {
    uint32_t size;            /**< sizeof this struct; HUSK_ATTENTION_PARAMS() sets it. */
    husk_causal causal;
    float scale;              /**< Of q k^T; 0: 1 / sqrt d, as in PyTorch and ONNX. */
    float dropout;            /**< The share of the weights that are dropped, 0 to 1. 0 drops nothing. */
    uint64_t seed;            /**< Of dropout's random numbers; see husk/ops/dropout.h. */
    uint64_t offset;          /**< Likewise. */
    uint32_t accumulate;      /**< Gradient only: bits of husk_accumulate. */
    const char *variant;      /**< NULL: the library chooses. */
    husk_precision precision; /**< Of f32 products. The gradient is always computed as HIGHEST. */
} husk_attention_params;

/** Makes a husk_attention_params; see husk/export.h. */
#define HUSK_ATTENTION_PARAMS(...) HUSK_MAKE(husk_attention_params, __VA_ARGS__)

/** Enqueue the attention. y and log_sum_exp must not overlap anything else. */
HUSK_API husk_status husk_attention(husk_queue *queue, const husk_attention_params *params, const husk_tensor *q,
                                    const husk_tensor *k, const husk_tensor *v, const husk_tensor *mask,
                                    const husk_tensor *y, const husk_tensor *log_sum_exp);

/**
 * Enqueue the gradients from forward's inputs, its y and its log_sum_exp. p is computed again.
 *
 *     dp = dropout(dy v^T),  ds = p (dp - sum of dy y along the row)
 *     dq = scale ds k,       dk = scale ds^T q,       dv = dropout(p)^T dy,     of grouped heads the sum
 *
 * - params are those of forward.
 * - y and dy are as forward's y; dq, dk and dv are as q, k and v. The last stride is 1 everywhere.
 * - dq, dk and dv may be NULL if not wanted; at least one must be wanted. They must not overlap anything else.
 * - The mask has no gradient, since it would be as large as the scores.
 * - HUSK_ACCUMULATE_INPUTS adds.
 * - A row that sees no key adds nothing, except NaN where its dy is not finite.
 * - Sums are made in the order of the positions, head after head, without atomics.
 *
 * @par Scratch memory
 * It is linear in the lengths at most, also for forward. GPUs use some for sums of more than 8,192 terms: 2 MiB for
 * each compute unit, or what one block of rows needs.
 *
 * @par Error
 * delta of a score is that of forward plus 2 u |log_sum_exp|. With r = sum dy y, and n the number of terms in a sum:
 *
 *     ds             p (delta |dp - r| + (8 + 2 sqrt e) u (sum |dy v| + sum |dy y|))
 *     dropout(p)     delta of itself
 *     dq, dk, dv     what their terms err by, and (8 + 2 sqrt n) u of the absolute terms
 *
 * If a finite mask of -1e8 or lower hides a whole row, log n is lost in log_sum_exp: the row's p are up to n times too
 * large.
 */
HUSK_API husk_status husk_attention_backward(husk_queue *queue, const husk_attention_params *params,
                                             const husk_tensor *q, const husk_tensor *k, const husk_tensor *v,
                                             const husk_tensor *mask, const husk_tensor *y,
                                             const husk_tensor *log_sum_exp, const husk_tensor *dy,
                                             const husk_tensor *dq, const husk_tensor *dk, const husk_tensor *dv);

HUSK_END_DECLS

#endif
