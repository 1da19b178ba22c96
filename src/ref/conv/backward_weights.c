// SPDX-License-Identifier: MIT
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "ref/conv/conv.h"

typedef husk_ref_conv_backward_weights backward;

// Positions of one image of dy.
static int64_t positions(const backward *op)
{
    int64_t count = 1;
    for (int32_t d = 2; d < op->dy->rank; d++)
        count *= op->dy->shape[d];
    return count;
}

static husk_ref_window get_window(const backward *op)
{
    // Only the rank of x and the shape of w count.
    husk_ref_array w = {.rank = op->dy->rank};
    memcpy(w.shape, op->shape, sizeof(w.shape));
    return husk_ref_conv_get_window(&(husk_ref_conv){.params = op->params, .x = op->dy, .w = &w});
}

// sum.magnitude is the sum's own; `largest` what its error follows.
static husk_ref_value finish(const backward *op, husk_ref_value sum, double factor, double largest,
                             const int64_t *index)
{
    if (op->before != NULL) {
        const double before = husk_ref_load(op->before, husk_ref_offset(op->before, index));
        sum.value += before;
        sum.magnitude += fabs(before);
        largest += fabs(before);
        sum.terms++;
    }
    sum.bound = husk_ref_sum_bound(factor, op->dy->shape[0] * positions(op), largest);
    return sum;
}

static husk_ref_value weight_sum(const backward *op, const int64_t *index)
{
    const husk_ref_array *x = op->x, *dy = op->dy;
    const husk_ref_window window = get_window(op);
    const int64_t groups = op->params != NULL && op->params->groups != 0 ? op->params->groups : 1;
    const int64_t group = index[0] / (op->shape[0] / groups);
    husk_ref_value sum = {0};
    int64_t at_x[HUSK_MAX_RANK] = {0}, at_y[HUSK_MAX_RANK] = {0};
    at_x[1] = group * op->shape[1] + index[1];
    at_y[1] = index[0];
    for (int64_t n = 0; n < dy->shape[0]; n++) {
        int64_t o[HUSK_MAX_SPACE] = {0};
        at_x[0] = at_y[0] = n;
        do {
            bool is_inside = true;
            for (int32_t d = 0; d < window.space; d++) {
                at_y[2 + d] = o[d];
                at_x[2 + d] = o[d] * window.stride[d] - window.pad[d] + index[2 + d] * window.dilation[d];
                is_inside = is_inside && at_x[2 + d] >= 0 && at_x[2 + d] < x->shape[2 + d];
            }
            if (!is_inside)
                continue;
            const double term =
                husk_ref_load(x, husk_ref_offset(x, at_x)) * husk_ref_load(dy, husk_ref_offset(dy, at_y));
            sum.value += term;
            sum.magnitude += fabs(term);
            sum.terms++;
        } while (husk_ref_index_next(window.space, dy->shape + 2, o));
    }
    return sum;
}

static double tile_magnitude(const backward *op, const int64_t *index)
{
    int64_t at[HUSK_MAX_RANK] = {index[0], index[1]};
    double largest = 0.0;
    do
        largest =
            fmax(largest, op->magnitudes != NULL ? op->magnitudes[husk_ref_position_of(op->dy->rank, op->shape, at)]
                                                 : weight_sum(op, at).magnitude);
    while (husk_ref_index_next(op->dy->rank - 2, op->shape + 2, at + 2));
    return largest;
}

// Half of the way, by ratios, between the factors 1 and 25.
void husk_ref_conv_backward_weights_set_tile(backward *op)
{
    op->has_tile = op->error_factor > 5.0 * (4.0 + 2.0 * sqrt((double)(op->dy->shape[0] * positions(op))));
}

bool husk_ref_conv_backward_weights_prepare(backward *op)
{
    const int32_t rank = op->dy->rank;
    int64_t count = 1, index[HUSK_MAX_RANK] = {0};
    for (int32_t d = 0; d < rank; d++)
        count *= op->shape[d];
    if (!op->has_tile || count == 0)
        return true;
    double *magnitudes = malloc((size_t)count * sizeof(*magnitudes));
    if (magnitudes == NULL)
        return false;
    for (int64_t i = 0; i < count; i++) {
        magnitudes[i] = weight_sum(op, index).magnitude;
        husk_ref_index_next(rank, op->shape, index);
    }
    op->magnitudes = magnitudes;
    return true;
}

void husk_ref_conv_backward_weights_release(backward *op)
{
    free(op->magnitudes);
    op->magnitudes = NULL;
}

husk_ref_value husk_ref_conv_backward_weights_at(const backward *op, const int64_t *index)
{
    const husk_ref_value sum = weight_sum(op, index);
    return finish(op, sum, op->error_factor, op->has_tile ? tile_magnitude(op, index) : sum.magnitude, index);
}

husk_ref_value husk_ref_conv_backward_bias_at(const backward *op, const int64_t *index)
{
    const husk_ref_array *dy = op->dy;
    husk_ref_value sum = {0};
    int64_t at[HUSK_MAX_RANK] = {0}, shape[HUSK_MAX_RANK];
    memcpy(shape, dy->shape, sizeof(shape));
    shape[1] = 1;
    if (husk_ref_array_count(dy) > 0)
        do {
            const double term = husk_ref_load(dy, husk_ref_offset(dy, at) + index[0] * dy->strides[1]);
            sum.value += term;
            sum.magnitude += fabs(term);
            sum.terms++;
        } while (husk_ref_index_next(dy->rank, shape, at));
    return finish(op, sum, 0.0, sum.magnitude, index);
}

static husk_ref_value weights_at(const void *op, const int64_t *index)
{
    return husk_ref_conv_backward_weights_at(op, index);
}

static husk_ref_value bias_at(const void *op, const int64_t *index)
{
    return husk_ref_conv_backward_bias_at(op, index);
}

husk_ref_function husk_ref_conv_backward_weights_function(const backward *op)
{
    husk_ref_function function = {
        .op = op, .at = weights_at, .rank = op->dy->rank, .cost = (double)(op->dy->shape[0] * positions(op))};
    memcpy(function.shape, op->shape, sizeof(function.shape));
    return function;
}

husk_ref_function husk_ref_conv_backward_bias_function(const backward *op)
{
    return (husk_ref_function){.op = op,
                               .at = bias_at,
                               .rank = 1,
                               .shape = {op->dy->shape[1]},
                               .cost = (double)(op->dy->shape[0] * positions(op))};
}

void husk_ref_conv_backward_weights_run(const backward *op, const husk_ref_array *dw)
{
    husk_ref_function function = husk_ref_conv_backward_weights_function(op);
    husk_ref_function_evaluate(&function, dw);
}

void husk_ref_conv_backward_bias_run(const backward *op, const husk_ref_array *dbias)
{
    husk_ref_function function = husk_ref_conv_backward_bias_function(op);
    husk_ref_function_evaluate(&function, dbias);
}
