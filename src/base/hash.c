// SPDX-License-Identifier: MIT
#include "base/hash.h"

#include <inttypes.h>
#include <stdio.h>
#include <xxhash.h>

uint64_t husk__hash64(const void *bytes, size_t size)
{
    return XXH3_64bits(bytes, size);
}

husk__hash128 husk__hash128_of(const void *bytes, size_t size)
{
    XXH128_hash_t hash = XXH3_128bits(bytes, size);
    return (husk__hash128){.low = hash.low64, .high = hash.high64};
}

void husk__hash128_text(husk__hash128 hash, char text[33])
{
    snprintf(text, 33, "%016" PRIx64 "%016" PRIx64, hash.high, hash.low);
}
