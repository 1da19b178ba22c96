// SPDX-License-Identifier: MIT
#include <math.h>
#include <string.h>

#include "ref/layout/pad.h"

// Adds what dimensions d and on contribute: every j that is made of index[d].
static void gather(const husk_ref_pad_backward *op, const int64_t *index, int32_t d, int64_t *at,
                   husk_ref_value *result)
{
    const husk_ref_array *dy = op->dy;
    if (d == dy->rank) {
        const double value = husk_ref_load(dy, husk_ref_offset(dy, at));
        result->value += value;
        result->magnitude += fabs(value);
        result->terms++;
        return;
    }
    for (at[d] = 0; at[d] < dy->shape[d]; at[d]++)
        if (husk_ref_pad_source(op->params->mode, at[d], op->params->before[d], op->dx->shape[d]) == index[d])
            gather(op, index, d + 1, at, result);
}

husk_ref_value husk_ref_pad_backward_at(const husk_ref_pad_backward *op, const int64_t *index)
{
    husk_ref_value result = {0};
    int64_t at[HUSK_MAX_RANK];
    gather(op, index, 0, at, &result);
    if (result.terms > 1)
        result.bound = husk_ref_sum_bound(0.0, result.terms, result.magnitude);
    if (op->params->accumulate & HUSK_ACCUMULATE_INPUTS) {
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
    return husk_ref_pad_backward_at(op, index);
}

husk_ref_function husk_ref_pad_backward_function(const husk_ref_pad_backward *op)
{
    husk_ref_function function = {.op = op, .at = backward_at, .rank = op->dx->rank, .cost = 1.0};
    memcpy(function.shape, op->dx->shape, sizeof(function.shape));
    for (int32_t d = 0; d < function.rank; d++)
        function.cost += (double)op->dy->shape[d];
    return function;
}

void husk_ref_pad_backward_run(const husk_ref_pad_backward *op, const husk_ref_array *dx)
{
    husk_ref_function function = husk_ref_pad_backward_function(op);
    husk_ref_function_evaluate(&function, dx);
}
