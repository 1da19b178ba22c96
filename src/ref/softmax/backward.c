// SPDX-License-Identifier: MIT
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "ref/softmax/softmax.h"

typedef struct row {
    double sum, magnitude; // of y dy, or of dy
} row;

static int32_t get_axis(const husk_ref_softmax_backward *op)
{
    const int32_t axis = op->params != NULL ? op->params->axis : -1;
    return axis < 0 ? axis + op->y->rank : axis;
}

static bool is_log(const husk_ref_softmax_backward *op)
{
    return op->params != NULL && op->params->log;
}

static row reduce_row(const husk_ref_softmax_backward *op, const int64_t *index)
{
    int64_t at[HUSK_MAX_RANK];
    row result = {0};
    memcpy(at, index, (size_t)op->y->rank * sizeof(*at));
    for (int64_t i = 0; i < op->y->shape[get_axis(op)]; i++) {
        at[get_axis(op)] = i;
        double term = husk_ref_load(op->dy, husk_ref_offset(op->dy, at));
        if (!is_log(op))
            term *= husk_ref_load(op->y, husk_ref_offset(op->y, at));
        result.sum += term;
        result.magnitude += fabs(term);
    }
    return result;
}

// Rows are numbered row-major over the shape whose axis has length 1.
static int64_t row_number(const husk_ref_softmax_backward *op, const int64_t *index)
{
    int64_t shape[HUSK_MAX_RANK], at[HUSK_MAX_RANK];
    memcpy(shape, op->y->shape, sizeof(shape));
    memcpy(at, index, (size_t)op->y->rank * sizeof(*at));
    shape[get_axis(op)] = 1;
    at[get_axis(op)] = 0;
    return husk_ref_position_of(op->y->rank, shape, at);
}

bool husk_ref_softmax_backward_prepare(husk_ref_softmax_backward *op)
{
    int64_t count = husk_ref_array_count(op->y);
    if (count == 0)
        return true;
    int64_t shape[HUSK_MAX_RANK];
    memcpy(shape, op->y->shape, sizeof(shape));
    shape[get_axis(op)] = 1;
    double *rows = malloc((size_t)(count / op->y->shape[get_axis(op)]) * 2 * sizeof(*rows));
    if (rows == NULL)
        return false;
    int64_t index[HUSK_MAX_RANK] = {0}, number = 0;
    do {
        row reduced = reduce_row(op, index);
        rows[2 * number] = reduced.sum;
        rows[2 * number + 1] = reduced.magnitude;
        number++;
    } while (husk_ref_index_next(op->y->rank, shape, index));
    op->rows = rows;
    return true;
}

void husk_ref_softmax_backward_release(husk_ref_softmax_backward *op)
{
    free(op->rows);
    op->rows = NULL;
}

husk_ref_value husk_ref_softmax_backward_at(const husk_ref_softmax_backward *op, const int64_t *index)
{
    row r;
    if (op->rows != NULL) {
        int64_t number = row_number(op, index);
        r = (row){op->rows[2 * number], op->rows[2 * number + 1]};
    } else {
        r = reduce_row(op, index);
    }
    double y = husk_ref_load(op->y, husk_ref_offset(op->y, index));
    double dy = husk_ref_load(op->dy, husk_ref_offset(op->dy, index));
    double length = (double)op->y->shape[get_axis(op)], rounding, scale, flushed;
    husk_ref_value result = {.terms = (int64_t)length};
    if (is_log(op)) {
        scale = exp(y);
        result.value = dy - scale * r.sum;
        result.magnitude = fabs(dy) + scale * r.magnitude;
        rounding = (16.0 + 2.0 * sqrt(length)) * result.magnitude;
        flushed = 2.0 + length * scale + r.magnitude; // of the result and the product, terms of the sum, e^y
    } else {
        scale = fabs(y);
        result.value = y * (dy - r.sum);
        result.magnitude = scale * (fabs(dy) + r.magnitude);
        rounding = (8.0 + 2.0 * sqrt(length)) * result.magnitude;
        flushed = 2.0 + length * scale + fabs(dy) + r.magnitude;
    }
    result.bound = HUSK_REF_UNIT * rounding + HUSK_REF_TINY * flushed;
    if (op->dx != NULL) {
        double before = husk_ref_load(op->dx, husk_ref_offset(op->dx, index));
        result.bound += 2.0 * HUSK_REF_UNIT * (fabs(before) + fabs(result.value));
        result.value += before;
        result.magnitude += fabs(before);
    }
    return result;
}

static husk_ref_value softmax_backward_at(const void *op, const int64_t *index)
{
    return husk_ref_softmax_backward_at(op, index);
}

husk_ref_function husk_ref_softmax_backward_function(const husk_ref_softmax_backward *op)
{
    husk_ref_function function = {.op = op, .at = softmax_backward_at, .rank = op->y->rank};
    function.cost = op->rows != NULL ? 1.0 : (double)op->y->shape[get_axis(op)];
    memcpy(function.shape, op->y->shape, sizeof(function.shape));
    return function;
}

bool husk_ref_softmax_backward_run(const husk_ref_softmax_backward *op, const husk_ref_array *dx)
{
    husk_ref_softmax_backward prepared = *op;
    prepared.rows = NULL;
    if (!husk_ref_softmax_backward_prepare(&prepared)) // dx may be y or dy, so the rows must be reduced first
        return false;
    husk_ref_function function = husk_ref_softmax_backward_function(&prepared);
    husk_ref_function_evaluate(&function, dx);
    husk_ref_softmax_backward_release(&prepared);
    return true;
}
