// SPDX-License-Identifier: MIT
#include "ref/random.h"

#include <math.h>

void husk_ref_philox(const uint32_t counter[4], const uint32_t key[2], uint32_t random[4])
{
    uint32_t c0 = counter[0], c1 = counter[1], c2 = counter[2], c3 = counter[3];
    uint32_t k0 = key[0], k1 = key[1];
    for (int round = 0; round < 10; round++) {
        uint64_t product0 = (uint64_t)0xD2511F53u * c0;
        uint64_t product1 = (uint64_t)0xCD9E8D57u * c2;
        c0 = (uint32_t)(product1 >> 32) ^ c1 ^ k0;
        c2 = (uint32_t)(product0 >> 32) ^ c3 ^ k1;
        c1 = (uint32_t)product1;
        c3 = (uint32_t)product0;
        k0 += 0x9E3779B9u; // the golden ratio
        k1 += 0xBB67AE85u; // sqrt(3) - 1
    }
    random[0] = c0;
    random[1] = c1;
    random[2] = c2;
    random[3] = c3;
}

// Four numbers come from one counter: block is index / 4.
static void random_block(uint64_t seed, uint64_t block, uint32_t random[4])
{
    uint32_t counter[4] = {(uint32_t)block, (uint32_t)(block >> 32), 0, 0};
    uint32_t key[2] = {(uint32_t)seed, (uint32_t)(seed >> 32)};
    husk_ref_philox(counter, key, random);
}

static float bits_to_float(uint32_t bits)
{
    int32_t odd = (int32_t)(2u * (bits >> 8) + 1u) - (1 << 24);
    return (float)odd / 16777216.0f;
}

uint32_t husk_ref_random_bits(uint64_t seed, uint64_t index)
{
    uint32_t random[4];
    random_block(seed, index / 4, random);
    return random[index % 4];
}

float husk_ref_random_float(uint64_t seed, uint64_t index)
{
    return bits_to_float(husk_ref_random_bits(seed, index));
}

void husk_ref_random_fill(float *data, int64_t count, uint64_t seed, float scale)
{
    for (int64_t i = 0; i < count; i += 4) {
        uint32_t random[4];
        random_block(seed, (uint64_t)i / 4, random);
        for (int64_t j = i; j < count && j < i + 4; j++)
            data[j] = scale * bits_to_float(random[j - i]);
    }
}

void husk_ref_random_fill_array(const husk_ref_array *array, uint64_t seed, float scale)
{
    if (husk_ref_array_count(array) == 0)
        return;
    int64_t index[HUSK_MAX_RANK] = {0};
    uint64_t position = 0;
    uint32_t random[4];
    do {
        if (position % 4 == 0)
            random_block(seed, position / 4, random);
        double value = (double)(scale * bits_to_float(random[position % 4]));
        if (array->dtype == HUSK_F64) // the digits beyond a float's
            value += ldexp((double)(scale * bits_to_float(random[(position + 1) % 4])), -25);
        husk_ref_store(array, husk_ref_offset(array, index), value);
        position++;
    } while (husk_ref_index_next(array->rank, array->shape, index));
}

int64_t husk_ref_random_below(husk_ref_random *random, int64_t limit)
{
    uint64_t high = husk_ref_random_bits(random->seed, random->drawn);
    uint64_t low = husk_ref_random_bits(random->seed, random->drawn + 1);
    random->drawn += 2;
    return (int64_t)((high << 32 | low) % (uint64_t)limit);
}
