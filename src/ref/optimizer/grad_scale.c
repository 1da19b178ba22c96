// SPDX-License-Identifier: MIT
#include "ref/optimizer/grad_scale.h"

#include <math.h>
#include <string.h>

husk_ref_value husk_ref_grad_scale_at(const husk_ref_grad_scale *op, const int64_t *index)
{
    const husk_grad_scale_params defaults = husk_grad_scale_defaults(),
                                 *params = op->params != NULL ? op->params : &defaults;
    const double factor = (double)params->factor * (params->divides ? 1.0 / op->by : op->by);
    const double x = husk_ref_load(op->before, husk_ref_offset(op->before, index));
    const double y = factor == 1.0 ? x : x * factor, limit = params->limit > 0 ? params->limit : INFINITY;
    husk_ref_value result = {.value = y > limit ? limit : y < -limit ? -limit : y, .terms = 1};
    result.magnitude = fabs(result.value);
    if (factor != 1.0 && isfinite(y))
        result.bound = (params->divides ? 8.0 : 2.0) * HUSK_REF_UNIT * result.magnitude + HUSK_REF_TINY;
    return result;
}

static husk_ref_value scale_at(const void *op, const int64_t *index)
{
    return husk_ref_grad_scale_at(op, index);
}

husk_ref_function husk_ref_grad_scale_function(const husk_ref_grad_scale *op)
{
    husk_ref_function function = {.op = op, .at = scale_at, .rank = op->before->rank, .cost = 1.0};
    memcpy(function.shape, op->before->shape, sizeof(function.shape));
    return function;
}

void husk_ref_grad_scale_run(const husk_ref_grad_scale *op, const husk_ref_array *x)
{
    husk_ref_function function = husk_ref_grad_scale_function(op);
    husk_ref_function_evaluate(&function, x);
}

bool husk_ref_grad_scale_found(const husk_ref_array *x)
{
    int64_t index[HUSK_MAX_RANK] = {0};
    if (husk_ref_array_count(x) == 0)
        return false;
    do {
        if (!isfinite(husk_ref_load(x, husk_ref_offset(x, index))))
            return true;
    } while (husk_ref_index_next(x->rank, x->shape, index));
    return false;
}
