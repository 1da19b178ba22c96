// SPDX-License-Identifier: MIT
#include "ref/elementwise/where.h"

#include <math.h>

#include "ref/elementwise/binary.h"

static double load(const husk_ref_array *array, int32_t rank, const int64_t *index)
{
    return husk_ref_load(array, husk_ref_broadcast_offset(array, rank, index));
}

static void widen(husk_ref_function *function, const husk_ref_array *array)
{
    const husk_ref_function before = *function;
    function->rank = array->rank > before.rank ? array->rank : before.rank;
    for (int32_t d = 0; d < function->rank; d++) {
        const int32_t i = d - (function->rank - array->rank), k = d - (function->rank - before.rank);
        const int64_t own = i < 0 ? 1 : array->shape[i], other = k < 0 ? 1 : before.shape[k];
        function->shape[d] = own == 1 ? other : own;
    }
}

husk_ref_value husk_ref_where_at(const husk_ref_where *op, const int64_t *index)
{
    const husk_ref_function shape = husk_ref_where_function(op);
    const bool is_a = load(op->condition, shape.rank, index) != 0.0;
    const double value = load(is_a ? op->a : op->b, shape.rank, index);
    return (husk_ref_value){.value = value, .magnitude = fabs(value), .terms = 1};
}

static husk_ref_value where_at(const void *op, const int64_t *index)
{
    return husk_ref_where_at(op, index);
}

husk_ref_function husk_ref_where_function(const husk_ref_where *op)
{
    husk_ref_function function = {.op = op, .at = where_at, .cost = 1.0};
    widen(&function, op->condition);
    widen(&function, op->a);
    widen(&function, op->b);
    return function;
}

void husk_ref_where_run(const husk_ref_where *op, const husk_ref_array *y)
{
    husk_ref_function function = husk_ref_where_function(op);
    husk_ref_function_evaluate(&function, y);
}
