// SPDX-License-Identifier: MIT
#include "base/guard_pattern.h"

#include <stdio.h>

// Two bytes of a band, a quiet NaN as f16 and as bf16. Together they are NaN as f32, and as f64, whose top 16 bits take
// a number near the end of the range. In the same place of blocks made one after the other they differ.
static uint16_t pattern_half(uint64_t serial, uint64_t half)
{
    uint64_t mixed = half * UINT64_C(0x9e3779b97f4a7c15);
    mixed = (mixed >> 32) + serial;
    const bool is_top = half % 4 == 3;
    const unsigned number = is_top ? mixed % 8 : mixed % 64, sign = is_top ? mixed / 8 % 2 : mixed / 64 % 2;
    return (uint16_t)((is_top ? 0x7ff8u : 0x7fc0u) + number + (sign << 15));
}

static unsigned char pattern_byte(const husk__guarded *block, uint64_t at)
{
    const uint16_t half = pattern_half(block->serial, at / 2);
    return (unsigned char)(at % 2 ? half >> 8 : half);
}

uint64_t husk__guard_begin(const husk__guarded *block, bool is_behind)
{
    return is_behind ? block->bytes - block->band : 0;
}

void husk__guard_fill(const husk__guarded *block, bool is_behind, unsigned char *bytes)
{
    const uint64_t begin = husk__guard_begin(block, is_behind);
    for (uint64_t i = 0; i < block->band; ++i)
        bytes[i] = pattern_byte(block, begin + i);
}

husk__guard_touch husk__guard_compare(const husk__guarded *block, bool is_behind, const unsigned char *bytes)
{
    husk__guard_touch found = {0};
    const uint64_t begin = husk__guard_begin(block, is_behind);
    for (uint64_t i = 0; i < block->band; ++i) {
        if (bytes[i] == pattern_byte(block, begin + i))
            continue;
        const uint64_t distance = is_behind ? i : block->band - i;
        if (!found.is_touched || distance < found.nearest)
            found.nearest = distance;
        if (!found.is_touched || distance > found.farthest)
            found.farthest = distance;
        found.is_touched = true;
    }
    return found;
}

static void describe(const husk__guard_touch *found, bool is_behind, char text[96])
{
    const char *where = is_behind ? "behind its end" : "before its beginning";
    const unsigned long long nearest = found->nearest, farthest = found->farthest;
    if (!found->is_touched)
        text[0] = '\0';
    else if (nearest == farthest)
        snprintf(text, 96, "byte %llu %s", nearest, where);
    else
        snprintf(text, 96, "bytes %llu to %llu %s", nearest, farthest, where);
}

void husk__guard_describe(const husk__guard_touch found[2], char text[HUSK__GUARD_TEXT])
{
    char before[96], behind[96];
    describe(&found[0], false, before);
    describe(&found[1], true, behind);
    snprintf(text, HUSK__GUARD_TEXT, "%s%s%s", before, *before && *behind ? " and " : "", behind);
}
