// SPDX-License-Identifier: MIT
#include "support/golden.h"

#include <math.h>
#include <stdlib.h>

#include <check.h>

#define TOLERANCE 1e-11

static bool strided;

void golden_lay_out(bool is_strided)
{
    strided = is_strided;
}

static husk_ref_array layout(const golden_array *golden, husk_dtype dtype)
{
    husk_ref_array array = husk_ref_array_make(NULL, dtype, golden->rank, golden->shape);
    int64_t stride = 2;
    for (int32_t d = 0; strided && d < golden->rank; d++) {
        array.strides[d] = stride;
        stride = stride * golden->shape[d] + 1;
    }
    return array;
}

husk_ref_array golden_make(const golden_array *golden, husk_dtype dtype)
{
    husk_ref_array array = layout(golden, dtype);
    array.data = calloc((size_t)husk_ref_array_extent(&array) + 1, sizeof(double));
    ck_assert_ptr_nonnull(array.data);
    for (int64_t i = 0; i < husk_ref_array_count(&array); i++) {
        int64_t index[HUSK_MAX_RANK];
        husk_ref_index_of(golden->rank, golden->shape, i, index);
        int64_t offset = husk_ref_offset(&array, index);
        husk_ref_store(&array, offset, golden->values[i]);
        ck_assert_msg(isnan(golden->values[i]) || husk_ref_load(&array, offset) == golden->values[i],
                      "an input that its dtype does not hold: %.17g", golden->values[i]);
    }
    return array;
}

const husk_ref_array *golden_optional(const golden_array *golden, const husk_ref_array *array)
{
    return golden->values != NULL ? array : NULL;
}

husk_ref_array golden_make_optional(const golden_array *golden, husk_dtype dtype)
{
    return golden->values != NULL ? golden_make(golden, dtype) : (husk_ref_array){0};
}

husk_ref_array golden_make_output(const golden_array *golden)
{
    husk_ref_array array = husk_ref_array_make(NULL, HUSK_F64, golden->rank, golden->shape);
    array.data = calloc((size_t)husk_ref_array_count(&array) + 1, sizeof(double));
    ck_assert_ptr_nonnull(array.data);
    for (int64_t i = 0; i < husk_ref_array_count(&array); i++)
        husk_ref_store(&array, i, -12345.0);
    return array;
}

static bool agree(double expected, double actual)
{
    if (isnan(expected) || isnan(actual))
        return isnan(expected) && isnan(actual);
    return expected == actual || fabs(actual - expected) <= TOLERANCE * fmax(1.0, fabs(expected));
}

void golden_expect_equal(const char *name, const char *what, const golden_array *golden, const husk_ref_array *array)
{
    for (int64_t i = 0; i < husk_ref_array_count(array); i++)
        ck_assert_msg(agree(golden->values[i], husk_ref_load(array, i)), "%s: %s %lld is %.13g, golden %.13g", name,
                      what, (long long)i, husk_ref_load(array, i), golden->values[i]);
}

void golden_expect_function(const char *name, const husk_ref_function *function, const golden_array *golden)
{
    ck_assert_int_eq(function->rank, golden->rank);
    for (int32_t d = 0; d < golden->rank; d++)
        ck_assert_msg(function->shape[d] == golden->shape[d], "%s: dimension %d is %lld, golden %lld", name, (int)d,
                      (long long)function->shape[d], (long long)golden->shape[d]);
    husk_ref_array shape = husk_ref_array_make(NULL, HUSK_F64, golden->rank, golden->shape);
    for (int64_t i = 0; i < husk_ref_array_count(&shape); i++) {
        int64_t index[HUSK_MAX_RANK];
        husk_ref_index_of(golden->rank, golden->shape, i, index);
        husk_ref_value value = function->at(function->op, index);
        ck_assert_msg(agree(golden->values[i], value.value), "%s: output %lld is %.13g, golden %.13g", name,
                      (long long)i, value.value, golden->values[i]);
        if (!isfinite(value.value))
            continue;
        ck_assert_msg(value.bound >= 0.0 && value.bound <= 1e-4 * (1.0 + value.magnitude),
                      "%s: output %lld has the bound %g", name, (long long)i, value.bound);
    }
}
