// SPDX-License-Identifier: MIT
#include "ref/reduce/reduce.h"

#include <math.h>

static husk_reduce_kind kind_of(const husk_ref_reduce *op)
{
    return op->params != NULL ? op->params->kind : HUSK_REDUCE_SUM;
}

static bool is_reduced(const husk_ref_reduce *op, int32_t d)
{
    const int32_t count = op->params != NULL ? op->params->axis_count : 0;
    bool is_named = false;
    for (int32_t i = 0; i < count; i++)
        is_named = is_named || op->params->axes[i] == d || op->params->axes[i] == d - op->x->rank;
    return count == 0 || is_named;
}

// What is found in one walk over the elements.
typedef struct found {
    double sum, absolute, squares, product;
    double sum_lost, absolute_lost, squares_lost; // to rounding, so far
    double largest, smallest; // NaN where there is one
    int64_t largest_at, smallest_at;
    int64_t count;
} found;

// Neumaier's sum: of f64 a bound is less than what many additions, one after the other, lose.
static void add(double *sum, double *lost, double x)
{
    const double next = *sum + x;
    *lost += fabs(*sum) >= fabs(x) ? (*sum - next) + x : (x - next) + *sum;
    *sum = next;
}

static double total(double sum, double lost)
{
    return isfinite(sum) ? sum + lost : sum;
}

static void find(found *all, double x)
{
    add(&all->sum, &all->sum_lost, x);
    add(&all->absolute, &all->absolute_lost, fabs(x));
    add(&all->squares, &all->squares_lost, x * x);
    all->product *= x;
    if (!isnan(all->largest) && (isnan(x) || x > all->largest || all->count == 0)) {
        all->largest = x;
        all->largest_at = all->count;
    }
    if (!isnan(all->smallest) && (isnan(x) || x < all->smallest || all->count == 0)) {
        all->smallest = x;
        all->smallest_at = all->count;
    }
    all->count++;
}

// The elements of x that y's element at `start` (an index of x, 0 where it is reduced) is made of, in row-major order.
static found find_all(const husk_ref_reduce *op, const int64_t *start)
{
    found all = {.product = 1, .largest = -INFINITY, .smallest = INFINITY};
    int64_t shape[HUSK_MAX_RANK], inside[HUSK_MAX_RANK] = {0}, elements = 1;
    for (int32_t d = 0; d < op->x->rank; d++) {
        shape[d] = is_reduced(op, d) ? op->x->shape[d] : 1;
        elements *= shape[d];
    }
    if (elements == 0)
        return all;
    int64_t first = husk_ref_offset(op->x, start);
    do {
        find(&all, husk_ref_load(op->x, first + husk_ref_offset(op->x, inside)));
    } while (husk_ref_index_next(op->x->rank, shape, inside));
    all.sum = total(all.sum, all.sum_lost);
    all.absolute = total(all.absolute, all.absolute_lost);
    all.squares = total(all.squares, all.squares_lost);
    return all;
}

static double log_sum_exp(const husk_ref_reduce *op, const int64_t *start, double largest)
{
    int64_t shape[HUSK_MAX_RANK], inside[HUSK_MAX_RANK] = {0}, first = husk_ref_offset(op->x, start);
    double sum = 0;
    if (isinf(largest) || isnan(largest))
        return largest;
    for (int32_t d = 0; d < op->x->rank; d++)
        shape[d] = is_reduced(op, d) ? op->x->shape[d] : 1;
    do {
        sum += exp(husk_ref_load(op->x, first + husk_ref_offset(op->x, inside)) - largest);
    } while (husk_ref_index_next(op->x->rank, shape, inside));
    return largest + log(sum);
}

husk_ref_value husk_ref_reduce_at(const husk_ref_reduce *op, const int64_t *index)
{
    int64_t start[HUSK_MAX_RANK] = {0};
    for (int32_t d = 0, at = 0; d < op->x->rank; d++) {
        start[d] = is_reduced(op, d) ? 0 : index[at];
        at += op->keep || !is_reduced(op, d);
    }
    found all = find_all(op, start);
    double factor = 4.0 + 2.0 * sqrt((double)all.count), count = (double)all.count;
    husk_ref_value result = {.magnitude = all.absolute, .terms = all.count};
    switch (kind_of(op)) {
    case HUSK_REDUCE_SUM:
        result.value = all.sum;
        result.bound = husk_ref_sum_bound(0, all.count, all.absolute);
        break;
    case HUSK_REDUCE_MEAN:
        result.value = all.sum / count;
        result.magnitude = all.absolute / count;
        result.bound = husk_ref_sum_bound(0, all.count, all.absolute) / count + HUSK_REF_UNIT * fabs(result.value);
        break;
    case HUSK_REDUCE_SUM_ABS:
        result.value = all.absolute;
        result.bound = husk_ref_sum_bound(0, all.count, all.absolute);
        break;
    case HUSK_REDUCE_NORM:
        // Squares below the smallest normal number may be lost, all of them.
        result.value = sqrt(all.squares);
        result.bound = (4.0 + factor) * HUSK_REF_UNIT * result.value + sqrt(count * HUSK_REF_TINY);
        break;
    case HUSK_REDUCE_PRODUCT:
        result.value = all.product;
        result.magnitude = fabs(all.product);
        result.bound = all.product == 0.0 ? 0.0 : factor * HUSK_REF_UNIT * fabs(all.product) + HUSK_REF_TINY;
        break;
    case HUSK_REDUCE_MAX:
        result.value = all.largest;
        break;
    case HUSK_REDUCE_MIN:
        result.value = all.smallest;
        break;
    case HUSK_REDUCE_ARGMAX:
        result.value = (double)all.largest_at;
        result.magnitude = 0;
        result.terms = 0; // a position of 0 is as good as any other
        break;
    case HUSK_REDUCE_ARGMIN:
        result.value = (double)all.smallest_at;
        result.magnitude = 0;
        result.terms = 0;
        break;
    case HUSK_REDUCE_LOG_SUM_EXP:
        result.value = log_sum_exp(op, start, all.largest);
        result.magnitude = fmax(fabs(all.largest), 1.0);
        // The largest is exact: beside the logarithm's own error there is one rounding, of the sum of the two.
        result.bound = isfinite(result.value)
                           ? (12.0 + factor) * HUSK_REF_UNIT * fmax(1.0, result.value - all.largest) +
                                 2.0 * HUSK_REF_UNIT * fabs(result.value)
                           : 0.0;
        break;
    }
    return result; // what storing it costs, ref/check.c adds
}

static husk_ref_value reduce_at(const void *op, const int64_t *index)
{
    return husk_ref_reduce_at(op, index);
}

husk_ref_function husk_ref_reduce_function(const husk_ref_reduce *op)
{
    husk_ref_function function = {.op = op, .at = reduce_at, .cost = 1};
    for (int32_t d = 0; d < op->x->rank; d++) {
        if (is_reduced(op, d))
            function.cost *= (double)(op->x->shape[d] > 0 ? op->x->shape[d] : 1);
        if (op->keep || !is_reduced(op, d))
            function.shape[function.rank++] = is_reduced(op, d) ? 1 : op->x->shape[d];
    }
    return function;
}

void husk_ref_reduce_run(const husk_ref_reduce *op, const husk_ref_array *y)
{
    husk_ref_function function = husk_ref_reduce_function(op);
    husk_ref_function_evaluate(&function, y);
}
