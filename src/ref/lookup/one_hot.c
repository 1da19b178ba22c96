// SPDX-License-Identifier: MIT
#include "ref/lookup/one_hot.h"

#include <math.h>
#include <string.h>

husk_ref_value husk_ref_one_hot_at(const husk_ref_one_hot *op, const int64_t *index)
{
    const double on = op->params != NULL ? op->params->on : 1.0, off = op->params != NULL ? op->params->off : 0.0;
    const double label = husk_ref_load(op->labels, husk_ref_offset(op->labels, index));
    const double value = label == (double)index[op->labels->rank] ? on : off;
    return (husk_ref_value){.value = value, .magnitude = fabs(value)}; // by definition
}

static husk_ref_value one_hot_at(const void *op, const int64_t *index)
{
    return husk_ref_one_hot_at(op, index);
}

husk_ref_function husk_ref_one_hot_function(const husk_ref_one_hot *op)
{
    husk_ref_function function = {.op = op, .at = one_hot_at, .rank = op->labels->rank + 1, .cost = 1.0};
    memcpy(function.shape, op->labels->shape, sizeof(function.shape));
    function.shape[op->labels->rank] = op->classes;
    return function;
}

void husk_ref_one_hot_run(const husk_ref_one_hot *op, const husk_ref_array *y)
{
    husk_ref_function function = husk_ref_one_hot_function(op);
    husk_ref_function_evaluate(&function, y);
}
