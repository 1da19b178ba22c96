// SPDX-License-Identifier: MIT
#include "ref/elementwise/activation.h"

#include <math.h>
#include <string.h>

double husk_ref_activate(husk_act act, float slope, double x)
{
    switch (act) {
    case HUSK_ACT_RELU:
        return x < 0.0 ? 0.0 : x; // NaN fails the comparison and stays
    case HUSK_ACT_LEAKY_RELU:
        return x < 0.0 ? (double)slope * x : x;
    case HUSK_ACT_RELU6:
        return x < 0.0 ? 0.0 : (x > 6.0 ? 6.0 : x);
    case HUSK_ACT_GELU:
        return 0.5 * x * erfc(-x / sqrt(2.0)); // 1 + erf(z) = erfc(-z), which does not cancel
    case HUSK_ACT_GELU_TANH:
        // (1 + tanh u) / 2 = 1 / (1 + e^-2u), which does not cancel
        return x / (1.0 + exp(-2.0 * sqrt(2.0 / 3.14159265358979323846) * (x + 0.044715 * x * x * x)));
    case HUSK_ACT_SILU:
        return x * (1.0 / (1.0 + exp(-x)));
    case HUSK_ACT_SIGMOID:
        return 1.0 / (1.0 + exp(-x));
    case HUSK_ACT_TANH:
        return tanh(x);
    default:
        return x;
    }
}

// The largest |derivative|. GELU: Phi(x) + x phi(x) peaks at x = sqrt 2 with 1.1289, its tanh approximation
// within 1e-3 of that; SiLU peaks at x = 2.3994 with 1.0998.
static double largest_slope(husk_act act, float slope)
{
    switch (act) {
    case HUSK_ACT_LEAKY_RELU:
        return fmax(1.0, fabs((double)slope));
    case HUSK_ACT_GELU:
    case HUSK_ACT_GELU_TANH:
        return 1.13;
    case HUSK_ACT_SILU:
        return 1.1;
    case HUSK_ACT_SIGMOID:
        return 0.25;
    default:
        return 1.0;
    }
}

// Of x, computed without an error before it; y is at most as large in magnitude. Where it is a product with x, what a
// denormal costs that becomes zero is multiplied, too.
static double own_error(husk_act act, float slope, double x, double y)
{
    const double size = fabs(x), tiny = HUSK_REF_TINY * fmax(1.0, size);
    switch (act) {
    case HUSK_ACT_LEAKY_RELU:
        return HUSK_REF_UNIT * fabs((double)slope) * size;
    case HUSK_ACT_GELU: // erf's error does not become smaller where 1 + erf does
        return 16.0 * HUSK_REF_UNIT * size + tiny;
    case HUSK_ACT_GELU_TANH: { // the same of 1 + tanh, as others compute it; or e^-z, whose error grows with z
        const double z = fmin(1.6 * size * (1.0 + 0.045 * size * size), 104.0);
        return 16.0 * HUSK_REF_UNIT * size + 4.0 * z * HUSK_REF_UNIT * y + tiny;
    }
    case HUSK_ACT_SILU:
    case HUSK_ACT_SIGMOID:
    case HUSK_ACT_TANH:
        return 8.0 * HUSK_REF_UNIT * y + tiny;
    default:
        return 0.0;
    }
}

double husk_ref_activation_bound(husk_act act, float slope, double x, double error)
{
    if (!isfinite(x)) { // the limits are exact where they are finite at all
        bool rounds = act == HUSK_ACT_SIGMOID || act == HUSK_ACT_TANH;
        return rounds ? own_error(act, slope, 1.0, 1.0) : 0.0;
    }
    const double carried = largest_slope(act, slope) * error;
    return carried + own_error(act, slope, fabs(x) + error, fabs(husk_ref_activate(act, slope, x)) + carried);
}

husk_ref_value husk_ref_activation_at(const husk_ref_activation *op, const int64_t *index)
{
    husk_act act = op->params != NULL ? op->params->activation : HUSK_ACT_NONE;
    float slope = op->params != NULL ? op->params->slope : 0.0f;
    double x = husk_ref_load(op->x, husk_ref_offset(op->x, index));
    husk_ref_value result = {.value = husk_ref_activate(act, slope, x), .magnitude = fabs(x), .terms = 1};
    result.bound = husk_ref_activation_bound(act, slope, x, x == 0.0 ? 0.0 : HUSK_REF_TINY);
    return result;
}

static husk_ref_value activation_at(const void *op, const int64_t *index)
{
    return husk_ref_activation_at(op, index);
}

husk_ref_function husk_ref_activation_function(const husk_ref_activation *op)
{
    husk_ref_function function = {.op = op, .at = activation_at, .rank = op->x->rank, .cost = 1.0};
    memcpy(function.shape, op->x->shape, sizeof(function.shape));
    return function;
}

void husk_ref_activation_run(const husk_ref_activation *op, const husk_ref_array *y)
{
    husk_ref_function function = husk_ref_activation_function(op);
    husk_ref_function_evaluate(&function, y);
}
