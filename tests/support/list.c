// SPDX-License-Identifier: MIT
#include "support/list.h"

#include <stdio.h>

void test_list_make(test_list *made, husk_ref_random *random, husk_dtype dtype, int64_t largest)
{
    static const test_layout layouts[] = {TEST_PACKED, TEST_CHANNELS_LAST, TEST_REVERSED}; // none has gaps
    made->count = (size_t)TEST_PICK(random, 1, 2, 3, 7, 15, 16, 17, 33, TEST_LIST_MOST);
    int64_t total = 0;
    for (size_t i = 0; i < made->count; i++) {
        const int32_t rank = (int32_t)TEST_PICK(random, 0, 1, 1, 2, 4);
        int64_t shape[4] = {1, 1, 1, 1};
        for (int32_t d = 0; d < rank; d++)
            shape[d] = test_one_in(random, 20) ? 0 : test_pick_size(random, 16, rank == 4 ? 9 : rank == 2 ? 70 : 900);
        if (rank == 1 && test_one_in(random, 3))
            shape[0] = test_pick_size(random, 16384, largest);
        const husk_dtype own = dtype == HUSK_I32 ? (husk_dtype)husk_ref_random_below(random, 3) : dtype;
        made->tensors[i] = test_inout_of(own, rank, shape, layouts[husk_ref_random_below(random, 3)], i + 3, 2.0f);
        made->list[i] = &made->tensors[i].tensor;
        made->arrays[i] = &made->tensors[i].before;
        total += husk_ref_array_count(&made->tensors[i].before);
    }
    snprintf(made->text, sizeof(made->text), "%zu tensors of %s, %lld elements", made->count,
             dtype == HUSK_I32 ? "all dtypes" : husk_dtype_name(dtype), (long long)total);
}

void test_list_release(test_list *made)
{
    for (size_t i = 0; i < made->count; i++)
        test_release(&made->tensors[i]);
}
