// SPDX-License-Identifier: MIT
#include <math.h>
#include <string.h>

#include "ref/layout/concat.h"

husk_ref_value husk_ref_concat_backward_at(const husk_ref_concat_backward *op, const int64_t *index)
{
    const int32_t rank = op->dy->rank, axis = op->params != NULL ? op->params->axis : 0;
    int64_t at[HUSK_MAX_RANK];
    memcpy(at, index, (size_t)rank * sizeof(*at));
    at[axis < 0 ? axis + rank : axis] += op->start;
    const double value = husk_ref_load(op->dy, husk_ref_offset(op->dy, at));
    husk_ref_value result = {.value = value, .magnitude = fabs(value), .terms = 1};
    if (op->params != NULL && op->params->accumulate & HUSK_ACCUMULATE_INPUTS) {
        const double before = husk_ref_load(op->before, husk_ref_offset(op->before, index));
        result.value += before;
        result.magnitude += fabs(before);
        result.terms++;
        result.bound = HUSK_REF_UNIT * result.magnitude + HUSK_REF_TINY;
    }
    return result;
}

static husk_ref_value backward_at(const void *op, const int64_t *index)
{
    return husk_ref_concat_backward_at(op, index);
}

husk_ref_function husk_ref_concat_backward_function(const husk_ref_concat_backward *op)
{
    husk_ref_function function = {.op = op, .at = backward_at, .rank = op->gradient->rank, .cost = 1.0};
    memcpy(function.shape, op->gradient->shape, sizeof(function.shape));
    return function;
}

void husk_ref_concat_backward_run(const husk_ref_concat_backward *op, const husk_ref_array *gradient)
{
    husk_ref_function function = husk_ref_concat_backward_function(op);
    husk_ref_function_evaluate(&function, gradient);
}
