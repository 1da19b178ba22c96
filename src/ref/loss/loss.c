// SPDX-License-Identifier: MIT
#include "ref/loss/loss.h"

#include <math.h>
#include <stdlib.h>

static husk_loss_reduction reduction_of(const husk_ref_loss *op)
{
    return op->params != NULL ? op->params->reduction : HUSK_LOSS_MEAN;
}

static int64_t count_rows(const husk_ref_loss *op)
{
    int64_t shape[HUSK_MAX_RANK], count = 1;
    const int32_t rank = husk_ref_loss_shape(op, shape);
    for (int32_t d = 0; d < rank; d++)
        count *= shape[d];
    return count;
}

bool husk_ref_loss_prepare(husk_ref_loss *op)
{
    int64_t shape[HUSK_MAX_RANK], index[HUSK_MAX_RANK] = {0};
    const int32_t rank = husk_ref_loss_shape(op, shape);
    const int64_t count = count_rows(op);
    husk_ref_loss_row *rows = malloc((size_t)(count + 1) * sizeof *rows);
    if (rows == NULL)
        return false;
    op->rows = NULL;
    double sum = 0, absolute = 0;
    for (int64_t i = 0; i < count; i++) {
        rows[i] = husk_ref_loss_row_at(op, index);
        sum += rows[i].weight;
        absolute += fabs(rows[i].weight);
        husk_ref_index_next(rank, shape, index);
    }
    op->rows = rows;
    op->divisor = reduction_of(op) == HUSK_LOSS_MEAN ? sum : 1.0;
    op->divisor_error = 0;
    if (reduction_of(op) == HUSK_LOSS_MEAN && husk_ref_loss_has_labels(op) && op->weight != NULL && sum != 0)
        op->divisor_error = (4.0 + 2.0 * sqrt((double)count)) * absolute / fabs(sum);
    return true;
}

void husk_ref_loss_release(husk_ref_loss *op)
{
    free(op->rows);
    op->rows = NULL;
}

husk_ref_value husk_ref_loss_at(const husk_ref_loss *op, const int64_t *index)
{
    const int64_t count = count_rows(op);
    husk_ref_value result = {.terms = 1};
    if (reduction_of(op) == HUSK_LOSS_NONE) {
        const husk_ref_loss_row row = husk_ref_loss_row_at(op, index);
        result.value = row.value;
        result.magnitude = row.magnitude;
        result.bound = row.bound;
        // Of one class softmax is 1 and its logarithm 0.
        const bool is_certain =
            husk_ref_loss_kind(op) == HUSK_LOSS_CROSS_ENTROPY && op->x->shape[husk_ref_loss_axis(op)] == 1;
        result.terms = row.is_counted && !is_certain;
        return result;
    }
    for (int64_t i = 0; i < count; i++) {
        result.value += op->rows[i].value;
        result.magnitude += op->rows[i].magnitude;
        result.bound += op->rows[i].bound;
        result.terms += op->rows[i].is_counted;
    }
    result.bound += husk_ref_sum_bound(0, count, result.magnitude);
    result.value /= op->divisor;
    result.magnitude /= fabs(op->divisor);
    result.bound /= fabs(op->divisor);
    result.bound += (2.0 + op->divisor_error) * HUSK_REF_UNIT * fabs(result.value);
    return result;
}

static husk_ref_value loss_at(const void *op, const int64_t *index)
{
    return husk_ref_loss_at(op, index);
}

husk_ref_function husk_ref_loss_function(const husk_ref_loss *op)
{
    husk_ref_function function = {.op = op, .at = loss_at, .cost = 1.0};
    if (reduction_of(op) == HUSK_LOSS_NONE)
        function.rank = husk_ref_loss_shape(op, function.shape);
    return function;
}

bool husk_ref_loss_run(const husk_ref_loss *op, const husk_ref_array *loss)
{
    husk_ref_loss prepared = *op;
    if (!husk_ref_loss_prepare(&prepared))
        return false;
    husk_ref_function function = husk_ref_loss_function(&prepared);
    husk_ref_function_evaluate(&function, loss);
    husk_ref_loss_release(&prepared);
    return true;
}
