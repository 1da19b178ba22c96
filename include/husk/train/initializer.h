/* SPDX-License-Identifier: MIT */
/** @file
 * What a parameter holds before the first step.
 *
 *     CONSTANT         value
 *     UNIFORM          uniform in [value - spread, value + spread)
 *     NORMAL           normal, mean value, standard deviation spread
 *     HE_UNIFORM       uniform with variance gain^2 / fan_in                 arXiv 1502.01852
 *     HE_NORMAL        normal with the same variance
 *     XAVIER_UNIFORM   uniform with variance 2 gain^2 / (fan_in + fan_out)   Glorot, Bengio, AISTATS 2010
 *     XAVIER_NORMAL    normal with the same variance
 *
 * A gain of 0 means sqrt 2 (ReLU's) for HE, and 1 for XAVIER.
 *
 * | shape | fan_in | fan_out |
 * | --- | --- | --- |
 * | [a, b, c...] | b c... | a c... |
 * | [a] | a | a |
 * | a scalar | 1 | 1 |
 *
 * This fits the weights of husk_conv(), and of a linear layer [outputs, inputs].
 *
 * ## Random numbers
 *
 * Random numbers are counted, not drawn. Element number i, row-major, of a parameter has the four words of
 * Philox4x32-10 (Salmon, Moraes, Dror, Shaw, SC11) with
 *
 * - the counter i (two words), then FNV-1a's 64-bit hash of the parameter's name (two words);
 * - the key seed.
 *
 * So a parameter's values depend neither on which other parameters there are nor on their order. A normal number is
 * made by Box and Muller's method from two uniform numbers of 53 bits.
 */
#ifndef HUSK_TRAIN_INITIALIZER_H
#define HUSK_TRAIN_INITIALIZER_H

#include <husk/status.h>

HUSK_BEGIN_DECLS

/** Every kind: name, number, text. */
#define HUSK_INITIALIZER_LIST(X)              \
    X(DEFAULT, 0, "default")                  \
    X(CONSTANT, 1, "constant")                \
    X(UNIFORM, 2, "uniform")                  \
    X(NORMAL, 3, "normal")                    \
    X(HE_UNIFORM, 4, "he_uniform")            \
    X(HE_NORMAL, 5, "he_normal")              \
    X(XAVIER_UNIFORM, 6, "xavier_uniform")    \
    X(XAVIER_NORMAL, 7, "xavier_normal")

/**
 * The kinds. The file's description has their formulas. DEFAULT means the default of the call that makes the parameter;
 * if that has none, it is CONSTANT 0.
 */
typedef enum husk_initializer_kind {
#define HUSK_INITIALIZER_ENUM(name, number, text) HUSK_INITIALIZER_##name = number,
    HUSK_INITIALIZER_LIST(HUSK_INITIALIZER_ENUM)
#undef HUSK_INITIALIZER_ENUM
} husk_initializer_kind;

/** A kind's name, such as "he_normal"; "unknown" for any other number. */
HUSK_API const char *husk_initializer_kind_name(husk_initializer_kind kind);

/** How a parameter is initialised. */
typedef struct husk_initializer {
    uint32_t size; /**< sizeof this struct; HUSK_INITIALIZER() sets it. */
    husk_initializer_kind kind;
    float value;  /**< CONSTANT, UNIFORM, NORMAL. */
    float spread; /**< UNIFORM, NORMAL: 0 or more. */
    float gain;   /**< HE, XAVIER: 0 means the default. */
} husk_initializer;

/** Makes a husk_initializer; see husk/export.h. */
#define HUSK_INITIALIZER(...) HUSK_MAKE(husk_initializer, __VA_ARGS__)

/**
 * Compute the initial values of a parameter, row-major, in double.
 *
 * @param initializer NULL for zeros
 * @param rank 0 to 8
 * @param values receives as many numbers as the shape has elements
 */
HUSK_API husk_status husk_initializer_fill(const husk_initializer *initializer, uint64_t seed, const char *name,
                                           int32_t rank, const int64_t *shape, double *values, husk_error *error);

HUSK_END_DECLS

#endif
