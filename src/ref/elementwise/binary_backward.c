// SPDX-License-Identifier: MIT
#include <math.h>
#include <string.h>

#include "ref/elementwise/binary.h"
#include "ref/elementwise/unary.h"

// The gradient by a: maximum's, of which minimum's is the mirror image.
static double of_larger(double dy, double own, double other)
{
    return own < other ? 0.0 : own == other ? 0.5 * dy : dy;
}

static double of_exponent(double dy, double a, double b)
{
    if (a == 0.0 && b >= 0.0)
        return 0.0;
    return dy * (pow(a, b) * log(a));
}

// What one element of dy adds to a gradient.
static double term(const husk_binary_params *params, bool by_b, double a, double b, double dy)
{
    const double alpha = params->alpha, beta = params->beta;
    switch (params->op) {
    case HUSK_BINARY_ADD:
        return dy * (by_b ? beta : alpha);
    case HUSK_BINARY_SUBTRACT:
        return dy * (by_b ? -beta : alpha);
    case HUSK_BINARY_MULTIPLY:
        return alpha * dy * (by_b ? a : b);
    case HUSK_BINARY_DIVIDE:
        return by_b ? -alpha * dy * (a / b / b) : alpha * dy / b;
    case HUSK_BINARY_MAXIMUM:
        return by_b ? of_larger(dy, b, a) : of_larger(dy, a, b);
    case HUSK_BINARY_MINIMUM:
        return by_b ? of_larger(dy, -b, -a) : of_larger(dy, -a, -b);
    default:
        return by_b ? of_exponent(dy, a, b) : b == 0.0 ? 0.0 : dy * (b * pow(a, b - 1.0));
    }
}

// Roundings of a term, as the header counts them.
static double roundings(const husk_binary_params *params)
{
    switch (params->op) {
    case HUSK_BINARY_ADD:
    case HUSK_BINARY_SUBTRACT:
        return 1.0;
    case HUSK_BINARY_MULTIPLY:
        return 2.0;
    case HUSK_BINARY_DIVIDE:
        return 16.0;
    case HUSK_BINARY_POWER:
        return 48.0;
    default:
        return 0.0;
    }
}

static double load(const husk_ref_array *array, int32_t rank, const int64_t *index)
{
    return array != NULL ? husk_ref_load(array, husk_ref_broadcast_offset(array, rank, index)) : 0.0;
}

husk_ref_value husk_ref_binary_backward_at(const husk_ref_binary_backward *op, const int64_t *index)
{
    const husk_binary_params defaults = husk_binary_defaults(HUSK_BINARY_ADD),
                             *params = op->params != NULL ? op->params : &defaults;
    const husk_ref_array *dy = op->dy, *shape = op->gradient;
    int64_t count[HUSK_MAX_RANK], first[HUSK_MAX_RANK], step[HUSK_MAX_RANK] = {0}, at[HUSK_MAX_RANK];
    husk_ref_value result = {0};
    double exponents = 0.0; // what rounding them makes of the terms, in units of 2^-24
    bool is_empty = false;
    for (int32_t d = 0; d < dy->rank; d++) {
        const int32_t own = d - (dy->rank - shape->rank);
        const bool is_summed = own < 0 || shape->shape[own] == 1;
        count[d] = is_summed ? dy->shape[d] : 1;
        first[d] = is_summed ? 0 : index[own];
        is_empty = is_empty || count[d] == 0;
    }
    if (!is_empty)
        do {
            for (int32_t d = 0; d < dy->rank; d++)
                at[d] = first[d] + step[d];
            const double a = load(op->a, dy->rank, at), b = load(op->b, dy->rank, at);
            const double value = term(params, op->by_b, a, b, load(dy, dy->rank, at));
            if (params->op == HUSK_BINARY_POWER && !op->by_b && isfinite(value))
                exponents += husk_ref_exponent_error(b, a) * fabs(value);
            result.value += value;
            result.magnitude += fabs(value);
            result.terms++;
        } while (husk_ref_index_next(dy->rank, count, step));
    result.bound = (roundings(params) + (result.terms > 1 ? 4.0 + 2.0 * sqrt((double)result.terms) : 0.0)) *
                       HUSK_REF_UNIT * result.magnitude +
                   HUSK_REF_UNIT * exponents;
    if (result.bound > 0.0)
        result.bound += 2.0 * (double)result.terms * HUSK_REF_TINY;
    if (result.magnitude == 0.0)
        result.terms = 0; // another input's: zero by definition
    if (params->accumulate & HUSK_ACCUMULATE_INPUTS) {
        const double before = husk_ref_load(op->before, husk_ref_offset(op->before, index));
        result.value += before;
        result.magnitude += fabs(before);
        result.terms++;
        result.bound += HUSK_REF_UNIT * result.magnitude + HUSK_REF_TINY;
    }
    return result;
}

static husk_ref_value backward_at(const void *op, const int64_t *index)
{
    return husk_ref_binary_backward_at(op, index);
}

husk_ref_function husk_ref_binary_backward_function(const husk_ref_binary_backward *op)
{
    husk_ref_function function = {.op = op, .at = backward_at, .rank = op->gradient->rank};
    memcpy(function.shape, op->gradient->shape, sizeof(function.shape));
    const int64_t count = husk_ref_array_count(op->gradient);
    function.cost = count > 0 ? (double)husk_ref_array_count(op->dy) / (double)count : 1.0;
    return function;
}

void husk_ref_binary_backward_run(const husk_ref_binary_backward *op, const husk_ref_array *gradient)
{
    husk_ref_function function = husk_ref_binary_backward_function(op);
    husk_ref_function_evaluate(&function, gradient);
}
