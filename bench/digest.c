// SPDX-License-Identifier: MIT
#include "digest.h"

#include "data.h"

uint64_t bench_digest_add(uint64_t digest, const void *bytes, size_t size)
{
    const unsigned char *at = bytes;
    for (size_t i = 0; i < size; i++)
        digest = (digest ^ at[i]) * UINT64_C(0x100000001b3);
    return digest;
}

static uint64_t add_array(uint64_t digest, const bench_array *array)
{
    return array->data ? bench_digest_add(digest, array->data, (size_t)bench_array_bytes(array)) : digest;
}

uint64_t bench_output_digest(const bench_output *output)
{
    uint64_t digest = add_array(BENCH_DIGEST_EMPTY, &output->y);
    digest = add_array(digest, &output->indices);
    digest = add_array(digest, &output->h_n);
    digest = add_array(digest, &output->c_n);
    for (size_t i = 0; i < BENCH_GRADIENTS; i++)
        digest = add_array(digest, &output->gradients[i]);
    return digest;
}
