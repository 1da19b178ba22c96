// SPDX-License-Identifier: MIT
#include <math.h>
#include <string.h>

#include "ref/elementwise/binary.h"
#include "ref/elementwise/where.h"

static double load(const husk_ref_array *array, int32_t rank, const int64_t *index)
{
    return husk_ref_load(array, husk_ref_broadcast_offset(array, rank, index));
}

husk_ref_value husk_ref_where_backward_at(const husk_ref_where_backward *op, const int64_t *index)
{
    const husk_where_params defaults = {0}, *params = op->params != NULL ? op->params : &defaults;
    const husk_ref_array *dy = op->dy, *shape = op->gradient;
    int64_t count[HUSK_MAX_RANK], first[HUSK_MAX_RANK], step[HUSK_MAX_RANK] = {0}, at[HUSK_MAX_RANK];
    husk_ref_value result = {0};
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
            const bool is_a = load(op->condition, dy->rank, at) != 0.0;
            const double value = is_a != op->by_b ? load(dy, dy->rank, at) : 0.0;
            result.value += value;
            result.magnitude += fabs(value);
            result.terms++;
        } while (husk_ref_index_next(dy->rank, count, step));
    if (result.terms > 1)
        result.bound = (4.0 + 2.0 * sqrt((double)result.terms)) * HUSK_REF_UNIT * result.magnitude;
    if (result.bound > 0.0)
        result.bound += (double)result.terms * HUSK_REF_TINY;
    if (result.magnitude == 0.0)
        result.terms = 0; // the other's: zero by definition
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
    return husk_ref_where_backward_at(op, index);
}

husk_ref_function husk_ref_where_backward_function(const husk_ref_where_backward *op)
{
    husk_ref_function function = {.op = op, .at = backward_at, .rank = op->gradient->rank};
    memcpy(function.shape, op->gradient->shape, sizeof(function.shape));
    const int64_t count = husk_ref_array_count(op->gradient);
    function.cost = count > 0 ? (double)husk_ref_array_count(op->dy) / (double)count : 1.0;
    return function;
}

void husk_ref_where_backward_run(const husk_ref_where_backward *op, const husk_ref_array *gradient)
{
    husk_ref_function function = husk_ref_where_backward_function(op);
    husk_ref_function_evaluate(&function, gradient);
}
