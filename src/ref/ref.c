// SPDX-License-Identifier: MIT
#include "ref/ref.h"

#include <math.h>
#include <string.h>

husk_ref_array husk_ref_array_make(void *data, husk_dtype dtype, int32_t rank, const int64_t *shape)
{
    husk_ref_array array = {.data = data, .dtype = dtype, .rank = rank};
    int64_t stride = 1;
    for (int32_t d = rank - 1; d >= 0; d--) {
        array.shape[d] = shape[d];
        array.strides[d] = stride;
        stride *= shape[d];
    }
    return array;
}

static size_t dtype_bytes(husk_dtype dtype)
{
    switch (dtype) {
    case HUSK_F64:
    case HUSK_I64:
        return 8;
    case HUSK_F16:
    case HUSK_BF16:
        return 2;
    case HUSK_I8:
    case HUSK_U8:
        return 1;
    default:
        return 4;
    }
}

husk_ref_array husk_ref_array_from_tensor(void *data, const husk_tensor *tensor)
{
    husk_ref_array array = husk_ref_array_make(data, tensor->dtype, tensor->rank, tensor->shape);
    bool given = false;
    for (int32_t d = 0; d < tensor->rank; d++)
        given = given || tensor->strides[d] != 0;
    if (given)
        memcpy(array.strides, tensor->strides, sizeof(array.strides));
    if (data != NULL)
        array.data = (char *)data + (size_t)tensor->offset * dtype_bytes(tensor->dtype);
    return array;
}

int64_t husk_ref_array_count(const husk_ref_array *array)
{
    int64_t count = 1;
    for (int32_t d = 0; d < array->rank; d++)
        count *= array->shape[d];
    return count;
}

int64_t husk_ref_array_extent(const husk_ref_array *array)
{
    int64_t last = 0;
    for (int32_t d = 0; d < array->rank; d++) {
        if (array->shape[d] == 0)
            return 0;
        last += (array->shape[d] - 1) * array->strides[d];
    }
    return last + 1;
}

void husk_ref_index_of(int32_t rank, const int64_t *shape, int64_t position, int64_t *index)
{
    for (int32_t d = rank - 1; d >= 0; d--) {
        index[d] = position % shape[d];
        position /= shape[d];
    }
}

int64_t husk_ref_position_of(int32_t rank, const int64_t *shape, const int64_t *index)
{
    int64_t position = 0;
    for (int32_t d = 0; d < rank; d++)
        position = position * shape[d] + index[d];
    return position;
}

bool husk_ref_index_next(int32_t rank, const int64_t *shape, int64_t *index)
{
    for (int32_t d = rank - 1; d >= 0; d--) {
        if (++index[d] < shape[d])
            return true;
        index[d] = 0;
    }
    return false;
}

void husk_ref_function_evaluate(const husk_ref_function *function, const husk_ref_array *y)
{
    if (husk_ref_array_count(y) == 0)
        return;
    int64_t index[HUSK_MAX_RANK] = {0};
    do {
        husk_ref_value value = function->at(function->op, index);
        husk_ref_store(y, husk_ref_offset(y, index), value.value);
    } while (husk_ref_index_next(function->rank, function->shape, index));
}

double husk_ref_sum_bound(double factor, int64_t length, double magnitude)
{
    if (magnitude == 0.0)
        return 0.0;
    if (factor == 0.0)
        factor = 4.0 + 2.0 * sqrt((double)length);
    return factor * HUSK_REF_UNIT * magnitude + (double)length * HUSK_REF_TINY;
}
