// SPDX-License-Identifier: MIT
#include "ref/layout/pad.h"

#include <math.h>
#include <string.h>

int64_t husk_ref_pad_source(husk_pad_mode mode, int64_t j, int64_t before, int64_t n)
{
    int64_t i = j - before;
    if (i >= 0 && i < n)
        return i;
    switch (mode) {
    case HUSK_PAD_REFLECT:
        while (i < 0 || i >= n)
            i = i < 0 ? -i : 2 * (n - 1) - i;
        return i;
    case HUSK_PAD_REPLICATE:
        return i < 0 ? 0 : n - 1;
    case HUSK_PAD_CIRCULAR:
        while (i < 0 || i >= n)
            i += i < 0 ? n : -n;
        return i;
    default:
        return -1;
    }
}

husk_ref_value husk_ref_pad_at(const husk_ref_pad *op, const int64_t *index)
{
    const husk_ref_array *x = op->x;
    int64_t at[HUSK_MAX_RANK];
    bool is_inside = true;
    for (int32_t d = 0; d < x->rank; d++) {
        at[d] = husk_ref_pad_source(op->params->mode, index[d], op->params->before[d], x->shape[d]);
        is_inside = is_inside && at[d] >= 0;
    }
    const double value =
        is_inside ? husk_ref_load(x, husk_ref_offset(x, at)) : husk_ref_round(x->dtype, op->params->value);
    return (husk_ref_value){.value = value, .magnitude = fabs(value), .terms = is_inside};
}

static husk_ref_value pad_at(const void *op, const int64_t *index)
{
    return husk_ref_pad_at(op, index);
}

husk_ref_function husk_ref_pad_function(const husk_ref_pad *op)
{
    husk_ref_function function = {.op = op, .at = pad_at, .rank = op->x->rank, .cost = 1.0};
    for (int32_t d = 0; d < function.rank; d++)
        function.shape[d] = op->x->shape[d] + op->params->before[d] + op->params->after[d];
    return function;
}

void husk_ref_pad_run(const husk_ref_pad *op, const husk_ref_array *y)
{
    husk_ref_function function = husk_ref_pad_function(op);
    husk_ref_function_evaluate(&function, y);
}
