/* SPDX-License-Identifier: MIT */
/*
 * ref/random.h: random numbers that are a function of seed and index, the same everywhere.
 *
 * Philox4x32-10 (Salmon, Moraes, Dror, Shaw: Parallel Random Numbers: As Easy as 1, 2, 3; SC11).
 */
#ifndef HUSK_REF_RANDOM_H
#define HUSK_REF_RANDOM_H

#include "ref/ref.h"

HUSK_BEGIN_DECLS

/* The function itself: 128 bits of counter and 64 of key make 128 random ones. */
void husk_ref_philox(const uint32_t counter[4], const uint32_t key[2], uint32_t random[4]);

/* The index-th number of the seed's sequence: 32 random bits. */
uint32_t husk_ref_random_bits(uint64_t seed, uint64_t index);
/* The same as a float in (-1, 1): an odd multiple of 2^-24, so never zero and always exact. */
float husk_ref_random_float(uint64_t seed, uint64_t index);

/* data[i] = scale * the i-th float of the seed's sequence. */
void husk_ref_random_fill(float *data, int64_t count, uint64_t seed, float scale);
/*
 * The same by row-major position, whatever the strides: the tensor holds the same numbers in every layout.
 * Elements between the view's own are not touched.
 */
void husk_ref_random_fill_array(const husk_ref_array *array, uint64_t seed, float scale);

/* A sequence to draw from one after another. Start it with {.seed = ...}. */
typedef struct husk_ref_random {
    uint64_t seed;
    uint64_t drawn;
} husk_ref_random;

/* An integer in [0, limit), limit > 0. */
int64_t husk_ref_random_below(husk_ref_random *random, int64_t limit);

HUSK_END_DECLS

#endif
