/* SPDX-License-Identifier: MIT */
/*
 * base/hash.h: XXH3 (libxxhash) for keys in memory and checksums on disk.
 */
#ifndef HUSK_BASE_HASH_H
#define HUSK_BASE_HASH_H

#include <stddef.h>
#include <stdint.h>

typedef struct husk__hash128 {
    uint64_t low, high;
} husk__hash128;

uint64_t husk__hash64(const void *bytes, size_t size);
husk__hash128 husk__hash128_of(const void *bytes, size_t size);
/* 32 lower-case hexadecimal digits and a zero. */
void husk__hash128_text(husk__hash128 hash, char text[33]);

#endif
