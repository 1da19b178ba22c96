// SPDX-License-Identifier: MIT
#include "baseline/ref_op.h"

#include <stdlib.h>

bool bench_ref_make_output(bench_array *array, husk_dtype dtype, int32_t rank, const int64_t *shape,
                           const int64_t *strides)
{
    *array = (bench_array){.dtype = dtype, .rank = rank, .count = 1};
    for (int32_t i = rank; i-- > 0;) {
        array->shape[i] = shape[i];
        array->strides[i] = strides ? strides[i] : array->count;
        array->count *= shape[i];
    }
    array->data = malloc((size_t)array->count * 4 + 4);
    return array->data != NULL;
}
