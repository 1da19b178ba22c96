/* SPDX-License-Identifier: MIT */
/*
 * train/random.h: random numbers that are counted: Philox4x32-10.
 */
#ifndef HUSK_TRAIN_RANDOM_H
#define HUSK_TRAIN_RANDOM_H

#include <stdint.h>

/* The four words of counter (index, stream) under the key seed, each low word first. */
void husk__train_random(uint64_t seed, uint64_t stream, uint64_t index, uint32_t words[4]);
/* Two words as a number in [0, 1) of 53 bits. */
double husk__train_uniform(uint32_t low, uint32_t high);
/* FNV-1a, 64 bits. */
uint64_t husk__train_hash(const char *text);

#endif
