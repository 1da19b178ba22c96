/* SPDX-License-Identifier: MIT */
/*
 * husk/ops/dropout.h: elements set to zero by chance, the others scaled so that the mean stays.
 *
 *     y = m x,  m = 0 with probability p, else 1 / (1 - p)
 *
 * The same mask on every device and in every layout: element number i of x, counted row-major over its shape whatever
 * the strides, has the random bits
 *
 *     word i % 4 of Philox4x32-10
 *         counter: i / 4, low word and high word; offset, low word and high word
 *         key:     seed, low word and high word
 *
 * (Salmon, Moraes, Dror, Shaw: Parallel Random Numbers: As Easy as 1, 2, 3; SC11), and is kept if that word is
 * p * 2^32, rounded to a whole number, or more. So no mask is stored: the gradient makes it anew, and a caller who
 * wants it gets it as dropout of ones. Calls of one seed and different offsets are independent: offset may count
 * layers and steps.
 *
 * PyTorch and ONNX take p = 0.5 where none is given; here p is as it is, and params of zeros change nothing. As in
 * both, a dropped element is x times zero: NaN and infinity give NaN. p = 1 drops everything.
 */
#ifndef HUSK_OPS_DROPOUT_H
#define HUSK_OPS_DROPOUT_H

#include <husk/gradient.h>

HUSK_BEGIN_DECLS

typedef struct husk_dropout_params {
    uint32_t size;       /* sizeof this struct: HUSK_DROPOUT_PARAMS sets it */
    float p;             /* share of elements that are dropped, 0 to 1 */
    uint64_t seed;       /* the random numbers' key, as it is */
    uint64_t offset;     /* which of the seed's streams, as it is */
    uint32_t accumulate; /* husk_accumulate's bits, for the gradient alone */
    const char *variant; /* NULL: chosen */
} husk_dropout_params;

#define HUSK_DROPOUT_PARAMS(...) HUSK_MAKE(husk_dropout_params, __VA_ARGS__)

/*
 * x and y: one shape, one dtype (f32, f16, bf16, f64), any strides; y may be x itself, otherwise they must not overlap.
 * A zero-sized tensor does nothing.
 * |error| <= 3 * 2^-24 * |y|: the scale's rounding and the product's. What is dropped is exact, and so is everything
 * where p = 0. In f16 and bf16 half a unit in the last place beside that; in f64 2^-53 instead of 2^-24, and the same
 * mask: p is an f32 number.
 */
HUSK_API husk_status husk_dropout(husk_queue *queue, const husk_dropout_params *params, const husk_tensor *x,
                                  const husk_tensor *y);

/*
 * dx = m dy: p, seed and offset are those of the forward call. dx may be dy itself, otherwise they must not overlap.
 * accumulate: HUSK_ACCUMULATE_INPUTS adds to dx. Errors as forward's, and the addition's rounding.
 */
HUSK_API husk_status husk_dropout_backward(husk_queue *queue, const husk_dropout_params *params, const husk_tensor *dy,
                                           const husk_tensor *dx);

HUSK_END_DECLS

#endif
