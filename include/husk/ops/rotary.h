/* SPDX-License-Identifier: MIT */
/** @file
 * Rotary position embedding (Su et al., RoFormer, arXiv 2104.09864), and its gradient.
 *
 * The first r = rotary_dimension columns of every row of x form pairs. Each pair is rotated by an angle that grows with
 * the row's position. The other columns are copied. For pair number i of r / 2, at position p:
 *
 *     y_first  = x_first cos a - x_second sin a
 *     y_second = x_first sin a + x_second cos a,      a = p base^(-2 i / r)
 *
 * | interleaved | columns of a pair | as |
 * | --- | --- | --- |
 * | 0 | i and i + r / 2 | GPT-NeoX, Llama; Hugging Face's rotate_half |
 * | 1 | 2 i and 2 i + 1 | RoFormer, GPT-J |
 *
 * ## Tensors
 *
 * | tensor | shape | dtype |
 * | --- | --- | --- |
 * | x, y | [batch, heads, length, columns] | f32, f16, bf16 or f64 |
 * | positions | [length] or [batch, length]; or NULL | i32 or i64, any value |
 * | cosines, sines | both [rows, r / 2], or both NULL | f32; f64 beside f64 |
 *
 * - Any strides. So a tensor that is [batch, length, heads, columns] in memory is passed as a view.
 * - y may be x itself; otherwise they must not overlap.
 * - positions of NULL means first_position, first_position + 1, and so on.
 * - cosines and sines are tables of cos a and sin a for the positions 0, 1 and so on. They are for frequencies that are
 *   no powers of a base (scaled contexts). A position without a row gives NaN in the rotated columns.
 * - Without elements nothing happens.
 *
 * ## PyTorch and ONNX
 *
 * ONNX's RotaryEmbedding has the same attributes and the same default, and needs the tables. Its form with three
 * dimensions is a view of the four dimensions here. PyTorch has no such operator.
 *
 * ## Error
 *
 *     without tables   |error| <= (8 * 2^-24 + |a| (i + 4) 2^-52) (|x_first| + |x_second|)      f64: 2^-53 for 2^-24
 *     with tables      |error| <= 3 * 2^-24 (|x_first| + |x_second|)                            f64: 2^-53 for 2^-24
 *
 * - The parts are three roundings, the own errors of sine and cosine, and the frequency, which is the i-th power of a
 *   ratio that the host computes in f64.
 * - Without tables, angles are reduced exactly, in whole numbers of 2^-64 turns. Other implementations round
 *   p base^(-2 i / r) to f32 first, and are off by p 2^-24 at i = 0.
 * - Infinity and NaN reach both elements of a pair: infinity times a sine of 0 is NaN.
 */
#ifndef HUSK_OPS_ROTARY_H
#define HUSK_OPS_ROTARY_H

#include <husk/gradient.h>

HUSK_BEGIN_DECLS

/** Options of husk_rotary() and its gradient. */
typedef struct husk_rotary_params {
    uint32_t size;            /**< sizeof this struct; HUSK_ROTARY_PARAMS() sets it. */
    uint32_t interleaved;     /**< 1: neighbours are pairs; 0: the first half and the second. */
    int64_t rotary_dimension; /**< r, even; 0: all columns. */
    int64_t first_position;   /**< Without positions: the position of row 0, such as the length of the cache. */
    float base;               /**< Above 1; 0 means 10000. */
    uint32_t accumulate;      /**< Gradient only: bits of husk_accumulate. */
    const char *variant;      /**< NULL: the library chooses. */
} husk_rotary_params;

/** Makes a husk_rotary_params; see husk/export.h. */
#define HUSK_ROTARY_PARAMS(...) HUSK_MAKE(husk_rotary_params, __VA_ARGS__)

/** Enqueue the rotation. positions, cosines and sines may be NULL. */
HUSK_API husk_status husk_rotary(husk_queue *queue, const husk_rotary_params *params, const husk_tensor *x,
                                 const husk_tensor *positions, const husk_tensor *cosines, const husk_tensor *sines,
                                 const husk_tensor *y);

/**
 * Enqueue the gradient: dx is dy rotated by the negative angles. Columns that are not rotated are copied.
 *
 * - The tables have no gradient.
 * - dx may be dy itself; otherwise they must not overlap.
 * - HUSK_ACCUMULATE_INPUTS adds to dx, which costs one more rounding.
 */
HUSK_API husk_status husk_rotary_backward(husk_queue *queue, const husk_rotary_params *params,
                                          const husk_tensor *positions, const husk_tensor *cosines,
                                          const husk_tensor *sines, const husk_tensor *dy, const husk_tensor *dx);

HUSK_END_DECLS

#endif
