// SPDX-License-Identifier: MIT
#include <math.h>
#include <string.h>

#include "ref/elementwise/unary.h"

double husk_ref_exponent_error(double exponent, double x)
{
    const double error = fabs((exponent - 1.0) * log(fabs(x)));
    return isfinite(error) ? error : 0.0;
}

// dy times the derivative at x.
static double from_x(const husk_unary_params *params, double dy, double x)
{
    switch (params->op) {
    case HUSK_UNARY_NEGATE:
        return -dy;
    case HUSK_UNARY_ABSOLUTE:
        return dy * (x > 0.0 ? 1.0 : x < 0.0 ? -1.0 : 0.0);
    case HUSK_UNARY_SQUARE:
        return dy * 2.0 * x;
    case HUSK_UNARY_RECIPROCAL:
        return -dy / (x * x);
    case HUSK_UNARY_SQRT:
        return dy / (2.0 * sqrt(x));
    case HUSK_UNARY_RSQRT:
        return -0.5 * dy / (x * sqrt(x));
    case HUSK_UNARY_CLAMP:
        return x >= (double)params->low && x <= (double)params->high ? dy : 0.0;
    case HUSK_UNARY_EXP:
    case HUSK_UNARY_EXPM1:
        return dy * exp(x);
    case HUSK_UNARY_LOG:
        return dy / x;
    case HUSK_UNARY_LOG1P:
        return dy / (1.0 + x);
    case HUSK_UNARY_SIN:
        return dy * cos(x);
    case HUSK_UNARY_COS:
        return -dy * sin(x);
    case HUSK_UNARY_POWER:
        return params->exponent == 0.0f ? 0.0 : dy * params->exponent * pow(x, (double)params->exponent - 1.0);
    default: // SIGN, FLOOR, CEIL, ROUND
        return 0.0;
    }
}

// The same where forward gave y; false where that does not follow.
static bool from_y(husk_unary_op op, double dy, double y, double *dx)
{
    switch (op) {
    case HUSK_UNARY_NEGATE:
        return *dx = -dy, true;
    case HUSK_UNARY_SIGN:
    case HUSK_UNARY_FLOOR:
    case HUSK_UNARY_CEIL:
    case HUSK_UNARY_ROUND:
        return *dx = 0.0, true;
    case HUSK_UNARY_RECIPROCAL:
        return *dx = -dy * y * y, true;
    case HUSK_UNARY_SQRT:
        return *dx = dy / (2.0 * y), true;
    case HUSK_UNARY_RSQRT:
        return *dx = -0.5 * dy * y * y * y, true;
    case HUSK_UNARY_EXP:
        return *dx = dy * y, true;
    case HUSK_UNARY_EXPM1:
        return *dx = dy * (y + 1.0), true;
    default:
        return false;
    }
}

// The header's bound. No rounding: nothing but signs and choices. x: POWER's.
static double bound_of(const husk_unary_params *params, double value, double x)
{
    switch (params->op) {
    case HUSK_UNARY_NEGATE:
    case HUSK_UNARY_ABSOLUTE:
    case HUSK_UNARY_SIGN:
    case HUSK_UNARY_FLOOR:
    case HUSK_UNARY_CEIL:
    case HUSK_UNARY_ROUND:
    case HUSK_UNARY_CLAMP:
        return 0.0;
    case HUSK_UNARY_POWER:
        if (params->exponent == 0.0f)
            return 0.0;
        return (40.0 + husk_ref_exponent_error(params->exponent, x)) * HUSK_REF_UNIT * fabs(value) + HUSK_REF_TINY;
    case HUSK_UNARY_RSQRT: // the third power of a number that errs by 8.5 units
        return 32.0 * HUSK_REF_UNIT * fabs(value) + HUSK_REF_TINY;
    default:
        return 16.0 * HUSK_REF_UNIT * fabs(value) + HUSK_REF_TINY;
    }
}

husk_ref_value husk_ref_unary_backward_at(const husk_ref_unary_backward *op, const int64_t *index)
{
    const husk_unary_params defaults = {0}, *params = op->params != NULL ? op->params : &defaults;
    const double dy = husk_ref_load(op->dy, husk_ref_offset(op->dy, index));
    husk_ref_value result = {.terms = 1};
    if (op->y == NULL || !from_y(params->op, dy, husk_ref_load(op->y, husk_ref_offset(op->y, index)), &result.value))
        result.value = from_x(params, dy, husk_ref_load(op->x, husk_ref_offset(op->x, index)));
    result.magnitude = fabs(result.value);
    const bool is_power = params->op == HUSK_UNARY_POWER;
    result.bound = bound_of(params, result.value, is_power ? husk_ref_load(op->x, husk_ref_offset(op->x, index)) : 0.0);
    if (result.value == 0.0 && result.bound == 0.0)
        result.terms = 0; // by definition
    if (params->accumulate & HUSK_ACCUMULATE_INPUTS) {
        const double before = husk_ref_load(op->before, husk_ref_offset(op->before, index));
        result.value += before;
        result.magnitude += fabs(before);
        result.terms = 2;
        result.bound += HUSK_REF_UNIT * result.magnitude + HUSK_REF_TINY;
    }
    return result;
}

static husk_ref_value backward_at(const void *op, const int64_t *index)
{
    return husk_ref_unary_backward_at(op, index);
}

husk_ref_function husk_ref_unary_backward_function(const husk_ref_unary_backward *op)
{
    husk_ref_function function = {.op = op, .at = backward_at, .rank = op->dy->rank, .cost = 1.0};
    memcpy(function.shape, op->dy->shape, sizeof(function.shape));
    return function;
}

void husk_ref_unary_backward_run(const husk_ref_unary_backward *op, const husk_ref_array *dx)
{
    husk_ref_function function = husk_ref_unary_backward_function(op);
    husk_ref_function_evaluate(&function, dx);
}
