// SPDX-License-Identifier: MIT
#include "cases/output_digest.h"

#include <string.h>

#include "cases/array.h"
#include "common/digest.h"

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
    for (size_t i = 0; i < BENCH_SAVED; i++)
        digest = add_array(digest, &output->saved[i]);
    return digest;
}

// Eight bytes at a time: outputs may have hundreds of MiB, and both sides of a comparison are made here.
static uint64_t add_words(uint64_t value, const bench_array *array)
{
    const size_t size = array->data ? (size_t)bench_array_bytes(array) : 0;
    const unsigned char *at = array->data;
    size_t i = 0;
    for (; i + sizeof(uint64_t) <= size; i += sizeof(uint64_t)) {
        uint64_t word;
        memcpy(&word, at + i, sizeof word);
        value = (value ^ word) * UINT64_C(0x9e3779b97f4a7c15);
        value ^= value >> 32;
    }
    return array->data ? bench_digest_add(value, at + i, size - i) : value;
}

uint64_t bench_output_fingerprint(const bench_output *output)
{
    uint64_t value = add_words(BENCH_DIGEST_EMPTY, &output->y);
    value = add_words(value, &output->indices);
    value = add_words(value, &output->h_n);
    value = add_words(value, &output->c_n);
    for (size_t i = 0; i < BENCH_GRADIENTS; i++)
        value = add_words(value, &output->gradients[i]);
    for (size_t i = 0; i < BENCH_SAVED; i++)
        value = add_words(value, &output->saved[i]);
    return value;
}
