// SPDX-License-Identifier: MIT
#include "ref/optimizer/grad_norm.h"

#include <math.h>

static husk_ref_value coefficient_of(double norm, double bound, double max_norm)
{
    husk_ref_value result = {.terms = 1};
    if (max_norm == 0.0) {
        result.value = isnan(norm) ? norm : 1.0;
    } else {
        const double quotient = max_norm / (norm + 1e-6);
        result.value = quotient > 1.0 ? 1.0 : quotient;
        const double error = fabs(quotient) * (bound / (norm + 1e-6) + 6.0 * HUSK_REF_UNIT) + HUSK_REF_TINY;
        result.bound = quotient - error >= 1.0 ? 0.0 : error; // it is 1 all the same
    }
    result.magnitude = fabs(result.value);
    return result;
}

husk_ref_value husk_ref_grad_norm_at(const husk_ref_grad_norm *op, const int64_t *index)
{
    const husk_grad_norm_params defaults = {0}, *params = op->params != NULL ? op->params : &defaults;
    const bool is_maximum = params->kind == HUSK_GRAD_NORM_MAXIMUM;
    double sum = 0.0;
    husk_ref_value result = {0};
    (void)index;
    for (size_t i = 0; i < op->count; i++) {
        int64_t at[HUSK_MAX_RANK] = {0};
        if (husk_ref_array_count(op->tensors[i]) == 0)
            continue;
        do {
            const double x = husk_ref_load(op->tensors[i], husk_ref_offset(op->tensors[i], at));
            if (is_maximum)
                sum = isnan(x) || fabs(x) > sum ? fabs(x) : sum;
            else
                sum += x * x;
            result.terms++;
        } while (husk_ref_index_next(op->tensors[i]->rank, op->tensors[i]->shape, at));
    }
    result.value = is_maximum ? sum : sqrt(sum);
    result.magnitude = result.value;
    if (!is_maximum && result.value > 0.0)
        result.bound =
            husk_ref_sum_bound(0.0, result.terms, sum) / (2.0 * result.value) + 4.0 * HUSK_REF_UNIT * result.value;
    return op->is_coefficient ? coefficient_of(result.value, result.bound, params->max_norm) : result;
}

static husk_ref_value norm_at(const void *op, const int64_t *index)
{
    return husk_ref_grad_norm_at(op, index);
}

husk_ref_function husk_ref_grad_norm_function(const husk_ref_grad_norm *op)
{
    husk_ref_function function = {.op = op, .at = norm_at, .cost = 1.0};
    for (size_t i = 0; i < op->count; i++)
        function.cost += (double)husk_ref_array_count(op->tensors[i]);
    return function;
}

double husk_ref_grad_norm_run(const husk_ref_grad_norm *op)
{
    return husk_ref_grad_norm_at(op, NULL).value;
}
