// SPDX-License-Identifier: MIT
#include "train/files/safetensors_digits.h"

#include <stdio.h>
#include <string.h>
#include <xxhash.h>

husk__safetensors_digits husk__safetensors_digits_of(uint64_t high, uint64_t low)
{
    husk__safetensors_digits digits;
    snprintf(digits.text, sizeof digits.text, "%016llx%016llx", (unsigned long long)high, (unsigned long long)low);
    return digits;
}

husk__safetensors_digits husk__safetensors_hash_header(char *header, size_t size)
{
    memset(header + strlen(HUSK__SAFETENSORS_BEGINNING), '0', HUSK__SAFETENSORS_DIGITS);
    const XXH128_hash_t hash = XXH3_128bits(header, size);
    return husk__safetensors_digits_of(hash.high64, hash.low64);
}
