// SPDX-License-Identifier: MIT
#include "ref/quantized/quantize.h"

#include <math.h>
#include <string.h>

static double saturate(husk_dtype dtype, double value)
{
    const double low = dtype == HUSK_I8 ? -128.0 : 0.0;
    return fmin(fmax(value, low), low + 255.0);
}

husk_ref_value husk_ref_quantize_round(husk_dtype dtype, double quotient, double error, double zero)
{
    if (isnan(quotient))
        return (husk_ref_value){.value = zero};
    const double low = saturate(dtype, nearbyint(quotient - error) + zero);
    const double high = saturate(dtype, nearbyint(quotient + error) + zero);
    return (husk_ref_value){
        .value = (low + high) / 2, .magnitude = fabs(quotient), .bound = (high - low) / 2, .terms = 1};
}

double husk_ref_quantize_channel(const husk_ref_array *array, const husk_quantize_params *params, int32_t rank,
                                 const int64_t *index)
{
    if (array == NULL)
        return 0.0;
    if (husk_ref_array_count(array) == 1)
        return husk_ref_load(array, 0);
    const int32_t axis = params != NULL ? params->axis : 0;
    return husk_ref_load(array, index[axis < 0 ? axis + rank : axis] * array->strides[0]);
}

husk_ref_value husk_ref_quantize_at(const husk_ref_quantize *op, const int64_t *index)
{
    const double x = husk_ref_load(op->x, husk_ref_offset(op->x, index));
    const double scale = husk_ref_quantize_channel(op->scale, op->params, op->x->rank, index);
    const double quotient = x / scale;
    int exponent;
    // Dividing by a power of two is exact.
    const double error =
        fabs(frexp(scale, &exponent)) == 0.5 || isinf(quotient) ? 0.0 : 5.0 * HUSK_REF_UNIT * fabs(quotient);
    return husk_ref_quantize_round(op->dtype, quotient, error,
                                   husk_ref_quantize_channel(op->zero, op->params, op->x->rank, index));
}

static husk_ref_value quantize_at(const void *op, const int64_t *index)
{
    return husk_ref_quantize_at(op, index);
}

husk_ref_function husk_ref_quantize_function(const husk_ref_quantize *op)
{
    husk_ref_function function = {.op = op, .at = quantize_at, .rank = op->x->rank, .cost = 1.0};
    memcpy(function.shape, op->x->shape, sizeof(function.shape));
    return function;
}

void husk_ref_quantize_run(const husk_ref_quantize *op, const husk_ref_array *y)
{
    const husk_ref_function function = husk_ref_quantize_function(op);
    husk_ref_function_evaluate(&function, y);
}
