/* SPDX-License-Identifier: MIT */
/*
 * husk/ops/rotary.h: rotary position embedding (Su et al., RoFormer, arXiv 2104.09864).
 *
 * The first r = rotary_dimension columns of every row of x are pairs, which are turned by an angle that grows with the
 * row's position; the others stay as they are. For pair number i of r / 2, at position p:
 *
 *     y_first  = x_first cos a - x_second sin a
 *     y_second = x_first sin a + x_second cos a,      a = p base^(-2 i / r)
 *
 *     interleaved = 0   the pair is columns i and i + r / 2: GPT-NeoX, Llama; Hugging Face's rotate_half
 *     interleaved = 1   the pair is columns 2 i and 2 i + 1: RoFormer, GPT-J
 *
 * ONNX's RotaryEmbedding has the same attributes, the same default and wants the tables below; its form of three
 * dimensions is a view of this one's four. PyTorch has no such operator.
 *
 * x and y: [batch, heads, length, columns], f32, f16, bf16 or f64, any strides, so that [batch, length, heads, columns]
 * in memory is a view. y may be x itself, otherwise they must not overlap.
 * positions: [length] or [batch, length], i32 or i64, any value; NULL: first_position, first_position + 1 ...
 * cosines, sines: both NULL, or both [rows, r / 2] in f32 (f64 beside f64): cos a and sin a of position 0, 1 ..., for
 * frequencies that are no powers of a base (scaled contexts). A position that has no row gives NaN in what is turned.
 * Without tables angles are reduced exactly, in whole numbers of 2^-64 turns, where others round p base^(-2 i / r) to
 * f32 first and are off by p 2^-24 at i = 0.
 *
 * |error| <= (8 * 2^-24 + |a| (i + 4) 2^-52) (|x_first| + |x_second|), with tables 3 * 2^-24 of that: three roundings
 * and the sine's and cosine's own error, in f64 with 2^-53 for 2^-24; and the frequency, the i-th power of a ratio that
 * the host makes in f64.
 * Infinity and NaN go to both of a pair: infinity times a sine of 0 is NaN. Without elements nothing happens.
 */
#ifndef HUSK_OPS_ROTARY_H
#define HUSK_OPS_ROTARY_H

#include <husk/gradient.h>

HUSK_BEGIN_DECLS

typedef struct husk_rotary_params {
    uint32_t size;            /* sizeof this struct: HUSK_ROTARY_PARAMS sets it */
    uint32_t interleaved;     /* 1: neighbours are pairs; 0: the first half and the second */
    int64_t rotary_dimension; /* r, even; 0: all columns */
    int64_t first_position;   /* without positions: that of row 0, as it is; how long the cache already is */
    float base;               /* above 1; 0: 10000 */
    uint32_t accumulate;      /* husk_accumulate's bits, for the gradient alone */
    const char *variant;      /* NULL: chosen */
} husk_rotary_params;

#define HUSK_ROTARY_PARAMS(...) HUSK_MAKE(husk_rotary_params, __VA_ARGS__)

HUSK_API husk_status husk_rotary(husk_queue *queue, const husk_rotary_params *params, const husk_tensor *x,
                                 const husk_tensor *positions, const husk_tensor *cosines, const husk_tensor *sines,
                                 const husk_tensor *y);

/*
 * dx: dy turned by the negative angles; columns that are not turned are copied. The tables have no gradient. dx may be
 * dy itself, otherwise they must not overlap. accumulate: HUSK_ACCUMULATE_INPUTS adds to dx, which costs one rounding
 * more.
 */
HUSK_API husk_status husk_rotary_backward(husk_queue *queue, const husk_rotary_params *params,
                                          const husk_tensor *positions, const husk_tensor *cosines,
                                          const husk_tensor *sines, const husk_tensor *dy, const husk_tensor *dx);

HUSK_END_DECLS

#endif
