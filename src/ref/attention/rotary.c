// SPDX-License-Identifier: MIT
#include "ref/attention/rotary.h"

#include <math.h>
#include <string.h>

static const husk_rotary_params defaults = {0};

static double position_of(const husk_ref_rotary *op, const husk_rotary_params *params, const int64_t *index)
{
    const husk_ref_array *positions = op->positions;
    if (positions == NULL)
        return (double)params->first_position + (double)index[2];
    const int64_t at[] = {index[0], index[2]};
    return husk_ref_load(positions, husk_ref_offset(positions, positions->rank == 2 ? at : at + 1));
}

typedef struct turn {
    double cosine, sine, factor; // factor: of the bound
} turn;

static turn turn_of(const husk_ref_rotary *op, const husk_rotary_params *params, double position, int64_t pair,
                    int64_t pairs)
{
    if (op->cosines != NULL) {
        if (!(position >= 0 && position < (double)op->cosines->shape[0]))
            return (turn){NAN, NAN, 0.0};
        const int64_t at[] = {(int64_t)position, pair};
        return (turn){husk_ref_load(op->cosines, husk_ref_offset(op->cosines, at)),
                      husk_ref_load(op->sines, husk_ref_offset(op->sines, at)), 3.0 * HUSK_REF_UNIT};
    }
    const double base = params->base != 0.0f ? params->base : 10000.0;
    const double angle = position * pow(base, -(double)pair / (double)pairs);
    // The check reads what follows as a bound in f32, and divides that by 2^28 for f64: the frequency's part stays.
    const int exponent = op->x->dtype == HUSK_F64 ? -52 + 28 : -52;
    return (turn){cos(angle), sin(angle), 8.0 * HUSK_REF_UNIT + ldexp(fabs(angle) * (double)(pair + 4), exponent)};
}

husk_ref_value husk_ref_rotary_at(const husk_ref_rotary *op, const int64_t *index)
{
    const husk_rotary_params *params = op->params != NULL ? op->params : &defaults;
    const int64_t turned = params->rotary_dimension ? params->rotary_dimension : op->x->shape[3];
    const int64_t column = index[3], pairs = turned / 2;
    const double x = husk_ref_load(op->x, husk_ref_offset(op->x, index));
    husk_ref_value result = {.value = x, .magnitude = fabs(x), .terms = 1};
    if (column < turned) {
        const bool is_second = params->interleaved ? column % 2 : column >= pairs;
        const int64_t pair = params->interleaved ? column / 2 : column % pairs;
        const int64_t step = params->interleaved ? 1 : pairs;
        const int64_t at[] = {index[0], index[1], index[2], is_second ? column - step : column + step};
        const double other = husk_ref_load(op->x, husk_ref_offset(op->x, at));
        const turn by = turn_of(op, params, position_of(op, params, index), pair, pairs);
        result.value = x * by.cosine + (is_second != op->is_gradient ? other : -other) * by.sine;
        result.magnitude = fabs(x) + fabs(other);
        result.bound = by.factor * result.magnitude + 2.0 * HUSK_REF_TINY;
        result.terms = 2;
    }
    if (op->is_gradient && params->accumulate & HUSK_ACCUMULATE_INPUTS) {
        const double before = husk_ref_load(op->before, husk_ref_offset(op->before, index));
        result.value += before;
        result.magnitude += fabs(before);
        result.bound += HUSK_REF_UNIT * result.magnitude + HUSK_REF_TINY;
        result.terms++;
    }
    return result;
}

static husk_ref_value rotary_at(const void *op, const int64_t *index)
{
    return husk_ref_rotary_at(op, index);
}

husk_ref_function husk_ref_rotary_function(const husk_ref_rotary *op)
{
    husk_ref_function function = {.op = op, .at = rotary_at, .rank = op->x->rank, .cost = 8.0};
    memcpy(function.shape, op->x->shape, sizeof(function.shape));
    return function;
}

void husk_ref_rotary_run(const husk_ref_rotary *op, const husk_ref_array *y)
{
    husk_ref_function function = husk_ref_rotary_function(op);
    husk_ref_function_evaluate(&function, y);
}
