// SPDX-License-Identifier: MIT
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "ref/elementwise/activation.h"
#include "ref/conv/conv.h"

static const husk_conv_params defaults;

static const husk_conv_params *get_params(const husk_ref_conv_backward_data *op)
{
    return op->params != NULL ? op->params : &defaults;
}

static husk_ref_window get_window(const husk_ref_conv_backward_data *op)
{
    return husk_ref_conv_get_window(&(husk_ref_conv){.params = op->params, .x = op->dy, .w = op->w});
}

// The position in dy that meets element i of dx through element r of the filter; false where there is none.
static bool find_position(const husk_ref_conv_backward_data *op, const husk_ref_window *window, int32_t d, int64_t i,
                          int64_t r, int64_t *o)
{
    const int64_t at = i + window->pad[d] - r * window->dilation[d];
    *o = at / window->stride[d];
    return at >= 0 && at % window->stride[d] == 0 && *o < op->dy->shape[2 + d];
}

static husk_ref_value data_sum(const husk_ref_conv_backward_data *op, const husk_ref_window *window,
                               const int64_t *index)
{
    const husk_ref_array *w = op->w, *dy = op->dy;
    const int64_t groups = get_params(op)->groups != 0 ? get_params(op)->groups : 1;
    const int64_t filters = w->shape[0] / groups, group = index[1] / w->shape[1];
    int64_t at_w[HUSK_MAX_RANK] = {0}, at_y[HUSK_MAX_RANK] = {index[0]}, r[HUSK_MAX_SPACE] = {0};
    husk_ref_value sum = {0};
    at_w[1] = index[1] % w->shape[1];
    do {
        bool meets = true;
        for (int32_t d = 0; d < window->space; d++) {
            at_w[2 + d] = r[d];
            meets = meets && find_position(op, window, d, index[2 + d], r[d], &at_y[2 + d]);
        }
        for (int64_t k = 0; meets && k < filters; k++) {
            at_w[0] = at_y[1] = group * filters + k;
            const double term =
                husk_ref_load(w, husk_ref_offset(w, at_w)) * husk_ref_load(dy, husk_ref_offset(dy, at_y));
            sum.value += term;
            sum.magnitude += fabs(term);
            sum.terms++;
        }
    } while (husk_ref_index_next(window->space, window->window, r));
    if (op->bias != NULL) {
        const double bias = husk_ref_load(op->bias, index[1] * op->bias->strides[0]);
        sum.value += bias;
        sum.magnitude += fabs(bias);
        sum.terms++;
    }
    return sum;
}

static bool has_tile(const husk_ref_conv_backward_data *op)
{
    return op->tile[0] > 1 || op->tile[1] > 1 || op->tile[2] > 1;
}

static double tile_magnitude(const husk_ref_conv_backward_data *op, const husk_ref_window *window, const int64_t *index)
{
    int64_t first[HUSK_MAX_SPACE] = {0}, count[HUSK_MAX_SPACE] = {0}, step[HUSK_MAX_SPACE] = {0};
    for (int32_t d = 0; d < window->space; d++) {
        const int64_t tile = op->tile[d] > 1 ? op->tile[d] : 1, stride = window->stride[d];
        const int64_t phase = index[2 + d] % stride, there = (op->shape[2 + d] - phase + stride - 1) / stride;
        first[d] = index[2 + d] / stride / tile * tile;
        count[d] = there - first[d] < tile ? there - first[d] : tile;
    }
    double largest = 0.0;
    do {
        int64_t at[HUSK_MAX_RANK] = {index[0], index[1]};
        for (int32_t d = 0; d < window->space; d++)
            at[2 + d] = (first[d] + step[d]) * window->stride[d] + index[2 + d] % window->stride[d];
        largest =
            fmax(largest, op->magnitudes != NULL ? op->magnitudes[husk_ref_position_of(op->dy->rank, op->shape, at)]
                                                 : data_sum(op, window, at).magnitude);
    } while (husk_ref_index_next(window->space, count, step));
    return largest;
}

static int64_t products(const husk_ref_conv_backward_data *op)
{
    int64_t count = op->w->shape[0] / (get_params(op)->groups != 0 ? get_params(op)->groups : 1);
    for (int32_t d = 2; d < op->w->rank; d++)
        count *= op->w->shape[d];
    return count;
}

// Half of the way, by ratios, between the factors 1, 2 and 32.
void husk_ref_conv_backward_data_set_tile(husk_ref_conv_backward_data *op)
{
    const double ratio = op->error_factor / (4.0 + 2.0 * sqrt((double)products(op)));
    for (int32_t d = 0; d < HUSK_MAX_SPACE; d++)
        op->tile[d] = d >= op->w->rank - 2 ? 0 : ratio > 8.0 ? 4 : ratio > 1.1 ? 2 : 1;
}

bool husk_ref_conv_backward_data_prepare(husk_ref_conv_backward_data *op)
{
    const int32_t rank = op->dy->rank;
    int64_t count = 1, index[HUSK_MAX_RANK] = {0};
    for (int32_t d = 0; d < rank; d++)
        count *= op->shape[d];
    if (!has_tile(op) || count == 0)
        return true;
    const husk_ref_window window = get_window(op);
    double *magnitudes = malloc((size_t)count * sizeof(*magnitudes));
    if (magnitudes == NULL)
        return false;
    for (int64_t i = 0; i < count; i++) {
        magnitudes[i] = data_sum(op, &window, index).magnitude;
        husk_ref_index_next(rank, op->shape, index);
    }
    op->magnitudes = magnitudes;
    return true;
}

void husk_ref_conv_backward_data_release(husk_ref_conv_backward_data *op)
{
    free(op->magnitudes);
    op->magnitudes = NULL;
}

husk_ref_value husk_ref_conv_backward_data_at(const husk_ref_conv_backward_data *op, const int64_t *index)
{
    const husk_conv_params *params = get_params(op);
    const husk_ref_window window = get_window(op);
    husk_ref_value result = data_sum(op, &window, index);
    if (has_tile(op))
        result.magnitude = tile_magnitude(op, &window, index);
    double error = husk_ref_sum_bound(op->error_factor, products(op), result.magnitude);
    const double x = result.value;
    result.value = husk_ref_activate(params->activation, params->activation_slope, x);
    result.bound = husk_ref_activation_bound(params->activation, params->activation_slope, x, error);
    if (op->before != NULL) {
        const double before = husk_ref_load(op->before, husk_ref_offset(op->before, index));
        result.bound += husk_ref_sum_bound(2.0, 1, fabs(before) + fabs(result.value) + result.bound);
        result.value += before;
        result.magnitude += fabs(before);
        result.terms++;
    }
    return result;
}

static husk_ref_value at(const void *op, const int64_t *index)
{
    return husk_ref_conv_backward_data_at(op, index);
}

husk_ref_function husk_ref_conv_backward_data_function(const husk_ref_conv_backward_data *op)
{
    husk_ref_function function = {.op = op, .at = at, .rank = op->dy->rank, .cost = (double)products(op)};
    memcpy(function.shape, op->shape, sizeof(function.shape));
    return function;
}

void husk_ref_conv_backward_data_run(const husk_ref_conv_backward_data *op, const husk_ref_array *dx)
{
    husk_ref_function function = husk_ref_conv_backward_data_function(op);
    husk_ref_function_evaluate(&function, dx);
}
