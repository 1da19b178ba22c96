// SPDX-License-Identifier: MIT
#include "ref/quantized/gemm.h"

#include <math.h>
#include <string.h>

#include "ref/elementwise/activation.h"
#include "ref/quantized/quantize.h"

static double scale_of(const husk_quantization *quantization)
{
    return quantization != NULL && quantization->scale != 0.0f ? quantization->scale : 1.0;
}

husk_ref_value husk_ref_quantized_finish(int64_t sum, int64_t terms, husk_dtype dtype, double scale, double bias,
                                         husk_act act, float slope, const husk_quantization *c_quantization)
{
    sum = (int32_t)(uint32_t)sum;
    if (dtype == HUSK_I32)
        return (husk_ref_value){.value = (double)sum, .terms = terms};
    const double x = scale * (double)sum + bias;
    const double error = HUSK_REF_UNIT * (6.0 * fabs(scale * (double)sum) + 2.0 * fabs(bias)) + HUSK_REF_TINY;
    husk_ref_value result = {.value = husk_ref_activate(act, slope, x), .terms = terms + (bias != 0.0)};
    result.magnitude = fabs(scale * (double)sum) + fabs(bias);
    result.bound = husk_ref_activation_bound(act, slope, x, error);
    if (dtype != HUSK_I8 && dtype != HUSK_U8)
        return result;
    const double quotient = result.value / scale_of(c_quantization);
    const double doubt = result.bound / scale_of(c_quantization) + 5.0 * HUSK_REF_UNIT * fabs(quotient);
    const double zero = c_quantization != NULL ? c_quantization->zero : 0.0;
    return husk_ref_quantize_round(dtype, quotient, isfinite(quotient) ? doubt : 0.0, zero);
}

static int64_t matrix_at(const husk_ref_array *matrix, int64_t batch, int64_t row, int64_t column)
{
    const int32_t rank = matrix->rank;
    const int64_t first = rank == 3 && matrix->shape[0] != 1 ? batch * matrix->strides[0] : 0;
    return first + row * matrix->strides[rank - 2] + column * matrix->strides[rank - 1];
}

static double channel_of(const husk_ref_array *array, int64_t column, double none)
{
    if (array == NULL)
        return none;
    return husk_ref_load(array, husk_ref_array_count(array) == 1 ? 0 : column * array->strides[0]);
}

husk_ref_value husk_ref_quantized_gemm_at(const husk_ref_quantized_gemm *op, const int64_t *index)
{
    static const husk_quantized_gemm_params defaults = {0};
    const husk_quantized_gemm_params *params = op->params != NULL ? op->params : &defaults;
    const int batched = op->c->rank == 3;
    const int64_t batch = batched ? index[0] : 0, row = index[batched], column = index[batched + 1];
    const int64_t k = op->a->shape[op->a->rank - 1], zero = op->a_quantization != NULL ? op->a_quantization->zero : 0;
    int64_t sum = 0;
    for (int64_t p = 0; p < k; p++)
        sum += ((int64_t)husk_ref_load(op->a, matrix_at(op->a, batch, row, p)) - zero) *
               (int64_t)husk_ref_load(op->b, matrix_at(op->b, batch, p, column));
    return husk_ref_quantized_finish(
        sum, k, op->c->dtype, scale_of(op->a_quantization) * channel_of(op->b_scale, column, 1.0),
        channel_of(op->bias, column, 0.0), params->activation, params->activation_slope, op->c_quantization);
}

static husk_ref_value quantized_gemm_at(const void *op, const int64_t *index)
{
    return husk_ref_quantized_gemm_at(op, index);
}

husk_ref_function husk_ref_quantized_gemm_function(const husk_ref_quantized_gemm *op)
{
    husk_ref_function function = {.op = op, .at = quantized_gemm_at, .rank = op->c->rank};
    function.cost = (double)op->a->shape[op->a->rank - 1];
    memcpy(function.shape, op->c->shape, sizeof(function.shape));
    return function;
}

void husk_ref_quantized_gemm_run(const husk_ref_quantized_gemm *op, const husk_ref_array *out)
{
    const husk_ref_function function = husk_ref_quantized_gemm_function(op);
    husk_ref_function_evaluate(&function, out);
}
