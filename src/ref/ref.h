/* SPDX-License-Identifier: MIT */
/*
 * ref/ref.h: what all reference operators share.
 *
 * The reference computes with plain loops in double on host arrays. It is slow and meant to be obviously
 * right. It knows nothing of OpenCL: of the public headers it uses the enumerations and the params structs,
 * so that an option means the same here and there.
 *
 * Every operator <op> has a description, struct husk_ref_<op> (params and input arrays), and on it
 *     husk_ref_<op>_run        the whole output
 *     husk_ref_<op>_at         one output at an index: value, magnitude and error bound
 *     husk_ref_<op>_function   the same as a husk_ref_function, which ref/check.h compares outputs with
 * The caller passes what the operator's header calls valid; nothing is validated here.
 */
#ifndef HUSK_REF_REF_H
#define HUSK_REF_REF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ref/dtype.h"

HUSK_BEGIN_DECLS

/* A view of host memory. data is element (0, ..., 0); strides are in elements, never negative. */
typedef struct husk_ref_array {
    void *data;
    husk_dtype dtype;
    int32_t rank;
    int64_t shape[HUSK_MAX_RANK];
    int64_t strides[HUSK_MAX_RANK];
} husk_ref_array;

/* One output: what it should be and how far from it a right f32 computation may end. */
typedef struct husk_ref_value {
    double value;
    double magnitude; /* sum of the absolute terms, before the activation */
    double bound;     /* |actual - value| may be at most this; 0 means exactly equal */
    int64_t terms;    /* terms that make it up; 0: its value is a definition, not a computation */
} husk_ref_value;

/* An operator's output as a function of the index. */
typedef struct husk_ref_function {
    const void *op;
    husk_ref_value (*at)(const void *op, const int64_t *index);
    int32_t rank;
    int64_t shape[HUSK_MAX_RANK];
    double cost; /* multiply-adds that one evaluation takes */
} husk_ref_function;

/* A packed array, last dimension fastest. */
husk_ref_array husk_ref_array_make(void *data, husk_dtype dtype, int32_t rank, const int64_t *shape);
/* A tensor's shape and strides over host memory; data is where the tensor's buffer begins. */
husk_ref_array husk_ref_array_from_tensor(void *data, const husk_tensor *tensor);
int64_t husk_ref_array_count(const husk_ref_array *array);
/* Elements from the first to past the last one that the view can touch. */
int64_t husk_ref_array_extent(const husk_ref_array *array);

/* The index of a row-major position, and back. */
void husk_ref_index_of(int32_t rank, const int64_t *shape, int64_t position, int64_t *index);
int64_t husk_ref_position_of(int32_t rank, const int64_t *shape, const int64_t *index);
/* The next index in row-major order; false past the last. */
bool husk_ref_index_next(int32_t rank, const int64_t *shape, int64_t *index);

static inline int64_t husk_ref_offset(const husk_ref_array *array, const int64_t *index)
{
    int64_t offset = 0;
    for (int32_t d = 0; d < array->rank; d++)
        offset += index[d] * array->strides[d];
    return offset;
}

static inline double husk_ref_load(const husk_ref_array *array, int64_t offset)
{
    switch (array->dtype) {
    case HUSK_F64:
        return ((const double *)array->data)[offset];
    case HUSK_I32:
        return (double)((const int32_t *)array->data)[offset];
    case HUSK_I64:
        return (double)((const int64_t *)array->data)[offset];
    case HUSK_I8:
        return (double)((const int8_t *)array->data)[offset];
    case HUSK_U8:
        return (double)((const uint8_t *)array->data)[offset];
    case HUSK_F16:
        return husk_ref_f16_load(((const uint16_t *)array->data)[offset]);
    case HUSK_BF16:
        return husk_ref_bf16_load(((const uint16_t *)array->data)[offset]);
    default:
        return (double)((const float *)array->data)[offset];
    }
}

static inline void husk_ref_store(const husk_ref_array *array, int64_t offset, double value)
{
    switch (array->dtype) {
    case HUSK_F64:
        ((double *)array->data)[offset] = value;
        break;
    case HUSK_I32:
        ((int32_t *)array->data)[offset] = (int32_t)value;
        break;
    case HUSK_I64:
        ((int64_t *)array->data)[offset] = value < 0x1p63 ? (int64_t)value : INT64_MAX; // double has no 2^63 - 1
        break;
    case HUSK_I8:
        ((int8_t *)array->data)[offset] = (int8_t)value;
        break;
    case HUSK_U8:
        ((uint8_t *)array->data)[offset] = (uint8_t)value;
        break;
    case HUSK_F16:
        ((uint16_t *)array->data)[offset] = husk_ref_f16_store(value);
        break;
    case HUSK_BF16:
        ((uint16_t *)array->data)[offset] = husk_ref_bf16_store(value);
        break;
    default:
        ((float *)array->data)[offset] = (float)value;
        break;
    }
}

/* Evaluate the function everywhere into y, whose shape is the function's. */
void husk_ref_function_evaluate(const husk_ref_function *function, const husk_ref_array *y);

/*
 * The bound of a sum of products of length terms whose absolute values add up to magnitude:
 *     (factor, or 4 + 2 sqrt(length) where factor is 0) * 2^-24 * magnitude + length * 2^-126
 * The second part is what flushed denormals cost. Nothing but zeros adds up to zero without an error.
 */
double husk_ref_sum_bound(double factor, int64_t length, double magnitude);

HUSK_END_DECLS

#endif
