// SPDX-License-Identifier: MIT
#include "support/values.h"

#include <math.h>
#include <string.h>

#include "support/device.h"

void test_set_values(test_tensor *input, const float *values)
{
    const int64_t count = husk_ref_array_count(&input->array);
    for (int64_t i = 0; i < count; i++)
        husk_ref_store(&input->array, i, (double)values[i]);
    test_input_update(input);
}

test_tensor test_input_values(int32_t rank, const int64_t *shape, const float *values)
{
    test_tensor input = test_input(rank, shape, TEST_PACKED, 1, 1.0f);
    test_set_values(&input, values);
    return input;
}

void test_get_values(test_tensor *output, float *values)
{
    test_fetch(output);
    const int64_t count = husk_ref_array_count(&output->array);
    for (int64_t i = 0; i < count; i++)
        values[i] = (float)husk_ref_load(&output->array, i);
}

bool test_same_value(float a, float b)
{
    return (isnan(a) && isnan(b)) || memcmp(&a, &b, sizeof a) == 0;
}
