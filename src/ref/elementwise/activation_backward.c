// SPDX-License-Identifier: MIT
#include <math.h>
#include <string.h>

#include "ref/elementwise/activation.h"

static const double PI = 3.14159265358979323846;

static double sigmoid(double x)
{
    return 1.0 / (1.0 + exp(-x));
}

// sigmoid'(x) without cancellation
static double sigmoid_derivative(double x)
{
    return sigmoid(x) * sigmoid(-x);
}

static double gelu_tanh_derivative(double x)
{
    const double root = sqrt(2.0 / PI), t = tanh(root * (x + 0.044715 * x * x * x));
    return 0.5 * (1.0 + t) + 0.5 * x * (1.0 - t * t) * root * (1.0 + 3.0 * 0.044715 * x * x);
}

double husk_ref_activation_derivative(husk_act act, float slope, double x)
{
    const bool is_far = fabs(x) > 1e3; // the limits, which the formulas below do not reach at infinity
    switch (act) {
    case HUSK_ACT_RELU:
        return x <= 0.0 ? 0.0 : 1.0;
    case HUSK_ACT_LEAKY_RELU:
        return x > 0.0 ? 1.0 : (double)slope;
    case HUSK_ACT_RELU6:
        return x <= 0.0 || x >= 6.0 ? 0.0 : 1.0;
    case HUSK_ACT_GELU:
        if (is_far)
            return x > 0.0 ? 1.0 : 0.0;
        return 0.5 * erfc(-x / sqrt(2.0)) + x * exp(-0.5 * x * x) / sqrt(2.0 * PI);
    case HUSK_ACT_GELU_TANH:
        if (is_far)
            return x > 0.0 ? 1.0 : 0.0;
        return gelu_tanh_derivative(x);
    case HUSK_ACT_SILU:
        if (is_far)
            return x > 0.0 ? 1.0 : 0.0;
        return sigmoid(x) + x * sigmoid_derivative(x);
    case HUSK_ACT_SIGMOID:
        return sigmoid_derivative(x);
    case HUSK_ACT_TANH:
        return 4.0 * sigmoid_derivative(2.0 * x);
    default:
        return 1.0;
    }
}

double husk_ref_activation_derivative_of_y(husk_act act, float slope, double y)
{
    switch (act) {
    case HUSK_ACT_SIGMOID:
        return y * (1.0 - y);
    case HUSK_ACT_TANH:
        return 1.0 - y * y;
    default:
        return husk_ref_activation_derivative(act, slope, y); // y has x's sign, and x's distance from the kinks
    }
}

static bool follows_from_y(husk_act act, float slope)
{
    return act == HUSK_ACT_NONE || act == HUSK_ACT_RELU || act == HUSK_ACT_RELU6 || act == HUSK_ACT_SIGMOID ||
           act == HUSK_ACT_TANH || (act == HUSK_ACT_LEAKY_RELU && slope >= 0.0f);
}

// The header's bound. The piecewise linear kinds are exact: a product with 0 or 1, or one rounding.
static double own_error(husk_act act, double dy, double derivative)
{
    switch (act) {
    case HUSK_ACT_NONE:
    case HUSK_ACT_RELU:
    case HUSK_ACT_RELU6:
        return 0.0;
    case HUSK_ACT_LEAKY_RELU:
        return derivative == 1.0 ? 0.0 : HUSK_REF_UNIT * fabs(dy * derivative);
    case HUSK_ACT_GELU:
    case HUSK_ACT_GELU_TANH:
        return 16.0 * HUSK_REF_UNIT * fabs(dy);
    default:
        return 8.0 * HUSK_REF_UNIT * fabs(dy);
    }
}

husk_ref_value husk_ref_activation_backward_at(const husk_ref_activation_backward *op, const int64_t *index)
{
    const husk_activation_params defaults = {0}, *params = op->params != NULL ? op->params : &defaults;
    const husk_act act = params->activation;
    const double dy = husk_ref_load(op->dy, husk_ref_offset(op->dy, index));
    const bool is_from_y = op->y != NULL && follows_from_y(act, params->slope);
    const husk_ref_array *from = is_from_y ? op->y : op->x;
    const double v = husk_ref_load(from, husk_ref_offset(from, index));
    const double derivative = is_from_y ? husk_ref_activation_derivative_of_y(act, params->slope, v)
                                        : husk_ref_activation_derivative(act, params->slope, v);
    // Where the derivative is 0 by definition, whatever dy is. A slope of 0 is a factor.
    const bool is_cut = derivative == 0.0 && act != HUSK_ACT_LEAKY_RELU && own_error(act, 1.0, 0.0) == 0.0;
    husk_ref_value result = {.value = is_cut ? 0.0 : dy * derivative, .terms = is_cut ? 0 : 1};
    result.magnitude = fabs(result.value);
    result.bound = own_error(act, dy, derivative);
    if (result.bound > 0.0)
        result.bound += HUSK_REF_TINY;
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
    return husk_ref_activation_backward_at(op, index);
}

husk_ref_function husk_ref_activation_backward_function(const husk_ref_activation_backward *op)
{
    husk_ref_function function = {.op = op, .at = backward_at, .rank = op->dy->rank, .cost = 1.0};
    memcpy(function.shape, op->dy->shape, sizeof(function.shape));
    return function;
}

void husk_ref_activation_backward_run(const husk_ref_activation_backward *op, const husk_ref_array *dx)
{
    husk_ref_function function = husk_ref_activation_backward_function(op);
    husk_ref_function_evaluate(&function, dx);
}
