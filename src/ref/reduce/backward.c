// SPDX-License-Identifier: MIT
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "ref/reduce/reduce.h"

static bool is_reduced(const husk_ref_reduce_backward *op, int32_t d)
{
    const int32_t count = op->params != NULL ? op->params->axis_count : 0;
    bool is_named = false;
    for (int32_t i = 0; i < count; i++)
        is_named = is_named || op->params->axes[i] == d || op->params->axes[i] == d - op->x->rank;
    return count == 0 || is_named;
}

// What belongs to x's element at index in an array of y's shape.
static double load_result(const husk_ref_reduce_backward *op, const husk_ref_array *y, const int64_t *index)
{
    int64_t at[HUSK_MAX_RANK] = {0};
    int32_t rank = 0;
    for (int32_t d = 0; d < op->x->rank; d++)
        if (op->keep || !is_reduced(op, d))
            at[rank++] = is_reduced(op, d) ? 0 : index[d];
    return husk_ref_load(y, husk_ref_offset(y, at));
}

typedef struct husk_ref_reduce_row {
    double product; // of what is not zero
    double largest; // NaN where there is one
    double smallest;
    int64_t count, zeros, equal_largest, equal_smallest;
} row;

// All elements that are reduced with the one at index.
static row find(const husk_ref_reduce_backward *op, const int64_t *index)
{
    row all = {.product = 1, .largest = -INFINITY, .smallest = INFINITY};
    int64_t shape[HUSK_MAX_RANK], at[HUSK_MAX_RANK], inside[HUSK_MAX_RANK] = {0};
    for (int32_t d = 0; d < op->x->rank; d++)
        shape[d] = is_reduced(op, d) ? op->x->shape[d] : 1;
    do {
        for (int32_t d = 0; d < op->x->rank; d++)
            at[d] = is_reduced(op, d) ? inside[d] : index[d];
        double x = husk_ref_load(op->x, husk_ref_offset(op->x, at));
        all.count++;
        all.zeros += x == 0;
        all.product *= x == 0 ? 1 : x;
        if (x > all.largest || isnan(x))
            all.equal_largest = 0;
        if (x < all.smallest || isnan(x))
            all.equal_smallest = 0;
        all.largest = x > all.largest || isnan(x) ? x : all.largest;
        all.smallest = x < all.smallest || isnan(x) ? x : all.smallest;
        all.equal_largest += x == all.largest;
        all.equal_smallest += x == all.smallest;
    } while (husk_ref_index_next(op->x->rank, shape, inside));
    return all;
}

// The product of all elements but one of value x.
static double product_of_others(const row *all, double x)
{
    const int64_t other_zeros = all->zeros - (x == 0);
    return other_zeros > 0 ? 0.0 : x == 0 ? all->product : all->product / x;
}

// Results are numbered row-major over the shape that has 1 for what is reduced.
static int64_t row_number(const husk_ref_reduce_backward *op, const int64_t *index)
{
    int64_t number = 0;
    for (int32_t d = 0; d < op->x->rank; d++)
        number = is_reduced(op, d) ? number : number * op->x->shape[d] + index[d];
    return number;
}

bool husk_ref_reduce_backward_prepare(husk_ref_reduce_backward *op)
{
    int64_t shape[HUSK_MAX_RANK], index[HUSK_MAX_RANK] = {0}, count = 1, number = 0;
    for (int32_t d = 0; d < op->x->rank; d++) {
        shape[d] = is_reduced(op, d) ? 1 : op->x->shape[d];
        count *= shape[d];
    }
    if (husk_ref_array_count(op->x) == 0)
        return true;
    row *rows = malloc((size_t)count * sizeof(*rows));
    if (rows == NULL)
        return false;
    do {
        rows[number++] = find(op, index);
    } while (husk_ref_index_next(op->x->rank, shape, index));
    op->rows = rows;
    return true;
}

void husk_ref_reduce_backward_release(husk_ref_reduce_backward *op)
{
    free(op->rows);
    op->rows = NULL;
}

static double sign_of(double x)
{
    return x > 0 ? 1 : x < 0 ? -1 : 0;
}

static bool needs_all(husk_reduce_kind kind)
{
    return kind == HUSK_REDUCE_PRODUCT || kind == HUSK_REDUCE_MAX || kind == HUSK_REDUCE_MIN;
}

static int64_t reduced_count(const husk_ref_reduce_backward *op)
{
    int64_t count = 1;
    for (int32_t d = 0; d < op->x->rank; d++)
        count *= is_reduced(op, d) ? op->x->shape[d] : 1;
    return count;
}

// An extreme's share of dy; NaN where no element is equal to a NaN.
static double share_of(double dy, double x, double extreme, int64_t equal)
{
    return isnan(extreme) ? NAN : x == extreme ? dy / (double)equal : 0.0;
}

husk_ref_value husk_ref_reduce_backward_at(const husk_ref_reduce_backward *op, const int64_t *index)
{
    husk_reduce_kind kind = op->params != NULL ? op->params->kind : HUSK_REDUCE_SUM;
    double dy = load_result(op, op->dy, index), n = (double)reduced_count(op), factor = 4.0, x = 0, y = 0;
    husk_ref_value result = {.terms = 1};
    row all = {0};
    if (kind != HUSK_REDUCE_SUM && kind != HUSK_REDUCE_MEAN)
        x = husk_ref_load(op->x, husk_ref_offset(op->x, index));
    if (kind == HUSK_REDUCE_NORM || kind == HUSK_REDUCE_LOG_SUM_EXP)
        y = load_result(op, op->y, index);
    if (needs_all(kind))
        all = op->rows != NULL ? op->rows[row_number(op, index)] : find(op, index);
    switch (kind) {
    case HUSK_REDUCE_MEAN:
        result.value = dy / n;
        break;
    case HUSK_REDUCE_PRODUCT:
        result.value = dy * product_of_others(&all, x);
        result.terms = all.zeros <= (x == 0); // another zero makes it zero by definition
        factor = 8.0 + 2.0 * sqrt(n);
        break;
    case HUSK_REDUCE_MAX:
        result.value = share_of(dy, x, all.largest, all.equal_largest);
        result.terms = x == all.largest; // elsewhere zero by definition
        factor = 8.0;                    // OpenCL allows the division 2.5 ulp
        break;
    case HUSK_REDUCE_MIN:
        result.value = share_of(dy, x, all.smallest, all.equal_smallest);
        result.terms = x == all.smallest;
        factor = 8.0;
        break;
    case HUSK_REDUCE_SUM_ABS:
        result.value = dy * sign_of(x);
        break;
    case HUSK_REDUCE_NORM:
        result.value = y == 0 ? 0.0 : x * (dy / y);
        factor = 8.0;
        break;
    case HUSK_REDUCE_LOG_SUM_EXP:
        result.value = dy * exp(x - y);
        factor = 8.0 + fabs(x - y);
        break;
    default:
        result.value = dy;
        break;
    }
    result.magnitude = fabs(result.value);
    if (isfinite(result.value) && result.magnitude > 0)
        result.bound = factor * HUSK_REF_UNIT * result.magnitude;
    // What flushed denormals cost: the result, what it is a product of, an exponential (of what is finite).
    if (isfinite(result.value) && isfinite(x) && isfinite(y) &&
        (kind == HUSK_REDUCE_LOG_SUM_EXP || (result.bound > 0 && kind != HUSK_REDUCE_SUM)))
        result.bound += 2 * HUSK_REF_TINY * (1.0 + fabs(dy) + fabs(x));
    if (op->dx != NULL) {
        double before = husk_ref_load(op->dx, husk_ref_offset(op->dx, index));
        result.bound += 2.0 * HUSK_REF_UNIT * (fabs(before) + result.magnitude);
        result.value += before;
        result.magnitude += fabs(before);
        result.terms++;
    }
    return result; // what storing it costs, ref/check.c adds
}

static husk_ref_value backward_at(const void *op, const int64_t *index)
{
    return husk_ref_reduce_backward_at(op, index);
}

husk_ref_function husk_ref_reduce_backward_function(const husk_ref_reduce_backward *op)
{
    husk_ref_function function = {.op = op, .at = backward_at, .rank = op->x->rank};
    const bool is_whole = op->rows == NULL && op->params != NULL && needs_all(op->params->kind);
    function.cost = is_whole ? (double)reduced_count(op) : 1.0;
    memcpy(function.shape, op->x->shape, sizeof(function.shape));
    return function;
}

void husk_ref_reduce_backward_run(const husk_ref_reduce_backward *op, const husk_ref_array *dx)
{
    husk_ref_function function = husk_ref_reduce_backward_function(op);
    husk_ref_function_evaluate(&function, dx);
}
