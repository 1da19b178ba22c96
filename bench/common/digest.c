// SPDX-License-Identifier: MIT
#include "common/digest.h"

uint64_t bench_digest_add(uint64_t digest, const void *bytes, size_t size)
{
    const unsigned char *at = bytes;
    for (size_t i = 0; i < size; i++)
        digest = (digest ^ at[i]) * UINT64_C(0x100000001b3);
    return digest;
}
