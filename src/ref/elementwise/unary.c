// SPDX-License-Identifier: MIT
#include "ref/elementwise/unary.h"

#include <math.h>
#include <string.h>

static double clamp(double x, double low, double high)
{
    x = x < low ? low : x;
    return x > high ? high : x;
}

static double apply(const husk_unary_params *params, double x)
{
    switch (params->op) {
    case HUSK_UNARY_NEGATE:
        return -x;
    case HUSK_UNARY_ABSOLUTE:
        return fabs(x);
    case HUSK_UNARY_SIGN:
        return x > 0.0 ? 1.0 : x < 0.0 ? -1.0 : 0.0;
    case HUSK_UNARY_SQUARE:
        return x * x;
    case HUSK_UNARY_RECIPROCAL:
        return 1.0 / x;
    case HUSK_UNARY_SQRT:
        return sqrt(x);
    case HUSK_UNARY_RSQRT:
        return 1.0 / sqrt(x);
    case HUSK_UNARY_FLOOR:
        return floor(x);
    case HUSK_UNARY_CEIL:
        return ceil(x);
    case HUSK_UNARY_ROUND:
        return rint(x);
    case HUSK_UNARY_CLAMP:
        return clamp(x, params->low, params->high);
    case HUSK_UNARY_EXP:
        return exp(x);
    case HUSK_UNARY_EXPM1:
        return expm1(x);
    case HUSK_UNARY_LOG:
        return log(x);
    case HUSK_UNARY_LOG1P:
        return log1p(x);
    case HUSK_UNARY_SIN:
        return sin(x);
    case HUSK_UNARY_COS:
        return cos(x);
    case HUSK_UNARY_POWER:
        return pow(x, params->exponent);
    }
    return NAN;
}

// The header's bound.
static double bound_of(husk_unary_op op, double value)
{
    switch (op) {
    case HUSK_UNARY_NEGATE:
    case HUSK_UNARY_ABSOLUTE:
    case HUSK_UNARY_SIGN:
    case HUSK_UNARY_FLOOR:
    case HUSK_UNARY_CEIL:
    case HUSK_UNARY_ROUND:
    case HUSK_UNARY_CLAMP:
        return 0.0;
    case HUSK_UNARY_POWER:
        return 32.0 * HUSK_REF_UNIT * fabs(value) + HUSK_REF_TINY;
    case HUSK_UNARY_RSQRT:
        return 10.0 * HUSK_REF_UNIT * fabs(value) + HUSK_REF_TINY;
    default:
        return 8.0 * HUSK_REF_UNIT * fabs(value) + HUSK_REF_TINY;
    }
}

husk_ref_value husk_ref_unary_at(const husk_ref_unary *op, const int64_t *index)
{
    const husk_unary_params defaults = {0}, *params = op->params != NULL ? op->params : &defaults;
    const double x = husk_ref_load(op->x, husk_ref_offset(op->x, index));
    husk_ref_value result = {.value = apply(params, x), .terms = 1};
    result.magnitude = fabs(result.value);
    result.bound = bound_of(params->op, result.value);
    if (result.value == 0.0 && result.bound <= HUSK_REF_TINY)
        result.terms = 0; // zero because x is, or in between two whole numbers
    return result;
}

static husk_ref_value unary_at(const void *op, const int64_t *index)
{
    return husk_ref_unary_at(op, index);
}

husk_ref_function husk_ref_unary_function(const husk_ref_unary *op)
{
    husk_ref_function function = {.op = op, .at = unary_at, .rank = op->x->rank, .cost = 1.0};
    memcpy(function.shape, op->x->shape, sizeof(function.shape));
    return function;
}

void husk_ref_unary_run(const husk_ref_unary *op, const husk_ref_array *y)
{
    husk_ref_function function = husk_ref_unary_function(op);
    husk_ref_function_evaluate(&function, y);
}
