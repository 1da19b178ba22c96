// SPDX-License-Identifier: MIT
#include "ref/softmax/softmax.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct row {
    double max, sum;
} row;

static int32_t get_axis(const husk_ref_softmax *op)
{
    const int32_t axis = op->params != NULL ? op->params->axis : -1;
    return axis < 0 ? axis + op->x->rank : axis;
}

// The row through index: the largest element (NaN if there is one) and the sum of e^(x - max).
static row reduce_row(const husk_ref_softmax *op, const int64_t *index)
{
    int32_t axis = get_axis(op);
    int64_t length = op->x->shape[axis], stride = op->x->strides[axis];
    int64_t start = husk_ref_offset(op->x, index) - index[axis] * stride;
    row result = {.max = -INFINITY};
    for (int64_t i = 0; i < length; i++) {
        double x = husk_ref_load(op->x, start + i * stride);
        if (x > result.max || isnan(x))
            result.max = x;
        if (isnan(x))
            break;
    }
    for (int64_t i = 0; i < length; i++)
        result.sum += exp(husk_ref_load(op->x, start + i * stride) - result.max);
    return result;
}

// Rows are numbered row-major over the shape whose axis has length 1.
static int64_t row_number(const husk_ref_softmax *op, const int64_t *index)
{
    int64_t shape[HUSK_MAX_RANK], at[HUSK_MAX_RANK];
    memcpy(shape, op->x->shape, sizeof(shape));
    memcpy(at, index, (size_t)op->x->rank * sizeof(*at));
    shape[get_axis(op)] = 1;
    at[get_axis(op)] = 0;
    return husk_ref_position_of(op->x->rank, shape, at);
}

bool husk_ref_softmax_prepare(husk_ref_softmax *op)
{
    int64_t count = husk_ref_array_count(op->x);
    if (count == 0)
        return true;
    int64_t shape[HUSK_MAX_RANK];
    memcpy(shape, op->x->shape, sizeof(shape));
    shape[get_axis(op)] = 1;
    double *rows = malloc((size_t)(count / op->x->shape[get_axis(op)]) * 2 * sizeof(*rows));
    if (rows == NULL)
        return false;
    int64_t index[HUSK_MAX_RANK] = {0}, number = 0;
    do {
        row reduced = reduce_row(op, index);
        rows[2 * number] = reduced.max;
        rows[2 * number + 1] = reduced.sum;
        number++;
    } while (husk_ref_index_next(op->x->rank, shape, index));
    op->rows = rows;
    return true;
}

void husk_ref_softmax_release(husk_ref_softmax *op)
{
    free(op->rows);
    op->rows = NULL;
}

husk_ref_value husk_ref_softmax_at(const husk_ref_softmax *op, const int64_t *index)
{
    row r;
    if (op->rows != NULL) {
        int64_t number = row_number(op, index);
        r = (row){op->rows[2 * number], op->rows[2 * number + 1]};
    } else {
        r = reduce_row(op, index);
    }
    double x = husk_ref_load(op->x, husk_ref_offset(op->x, index));
    int64_t length = op->x->shape[get_axis(op)];
    double factor = 16.0 + 2.0 * sqrt((double)length);
    husk_ref_value result = {.magnitude = fabs(x), .terms = length};
    if (op->params != NULL && op->params->log) {
        result.value = (x - r.max) - log(r.sum);
        // Not by |x|, as large as it may be: x - max is rounded once, whatever both of them have in common.
        result.bound = isinf(x) ? 0.0 : factor * HUSK_REF_UNIT * fmax(1.0, fabs(result.value));
    } else {
        result.value = exp(x - r.max) / r.sum;
        double bound = (factor + fabs(x - r.max)) * HUSK_REF_UNIT * result.value + HUSK_REF_TINY;
        result.bound = isinf(x) ? 0.0 : bound;
        if (isinf(x))
            result.terms = 0; // e^-infinity: zero by definition
    }
    return result;
}

static husk_ref_value softmax_at(const void *op, const int64_t *index)
{
    return husk_ref_softmax_at(op, index);
}

husk_ref_function husk_ref_softmax_function(const husk_ref_softmax *op)
{
    husk_ref_function function = {.op = op, .at = softmax_at, .rank = op->x->rank};
    function.cost = op->rows != NULL ? 1.0 : (double)op->x->shape[get_axis(op)];
    memcpy(function.shape, op->x->shape, sizeof(function.shape));
    return function;
}

bool husk_ref_softmax_run(const husk_ref_softmax *op, const husk_ref_array *y)
{
    husk_ref_softmax prepared = *op;
    prepared.rows = NULL;
    if (!husk_ref_softmax_prepare(&prepared)) // y may be x, so the rows must be reduced first
        return false;
    husk_ref_function function = husk_ref_softmax_function(&prepared);
    husk_ref_function_evaluate(&function, y);
    husk_ref_softmax_release(&prepared);
    return true;
}
