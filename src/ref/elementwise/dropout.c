// SPDX-License-Identifier: MIT
#include "ref/elementwise/dropout.h"

#include <math.h>
#include <string.h>

#include "ref/random.h"

static const husk_dropout_params defaults = {0};

bool husk_ref_dropout_keeps(const husk_dropout_params *params, int64_t position)
{
    const uint64_t block = (uint64_t)position / 4;
    const uint32_t counter[4] = {(uint32_t)block, (uint32_t)(block >> 32), (uint32_t)params->offset,
                                 (uint32_t)(params->offset >> 32)};
    const uint32_t key[2] = {(uint32_t)params->seed, (uint32_t)(params->seed >> 32)};
    uint32_t random[4];
    husk_ref_philox(counter, key, random);
    return (double)random[position % 4] >= rint(params->p * 4294967296.0);
}

// x, or dy, at the index, times its mask.
static husk_ref_value masked_at(const husk_dropout_params *params, const husk_ref_array *x, const int64_t *index)
{
    const double value = husk_ref_load(x, husk_ref_offset(x, index));
    if (!husk_ref_dropout_keeps(params, husk_ref_position_of(x->rank, x->shape, index)))
        return (husk_ref_value){.value = value * 0.0};
    husk_ref_value result = {.value = value / (1.0 - params->p), .terms = 1};
    result.magnitude = fabs(result.value);
    result.bound = params->p == 0.0f ? 0.0 : 3.0 * HUSK_REF_UNIT * result.magnitude + HUSK_REF_TINY;
    return result;
}

husk_ref_value husk_ref_dropout_at(const husk_ref_dropout *op, const int64_t *index)
{
    return masked_at(op->params != NULL ? op->params : &defaults, op->x, index);
}

static husk_ref_value forward_at(const void *op, const int64_t *index)
{
    return husk_ref_dropout_at(op, index);
}

husk_ref_function husk_ref_dropout_function(const husk_ref_dropout *op)
{
    husk_ref_function function = {.op = op, .at = forward_at, .rank = op->x->rank, .cost = 1.0};
    memcpy(function.shape, op->x->shape, sizeof(function.shape));
    return function;
}

void husk_ref_dropout_run(const husk_ref_dropout *op, const husk_ref_array *y)
{
    husk_ref_function function = husk_ref_dropout_function(op);
    husk_ref_function_evaluate(&function, y);
}

husk_ref_value husk_ref_dropout_backward_at(const husk_ref_dropout_backward *op, const int64_t *index)
{
    const husk_dropout_params *params = op->params != NULL ? op->params : &defaults;
    husk_ref_value result = masked_at(params, op->dy, index);
    if (params->accumulate & HUSK_ACCUMULATE_INPUTS) {
        const double before = husk_ref_load(op->before, husk_ref_offset(op->before, index));
        const bool is_kept = result.terms > 0;
        result.value += before;
        result.magnitude += fabs(before);
        result.terms++;
        if (is_kept)
            result.bound += HUSK_REF_UNIT * result.magnitude + HUSK_REF_TINY;
    }
    return result;
}

static husk_ref_value backward_at(const void *op, const int64_t *index)
{
    return husk_ref_dropout_backward_at(op, index);
}

husk_ref_function husk_ref_dropout_backward_function(const husk_ref_dropout_backward *op)
{
    husk_ref_function function = {.op = op, .at = backward_at, .rank = op->dy->rank, .cost = 1.0};
    memcpy(function.shape, op->dy->shape, sizeof(function.shape));
    return function;
}

void husk_ref_dropout_backward_run(const husk_ref_dropout_backward *op, const husk_ref_array *dx)
{
    husk_ref_function function = husk_ref_dropout_backward_function(op);
    husk_ref_function_evaluate(&function, dx);
}
