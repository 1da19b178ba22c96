/* SPDX-License-Identifier: MIT */
/*
 * husk/train/initializer.h: what a parameter holds before the first step.
 *
 *     CONSTANT        value
 *     UNIFORM         uniform in [value - spread, value + spread)
 *     NORMAL          normal, mean value, standard deviation spread
 *     HE_UNIFORM      uniform, HE_NORMAL normal, with variance gain^2 / fan_in              arXiv 1502.01852
 *     XAVIER_UNIFORM  uniform, XAVIER_NORMAL normal, with variance 2 gain^2 / (fan_in + fan_out)
 *                                                               Glorot, Bengio, AISTATS 2010
 *
 * gain 0 means sqrt 2 for HE (ReLU's) and 1 for XAVIER. Of a shape [a, b, c...] fan_in is b c..., fan_out is a c...;
 * of [a], and of a scalar's 1, both are a: the weights of husk_conv and of a linear layer [outputs, inputs].
 *
 * Random numbers are counted, not drawn: element number i, row-major, of the parameter called `name` has the four words
 * of Philox4x32-10 (Salmon, Moraes, Dror, Shaw, SC11) with the counter i (two words), FNV-1a's 64-bit hash of the name
 * (two words) and the key seed. So a parameter's values depend neither on which others there are nor on their order.
 * A normal number is Box and Muller's, of two uniform ones of 53 bits.
 */
#ifndef HUSK_TRAIN_INITIALIZER_H
#define HUSK_TRAIN_INITIALIZER_H

#include <husk/status.h>

HUSK_BEGIN_DECLS

/* Name, number, text. DEFAULT is what the call that makes the parameter says; alone, it is CONSTANT 0. */
#define HUSK_INITIALIZER_LIST(X)              \
    X(DEFAULT, 0, "default")                  \
    X(CONSTANT, 1, "constant")                \
    X(UNIFORM, 2, "uniform")                  \
    X(NORMAL, 3, "normal")                    \
    X(HE_UNIFORM, 4, "he_uniform")            \
    X(HE_NORMAL, 5, "he_normal")              \
    X(XAVIER_UNIFORM, 6, "xavier_uniform")    \
    X(XAVIER_NORMAL, 7, "xavier_normal")

typedef enum husk_initializer_kind {
#define HUSK_INITIALIZER_ENUM(name, number, text) HUSK_INITIALIZER_##name = number,
    HUSK_INITIALIZER_LIST(HUSK_INITIALIZER_ENUM)
#undef HUSK_INITIALIZER_ENUM
} husk_initializer_kind;

/* "he_normal" ...; "unknown" for a number that is no kind. */
HUSK_API const char *husk_initializer_kind_name(husk_initializer_kind kind);

typedef struct husk_initializer {
    uint32_t size; /* sizeof this struct: HUSK_INITIALIZER sets it */
    husk_initializer_kind kind;
    float value;  /* CONSTANT, UNIFORM, NORMAL */
    float spread; /* UNIFORM, NORMAL: 0 or more */
    float gain;   /* HE, XAVIER: 0 means the default, see above */
} husk_initializer;

#define HUSK_INITIALIZER(...) HUSK_MAKE(husk_initializer, __VA_ARGS__)

/*
 * The values of the parameter `name` of this shape, row-major, in double: as many as the shape has elements.
 * initializer: NULL for zeros. rank: 0 to 8.
 */
HUSK_API husk_status husk_initializer_fill(const husk_initializer *initializer, uint64_t seed, const char *name,
                                           int32_t rank, const int64_t *shape, double *values, husk_error *error);

HUSK_END_DECLS

#endif
