/* SPDX-License-Identifier: MIT */
/** @file
 * Dropout: elements are set to zero at random, and the others are scaled so that the mean stays.
 *
 *     y = m x,  m = 0 with probability p, else 1 / (1 - p)
 *
 * ## Random numbers
 *
 * The mask is the same on every device and in every layout. Element number i of x, counted row-major over its shape
 * whatever the strides are, has the random bits
 *
 *     word i % 4 of Philox4x32-10
 *         counter: i / 4, low word and high word; offset, low word and high word
 *         key:     seed, low word and high word
 *
 * (Salmon, Moraes, Dror, Shaw: Parallel Random Numbers: As Easy as 1, 2, 3; SC11). The element is kept if that word is
 * at least p * 2^32, rounded to a whole number.
 *
 * - No mask is stored. The gradient computes it again, and dropout of ones gives it to a caller who wants it.
 * - Calls with one seed and different offsets are independent. offset may count layers and steps.
 *
 * ## PyTorch and ONNX
 *
 * Their default is p = 0.5. Here p is taken as it is, and params of zeros change nothing. As there, a dropped element
 * is x times zero, so NaN and infinity give NaN. p = 1 drops everything.
 */
#ifndef HUSK_OPS_DROPOUT_H
#define HUSK_OPS_DROPOUT_H

#include <husk/gradient.h>

HUSK_BEGIN_DECLS

/** Options of husk_dropout() and its gradient. */
typedef struct husk_dropout_params {
    uint32_t size;       /**< sizeof this struct; HUSK_DROPOUT_PARAMS() sets it. */
    float p;             /**< The share of elements that are dropped, 0 to 1. */
    uint64_t seed;       /**< The key of the random numbers; any value. */
    uint64_t offset;     /**< Which of the seed's streams; any value. */
    uint32_t accumulate; /**< Gradient only: bits of husk_accumulate. */
    const char *variant; /**< NULL: the library chooses. */
} husk_dropout_params;

/** Makes a husk_dropout_params; see husk/export.h. */
#define HUSK_DROPOUT_PARAMS(...) HUSK_MAKE(husk_dropout_params, __VA_ARGS__)

/**
 * Enqueue the dropout.
 *
 * - x and y have one shape, one dtype (f32, f16, bf16, f64) and any strides.
 * - y may be x itself; otherwise they must not overlap.
 * - A zero-sized tensor does nothing.
 *
 * @par Error
 * The scale's rounding and the product's:
 *
 *     |error| <= 3 * 2^-24 * |y|      2^-53 in f64
 *
 * Dropped elements are exact, and all elements if p = 0. f16 and bf16 add half a unit in the last place. f64 has the
 * same mask, since p is an f32 number.
 */
HUSK_API husk_status husk_dropout(husk_queue *queue, const husk_dropout_params *params, const husk_tensor *x,
                                  const husk_tensor *y);

/**
 * Enqueue the gradient dx = m dy, with the p, seed and offset of the forward call.
 *
 * - dx may be dy itself; otherwise they must not overlap.
 * - HUSK_ACCUMULATE_INPUTS adds to dx.
 * - Errors are as for forward, and the rounding of the addition.
 */
HUSK_API husk_status husk_dropout_backward(husk_queue *queue, const husk_dropout_params *params, const husk_tensor *dy,
                                           const husk_tensor *dx);

HUSK_END_DECLS

#endif
