// SPDX-License-Identifier: MIT
#include "support/generate.h"

#include <stdio.h>

int64_t test_pick(husk_ref_random *random, const int64_t *values, size_t count)
{
    return values[husk_ref_random_below(random, (int64_t)count)];
}

bool test_one_in(husk_ref_random *random, int64_t times)
{
    return husk_ref_random_below(random, times) == 0;
}

int64_t test_pick_size(husk_ref_random *random, int64_t tile, int64_t limit)
{
    static const int64_t primes[] = {2, 3, 5, 7, 11, 13, 17, 19, 23, 31, 37, 53, 61, 67, 97, 127, 131, 257};
    int64_t multiples = limit / tile > 0 ? limit / tile : 1;
    int64_t multiple = tile * (1 + husk_ref_random_below(random, multiples < 3 ? multiples : 3));
    int64_t size = 1;
    switch (husk_ref_random_below(random, 8)) {
    case 0:
        break;
    case 1:
        size = 1 + husk_ref_random_below(random, 4);
        break;
    case 2:
        size = test_pick(random, primes, sizeof(primes) / sizeof(*primes));
        break;
    case 3:
        size = multiple - 1;
        break;
    case 4:
        size = multiple;
        break;
    case 5:
        size = multiple + 1;
        break;
    default:
        size = 1 + husk_ref_random_below(random, limit);
        break;
    }
    return size < 1 ? 1 : (size > limit ? 1 + size % limit : size);
}

test_layout test_pick_layout(husk_ref_random *random)
{
    // Packed half of the time: it is what most variants accept.
    return (test_layout)TEST_PICK(random, TEST_PACKED, TEST_PACKED, TEST_PACKED, TEST_PACKED, TEST_PACKED, TEST_PACKED,
                                  TEST_CHANNELS_LAST, TEST_REVERSED, TEST_PADDED, TEST_SPREAD, TEST_REPEATED_LAST,
                                  TEST_REPEATED_FIRST);
}

int32_t test_axis(husk_ref_random *random, int32_t dimension, int32_t rank)
{
    return test_one_in(random, 2) ? dimension : dimension - rank;
}

void test_reduce_axes(husk_reduce_params *params, uint32_t bits, int32_t rank)
{
    params->axis_count = 0;
    for (int32_t d = 0; d < rank; d++)
        if (bits >> d & 1)
            params->axes[params->axis_count++] = d % 2 ? -1 - d : rank - 1 - d;
}

const char *test_axes_text(const husk_reduce_params *params, char text[TEST_AXES_TEXT])
{
    size_t used = (size_t)snprintf(text, TEST_AXES_TEXT, "%s", params->axis_count ? "" : "all");
    for (int32_t i = 0; i < params->axis_count && used < TEST_AXES_TEXT; i++)
        used += (size_t)snprintf(text + used, TEST_AXES_TEXT - used, "%s%d", i ? "," : "", (int)params->axes[i]);
    return text;
}
