// SPDX-License-Identifier: MIT
#include "ref/elementwise/binary.h"

#include <math.h>

int64_t husk_ref_broadcast_offset(const husk_ref_array *array, int32_t rank, const int64_t *index)
{
    int64_t offset = 0;
    for (int32_t d = 0; d < array->rank; d++)
        if (array->shape[d] != 1)
            offset += index[rank - array->rank + d] * array->strides[d];
    return offset;
}

static double maximum(double a, double b)
{
    return isnan(a) ? a : isnan(b) ? b : a > b ? a : b;
}

static double apply(husk_binary_op op, double alpha, double beta, double a, double b)
{
    switch (op) {
    case HUSK_BINARY_ADD:
        return alpha * a + beta * b;
    case HUSK_BINARY_SUBTRACT:
        return alpha * a - beta * b;
    case HUSK_BINARY_MULTIPLY:
        return alpha * a * b;
    case HUSK_BINARY_DIVIDE:
        return alpha * a / b;
    case HUSK_BINARY_MAXIMUM:
        return maximum(a, b);
    case HUSK_BINARY_MINIMUM:
        return -maximum(-a, -b);
    case HUSK_BINARY_POWER:
        return pow(a, b);
    case HUSK_BINARY_EQUAL:
        return a == b;
    case HUSK_BINARY_NOT_EQUAL:
        return a != b;
    case HUSK_BINARY_LESS:
        return a < b;
    case HUSK_BINARY_LESS_EQUAL:
        return a <= b;
    case HUSK_BINARY_GREATER:
        return a > b;
    case HUSK_BINARY_GREATER_EQUAL:
        return a >= b;
    }
    return NAN;
}

husk_ref_value husk_ref_binary_at(const husk_ref_binary *op, const int64_t *index)
{
    const husk_binary_params defaults = husk_binary_defaults(HUSK_BINARY_ADD),
                             *params = op->params != NULL ? op->params : &defaults;
    const int32_t rank = op->a->rank > op->b->rank ? op->a->rank : op->b->rank;
    const double a = husk_ref_load(op->a, husk_ref_broadcast_offset(op->a, rank, index));
    const double b = husk_ref_load(op->b, husk_ref_broadcast_offset(op->b, rank, index));
    const double alpha = params->alpha, beta = params->beta;
    husk_ref_value result = {.value = apply(params->op, alpha, beta, a, b), .terms = 1};
    result.magnitude = fabs(result.value);
    const double tiny = HUSK_REF_TINY * fmax(1.0, fabs(alpha));
    switch (params->op) {
    case HUSK_BINARY_ADD:
    case HUSK_BINARY_SUBTRACT:
        result.magnitude = fabs(alpha * a) + fabs(beta * b);
        result.terms = 2;
        result.bound = 3.0 * HUSK_REF_UNIT * result.magnitude + 3.0 * HUSK_REF_TINY;
        break;
    case HUSK_BINARY_MULTIPLY:
        result.bound = 2.0 * HUSK_REF_UNIT * result.magnitude + 2.0 * tiny;
        break;
    case HUSK_BINARY_DIVIDE:
        result.bound = 7.0 * HUSK_REF_UNIT * result.magnitude + 2.0 * tiny;
        break;
    case HUSK_BINARY_POWER:
        result.bound = 32.0 * HUSK_REF_UNIT * result.magnitude + HUSK_REF_TINY;
        break;
    default:
        result.terms = params->op >= HUSK_BINARY_EQUAL && result.value == 0.0 ? 0 : 1;
        break;
    }
    return result;
}

static husk_ref_value binary_at(const void *op, const int64_t *index)
{
    return husk_ref_binary_at(op, index);
}

husk_ref_function husk_ref_binary_function(const husk_ref_binary *op)
{
    const husk_ref_array *a = op->a, *b = op->b;
    husk_ref_function function = {.op = op, .at = binary_at, .cost = 1.0};
    function.rank = a->rank > b->rank ? a->rank : b->rank;
    for (int32_t d = 0; d < function.rank; d++) {
        const int32_t i = d - (function.rank - a->rank), k = d - (function.rank - b->rank);
        const int64_t of_a = i < 0 ? 1 : a->shape[i], of_b = k < 0 ? 1 : b->shape[k];
        function.shape[d] = of_a == 1 ? of_b : of_a;
    }
    return function;
}

void husk_ref_binary_run(const husk_ref_binary *op, const husk_ref_array *y)
{
    husk_ref_function function = husk_ref_binary_function(op);
    husk_ref_function_evaluate(&function, y);
}
