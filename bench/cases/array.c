// SPDX-License-Identifier: MIT
#include "cases/array.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "ref/random.h"

#define ALIGNMENT 64

static bool extent_of(const bench_array *array, int64_t *extent)
{
    int64_t last = 0;
    for (int32_t d = 0; d < array->rank; d++) {
        if (array->shape[d] == 0) {
            *extent = 0;
            return true;
        }
        int64_t step = 0;
        if (__builtin_mul_overflow(array->shape[d] - 1, array->strides[d], &step) ||
            __builtin_add_overflow(last, step, &last))
            return false;
    }
    *extent = last + 1;
    return true;
}

static int64_t bytes_of(const bench_array *array)
{
    return array->count * (int64_t)husk_dtype_size(array->dtype);
}

// NaN; -2 in integers, or what its bits are without a sign.
static void poison(bench_array *array)
{
    static const int64_t minus_two = -2;
    static const float nan_f32 = NAN;
    static const double nan_f64 = NAN;
    static const uint16_t nan_half = 0x7fc0; // of f16 and of bf16
    const void *pattern = array->dtype == HUSK_F32                                ? (const void *)&nan_f32
                          : array->dtype == HUSK_F64                              ? (const void *)&nan_f64
                          : array->dtype == HUSK_F16 || array->dtype == HUSK_BF16 ? (const void *)&nan_half
                                                                                  : (const void *)&minus_two;
    const size_t size = husk_dtype_size(array->dtype);
    for (int64_t i = 0; i < array->count; i++)
        memcpy((char *)array->data + (size_t)i * size, pattern, size); // little-endian: an integer's low bytes
}

husk_ref_array bench_ref_array(const bench_array *array)
{
    husk_ref_array view = {.data = array->data, .dtype = array->dtype, .rank = array->rank};
    memcpy(view.shape, array->shape, sizeof view.shape);
    memcpy(view.strides, array->strides, sizeof view.strides);
    return view;
}

bool bench_array_make(bench_array *array, husk_dtype dtype, int32_t rank, const int64_t *shape, const int64_t *strides)
{
    memset(array, 0, sizeof *array);
    array->dtype = dtype;
    array->rank = rank;
    int64_t packed = 1;
    for (int32_t d = rank - 1; d >= 0; d--) {
        array->shape[d] = shape[d];
        array->strides[d] = strides ? strides[d] : packed;
        if (shape[d] && __builtin_mul_overflow(packed, shape[d], &packed))
            return false;
    }
    if (!extent_of(array, &array->count) || array->count > (INT64_MAX >> 4))
        return false;
    // Never empty, so that data != NULL says the operand is there.
    size_t bytes = (size_t)bytes_of(array);
    bytes = (bytes / ALIGNMENT + 1) * ALIGNMENT;
    array->data = aligned_alloc(ALIGNMENT, bytes);
    if (!array->data)
        return false;
    poison(array);
    return true;
}

bool bench_array_make_layout(bench_array *array, bench_layout layout, int32_t rank, const int64_t *shape)
{
    if (layout == BENCH_NCHW)
        return bench_array_make(array, HUSK_F32, rank, shape, NULL);
    int64_t strides[HUSK_MAX_RANK], step = shape[1];
    strides[1] = 1;
    for (int32_t d = rank - 1; d >= 2; d--) {
        strides[d] = step;
        step *= shape[d];
    }
    strides[0] = step;
    return bench_array_make(array, HUSK_F32, rank, shape, strides);
}

bool bench_array_clone(bench_array *copy, const bench_array *array)
{
    if (!bench_array_make(copy, array->dtype, array->rank, array->shape, array->strides))
        return false;
    memcpy(copy->data, array->data, (size_t)bench_array_bytes(array));
    return true;
}

void bench_array_fill(bench_array *array, uint64_t seed, float scale)
{
    int64_t elements = 1;
    for (int32_t d = 0; d < array->rank; d++)
        elements *= array->shape[d];
    husk_ref_array view = bench_ref_array(array);
    bool is_packed = elements == array->count && array->rank > 0 && array->strides[array->rank - 1] == 1;
    for (int32_t d = 1; is_packed && d < array->rank; d++)
        is_packed = array->strides[d - 1] == array->strides[d] * array->shape[d];
    if (is_packed)
        husk_ref_random_fill(array->data, array->count, seed, scale);
    else
        husk_ref_random_fill_array(&view, seed, scale);
}

void bench_array_fill_bytes(bench_array *array, uint64_t seed)
{
    husk_ref_random random = {.seed = seed};
    for (int64_t i = 0; i < array->count; i++)
        ((uint8_t *)array->data)[i] = (uint8_t)husk_ref_random_below(&random, 256);
}

int64_t bench_array_bytes(const bench_array *array)
{
    return array->data ? bytes_of(array) : 0;
}

void bench_array_free(bench_array *array)
{
    free(array->data);
    memset(array, 0, sizeof *array);
}
