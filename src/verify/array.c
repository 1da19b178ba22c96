// SPDX-License-Identifier: MIT
#include "verify/array.h"

#include <string.h>

#include "base/tensor.h"

husk_tensor husk__verify_tensor(const husk_verify_array *array)
{
    husk_tensor tensor = {.dtype = array->dtype, .rank = array->rank};
    memcpy(tensor.shape, array->shape, sizeof tensor.shape);
    memcpy(tensor.strides, array->strides, sizeof tensor.strides);
    return tensor;
}

husk_ref_array husk__verify_ref(const husk_verify_array *array)
{
    if (!array)
        return (husk_ref_array){0};
    const husk_tensor tensor = husk__verify_tensor(array);
    return husk_ref_array_from_tensor(array->data, &tensor);
}

husk_status husk__verify_check(const husk_verify_array *array, bool is_read, const char *argument,
                               const husk__scope *scope)
{
    if (!array)
        return husk__reject(scope, argument, "is NULL");
    const husk_tensor tensor = husk__verify_tensor(array);
    const husk_status status = husk__tensor_check(&tensor, argument, scope);
    if (status == HUSK_OK && is_read && !array->data && husk__tensor_count(&tensor) > 0)
        return husk__reject(scope, argument, "data is NULL");
    return status;
}

husk_status husk__verify_check_real(const husk_verify_array *array, bool is_read, const char *argument,
                                    const husk__scope *scope)
{
    const husk_status status = husk__verify_check(array, is_read, argument, scope);
    if (status != HUSK_OK)
        return status;
    const husk_tensor tensor = husk__verify_tensor(array);
    return husk__tensor_check_number(&tensor, argument, scope);
}

husk_status husk__verify_check_expected(const husk_verify_array *y, const double *expected, const husk__scope *scope)
{
    const husk_tensor tensor = husk__verify_tensor(y);
    if (!expected && husk__tensor_count(&tensor) > 0)
        return husk__reject(scope, "expected", "is NULL");
    return HUSK_OK;
}

husk_status husk__verify_check_output(const husk_verify_array *y, const char *argument, int32_t rank,
                                      const int64_t *shape, const char *other, const double *expected,
                                      const husk__scope *scope)
{
    husk_status status = husk__verify_check_real(y, false, argument, scope);
    if (status != HUSK_OK)
        return status;
    const husk_tensor tensor = husk__verify_tensor(y);
    status = husk__tensor_check_shape(&tensor, argument, rank, shape, other, scope);
    return status == HUSK_OK ? husk__verify_check_expected(y, expected, scope) : status;
}

void husk__verify_evaluate(const husk_ref_function *function, husk_dtype dtype, double *expected, double *bounds)
{
    int64_t index[HUSK_MAX_RANK] = {0}, position = 0;
    for (int32_t d = 0; d < function->rank; ++d)
        if (function->shape[d] == 0)
            return;
    do {
        const husk_ref_value value = function->at(function->op, index);
        expected[position] = value.value;
        if (bounds)
            bounds[position] = husk_ref_bound_in(dtype, value.bound);
        ++position;
    } while (husk_ref_index_next(function->rank, function->shape, index));
}
