/* SPDX-License-Identifier: MIT */
/*
 * husk/ops/attention.h: scaled dot-product attention.
 *
 *     s = scale q k^T + mask,  p = softmax(s) over the keys,  y = dropout(p) v      for every head of every batch
 *
 * q: [batch, heads, queries, d], k: [batch, kv_heads, keys, d], v: [batch, kv_heads, keys, e], y: [batch, heads,
 * queries, e]; one dtype, f32, f16, bf16 or, where the device has it, f64. Any strides whose last is 1: [batch, length,
 * heads, d] in memory is a view. heads is a multiple of kv_heads; head h reads h / (heads / kv_heads), rounded down:
 * grouped queries, as PyTorch with enable_gqa and ONNX do. e may differ from d.
 *
 * mask: NULL, or of at most 4 dimensions, aligned at their ends, each 1 or that of [batch, heads, queries, keys]; any
 * strides. Of q's dtype it is added to the scores, a finite number below -2^127 (f64: -2^1023) as that; as u8 it says
 * which keys take part, 0: not (PyTorch's and ONNX's boolean masks).
 * causal: query i sees the keys up to i (HUSK_CAUSAL_TOP_LEFT: PyTorch's is_causal, ONNX's) or up to
 * i + keys - queries (HUSK_CAUSAL_BOTTOM_RIGHT: with a cache of earlier keys).
 * dropout: p with this probability set to zero, else divided by 1 - dropout; which, is as husk_dropout says for the
 * element's number in [batch, heads, queries, keys], so the gradient meets the same mask.
 *
 * log_sum_exp: NULL, or [batch, heads, queries] in f32, beside f64 in f64, any strides: log sum e^s of every row,
 * natural logarithm, which the gradient needs. As PyTorch's fused attention saves it; ONNX has none.
 *
 * A row that sees no key gives zeros, and -infinity in log_sum_exp (PyTorch since 2.5 and its fused kernels; softmax
 * alone would give NaN). A row with a score of NaN or +infinity gives NaN; a mask of either kind is added, so that of a
 * key with NaN or infinity in k is one, left out or not; not so what causality leaves out. A key that is left out has
 * weight zero, not none: NaN or infinity in its value give NaN, as in a product, where it is computed with others.
 * Scores are never held as a whole: memory is linear in the lengths. Without queries or columns nothing happens.
 *
 * Error, u = 2^-24 (f64: 2^-53), A = scale sum |q k| + |mask| of a score: a score errs by delta = (12 + 2 sqrt d) u A
 * + 8 u |s - log sum e^s|, its weight by that factor, and products and sums as any, so |error| <= sum p delta (|v| +
 * sum p |v|) + (16 + 2 sqrt keys) u sum p |v|, all times 1 / (1 - dropout); of log_sum_exp sum p delta + 16 u (1 +
 * |log sum e^s|) + 2 sqrt keys u. That is for rounding errors of either sign; of values that are alike CPUs may pass it
 * with millions of keys (docs/operators.md).
 *
 * Matrix engines multiply f16, bf16, and f32 in HIGH or MEDIUM precision (husk/context.h), some in HIGHEST. Then f,
 * the husk_plan_error_factor of husk_queue_plan, stands in place of 2 sqrt keys beside 16, and f - r in place of 2
 * sqrt d in delta. r is what weights lose that are rounded to an engine's dtype: 2^13 (f16), 2^16 (bf16), 0 (f32, of
 * whose parts f tells already); of f16 2^-39 of the row's largest weight besides, times sum |v|. Softmax is computed
 * in f32 always, and log_sum_exp of weights that were not rounded.
 */
#ifndef HUSK_OPS_ATTENTION_H
#define HUSK_OPS_ATTENTION_H

#include <husk/gradient.h>

HUSK_BEGIN_DECLS

typedef enum husk_causal {
    HUSK_CAUSAL_NONE = 0,
    HUSK_CAUSAL_TOP_LEFT = 1,    /* query i sees keys 0 to i */
    HUSK_CAUSAL_BOTTOM_RIGHT = 2 /* the last query sees all keys */
} husk_causal;

typedef struct husk_attention_params {
    uint32_t size;       /* sizeof this struct: HUSK_ATTENTION_PARAMS sets it */
    husk_causal causal;
    float scale;         /* of q k^T; 0: 1 / sqrt d, as in PyTorch and ONNX */
    float dropout;       /* share of the weights that are dropped, 0 to 1, as it is */
    uint64_t seed;       /* dropout's random numbers: see husk/ops/dropout.h */
    uint64_t offset;
    uint32_t accumulate; /* husk_accumulate's bits, for the gradient alone */
    const char *variant; /* NULL: chosen */
    husk_precision precision; /* of f32 products; the gradient is always computed as HIGHEST */
} husk_attention_params;

#define HUSK_ATTENTION_PARAMS(...) HUSK_MAKE(husk_attention_params, __VA_ARGS__)

/* y and log_sum_exp must not overlap anything else. */
HUSK_API husk_status husk_attention(husk_queue *queue, const husk_attention_params *params, const husk_tensor *q,
                                    const husk_tensor *k, const husk_tensor *v, const husk_tensor *mask,
                                    const husk_tensor *y, const husk_tensor *log_sum_exp);

/*
 * Gradients from forward's inputs, its y and log_sum_exp, with p computed anew; params are those of the forward call:
 *
 *     dp = dropout(dy v^T),  ds = p (dp - sum of dy y along the row)
 *     dq = scale ds k,       dk = scale ds^T q,       dv = dropout(p)^T dy,     of grouped heads the sum
 *
 * y and dy: as forward's y; dq, dk, dv: as q, k, v, NULL where not wanted, one at least is; the strides' last is 1
 * everywhere. They must not overlap anything else. The mask has no gradient: it is as large as the scores. accumulate:
 * HUSK_ACCUMULATE_INPUTS adds. A row that sees no key adds nothing, but for NaN where its dy is not finite. Sums are
 * made in the order of the positions, head after head, without atomics. Scratch memory, of forward too, is linear in
 * the lengths at most; GPUs take some for sums of more than 8,192 terms, 2 MiB a compute unit or what one block of
 * rows takes.
 *
 * Error, with delta of a score, 2 u |log_sum_exp| more: ds errs by p (delta |dp - r| + (8 + 2 sqrt e) u (sum |dy v| +
 * sum |dy y|)), r = sum dy y; dropout(p) by delta of itself; the sums by that and (8 + 2 sqrt n) u of the absolute
 * terms, n their number. A row that a finite mask of -1e8 or lower hides whole has lost log n in log_sum_exp: its p are
 * up to n times too large.
 */
HUSK_API husk_status husk_attention_backward(husk_queue *queue, const husk_attention_params *params,
                                             const husk_tensor *q, const husk_tensor *k, const husk_tensor *v,
                                             const husk_tensor *mask, const husk_tensor *y,
                                             const husk_tensor *log_sum_exp, const husk_tensor *dy,
                                             const husk_tensor *dq, const husk_tensor *dk, const husk_tensor *dv);

HUSK_END_DECLS

#endif
