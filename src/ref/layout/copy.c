// SPDX-License-Identifier: MIT
#include "ref/layout/copy.h"

#include <math.h>
#include <string.h>

static double within(double value, double least, double most)
{
    return isnan(value) ? 0 : value < least ? least : value > most ? most : trunc(value);
}

static bool is_float(husk_dtype dtype)
{
    return dtype == HUSK_F32 || dtype == HUSK_F16 || dtype == HUSK_BF16 || dtype == HUSK_F64;
}

static double converted(husk_dtype from, husk_dtype to, double value)
{
    if (is_float(to) && !is_float(from))
        return husk_ref_round(to, husk_ref_round(HUSK_F32, value)); // by way of f32
    if (from == to || is_float(to))
        return husk_ref_round(to, value);
    if (is_float(from)) {
        switch (to) {
        case HUSK_I32:
            return within(value, -2147483648.0, 2147483647.0);
        case HUSK_U8:
            return within(value, 0, 255);
        default:
            return within(value, -9223372036854775808.0, 9223372036854775807.0);
        }
    }
    // The lowest bits.
    const int64_t bits = (int64_t)value;
    return to == HUSK_I32 ? (double)(int32_t)(uint32_t)bits : to == HUSK_U8 ? (double)(uint8_t)bits : value;
}

husk_ref_value husk_ref_copy_at(const husk_ref_copy *op, const int64_t *index)
{
    int64_t at[HUSK_MAX_RANK] = {0};
    for (int32_t d = 0; d < op->x->rank; d++)
        at[d] = op->x->shape[d] == 1 ? 0 : index[d + op->rank - op->x->rank];
    double x = husk_ref_load(op->x, husk_ref_offset(op->x, at));
    husk_ref_value result = {.value = converted(op->x->dtype, op->dtype, x), .terms = 1};
    result.magnitude = fabs(result.value);
    return result;
}

static husk_ref_value copy_at(const void *op, const int64_t *index)
{
    return husk_ref_copy_at(op, index);
}

husk_ref_function husk_ref_copy_function(const husk_ref_copy *op)
{
    husk_ref_function function = {.op = op, .at = copy_at, .rank = op->rank, .cost = 1};
    memcpy(function.shape, op->shape, sizeof(function.shape));
    return function;
}

void husk_ref_copy_run(const husk_ref_copy *op, const husk_ref_array *y)
{
    husk_ref_function function = husk_ref_copy_function(op);
    husk_ref_function_evaluate(&function, y);
}
