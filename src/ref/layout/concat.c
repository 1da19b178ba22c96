// SPDX-License-Identifier: MIT
#include "ref/layout/concat.h"

#include <math.h>
#include <string.h>

static int32_t axis_of(const husk_concat_params *params, int32_t rank)
{
    const int32_t axis = params != NULL ? params->axis : 0;
    return axis < 0 ? axis + rank : axis;
}

husk_ref_value husk_ref_concat_at(const husk_ref_concat *op, const int64_t *index)
{
    const int32_t rank = op->inputs[0].rank, axis = axis_of(op->params, rank);
    int64_t at[HUSK_MAX_RANK];
    size_t which = 0;
    memcpy(at, index, (size_t)rank * sizeof(*at));
    while (at[axis] >= op->inputs[which].shape[axis])
        at[axis] -= op->inputs[which++].shape[axis];
    const double value = husk_ref_load(&op->inputs[which], husk_ref_offset(&op->inputs[which], at));
    return (husk_ref_value){.value = value, .magnitude = fabs(value), .terms = 1};
}

static husk_ref_value concat_at(const void *op, const int64_t *index)
{
    return husk_ref_concat_at(op, index);
}

husk_ref_function husk_ref_concat_function(const husk_ref_concat *op)
{
    husk_ref_function function = {.op = op, .at = concat_at, .rank = op->inputs[0].rank, .cost = 1.0};
    memcpy(function.shape, op->inputs[0].shape, sizeof(function.shape));
    for (size_t i = 1; i < op->count; i++)
        function.shape[axis_of(op->params, function.rank)] += op->inputs[i].shape[axis_of(op->params, function.rank)];
    return function;
}

void husk_ref_concat_run(const husk_ref_concat *op, const husk_ref_array *y)
{
    husk_ref_function function = husk_ref_concat_function(op);
    husk_ref_function_evaluate(&function, y);
}
