// SPDX-License-Identifier: MIT
#include "ref/conv/conv.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "ref/elementwise/activation.h"

static const husk_conv_params defaults;

static const husk_conv_params *get_params(const husk_ref_conv *op)
{
    return op->params != NULL ? op->params : &defaults;
}

husk_ref_window husk_ref_conv_get_window(const husk_ref_conv *op)
{
    const husk_conv_params *params = get_params(op);
    husk_ref_window window = {.space = op->x->rank - 2};
    for (int32_t d = 0; d < window.space; d++) {
        window.window[d] = op->w->shape[2 + d];
        window.stride[d] = params->stride[d] != 0 ? params->stride[d] : 1;
        window.pad[d] = params->pad[d];
        window.pad_end[d] = params->pad[d] + params->pad_end_extra[d];
        window.dilation[d] = params->dilation[d] != 0 ? params->dilation[d] : 1;
    }
    return window;
}

static int64_t divide_floor(int64_t a, int64_t b)
{
    return a / b - (a % b < 0 ? 1 : 0);
}

void husk_ref_conv_output_shape(const husk_ref_conv *op, int64_t shape[HUSK_MAX_RANK])
{
    husk_ref_window window = husk_ref_conv_get_window(op);
    shape[0] = op->x->shape[0];
    shape[1] = op->w->shape[0];
    for (int32_t d = 0; d < window.space; d++) {
        int64_t padded = op->x->shape[2 + d] + window.pad[d] + window.pad_end[d];
        int64_t extent = window.dilation[d] * (window.window[d] - 1) + 1;
        shape[2 + d] = divide_floor(padded - extent, window.stride[d]) + 1;
    }
}

// The sum before the activation: value, magnitude and terms of one output. Fewer than three dimensions of
// space are three with leading ones.
static husk_ref_value conv_sum(const husk_ref_conv *op, const husk_ref_window *window, const int64_t *index)
{
    const husk_ref_array *x = op->x, *w = op->w;
    int64_t filter[3] = {1, 1, 1}, start[3] = {0}, dilation[3] = {1, 1, 1}, extent[3] = {1, 1, 1};
    int64_t x_stride[3] = {0}, w_stride[3] = {0};
    for (int32_t d = 0; d < window->space; d++) {
        int32_t to = 3 - window->space + d;
        filter[to] = window->window[d];
        dilation[to] = window->dilation[d];
        start[to] = index[2 + d] * window->stride[d] - window->pad[d];
        extent[to] = x->shape[2 + d];
        x_stride[to] = x->strides[2 + d];
        w_stride[to] = w->strides[2 + d];
    }
    int64_t groups = get_params(op)->groups != 0 ? get_params(op)->groups : 1;
    int64_t group_channels = w->shape[1];
    int64_t group = w->shape[0] > 0 ? index[1] / (w->shape[0] / groups) : 0;
    husk_ref_value sum = {0};
    for (int64_t c = 0; c < group_channels; c++) {
        int64_t x_channel = index[0] * x->strides[0] + (group * group_channels + c) * x->strides[1];
        int64_t w_channel = index[1] * w->strides[0] + c * w->strides[1];
        for (int64_t r0 = 0; r0 < filter[0]; r0++) {
            int64_t i0 = start[0] + r0 * dilation[0];
            if (i0 < 0 || i0 >= extent[0])
                continue;
            for (int64_t r1 = 0; r1 < filter[1]; r1++) {
                int64_t i1 = start[1] + r1 * dilation[1];
                if (i1 < 0 || i1 >= extent[1])
                    continue;
                for (int64_t r2 = 0; r2 < filter[2]; r2++) {
                    int64_t i2 = start[2] + r2 * dilation[2];
                    if (i2 < 0 || i2 >= extent[2])
                        continue;
                    double xv = husk_ref_load(x, x_channel + i0 * x_stride[0] + i1 * x_stride[1] + i2 * x_stride[2]);
                    double wv = husk_ref_load(w, w_channel + r0 * w_stride[0] + r1 * w_stride[1] + r2 * w_stride[2]);
                    sum.value += wv * xv;
                    sum.magnitude += fabs(wv * xv);
                    sum.terms++;
                }
            }
        }
    }
    if (op->bias != NULL) {
        double bias = husk_ref_load(op->bias, index[1] * op->bias->strides[0]);
        sum.value += bias;
        sum.magnitude += fabs(bias);
        sum.terms++;
    }
    return sum;
}

// The largest magnitude in the tile of outputs that holds index.
static double tile_magnitude(const husk_ref_conv *op, const husk_ref_window *window, const int64_t *index)
{
    int64_t shape[HUSK_MAX_RANK];
    husk_ref_conv_output_shape(op, shape);
    int64_t first[HUSK_MAX_SPACE] = {0}, count[HUSK_MAX_SPACE] = {0}, step[HUSK_MAX_SPACE] = {0};
    for (int32_t d = 0; d < window->space; d++) {
        int64_t tile = op->tile[d] > 1 ? op->tile[d] : 1;
        first[d] = index[2 + d] / tile * tile;
        count[d] = shape[2 + d] - first[d] < tile ? shape[2 + d] - first[d] : tile;
    }
    double largest = 0.0;
    do {
        int64_t at[HUSK_MAX_RANK] = {index[0], index[1]};
        for (int32_t d = 0; d < window->space; d++)
            at[2 + d] = first[d] + step[d];
        double magnitude = op->magnitudes != NULL ? op->magnitudes[husk_ref_position_of(op->x->rank, shape, at)]
                                                  : conv_sum(op, window, at).magnitude;
        largest = fmax(largest, magnitude);
    } while (husk_ref_index_next(window->space, count, step));
    return largest;
}

static int64_t products(const husk_ref_conv *op)
{
    int64_t count = op->w->shape[1];
    for (int32_t d = 2; d < op->w->rank; d++)
        count *= op->w->shape[d];
    return count;
}

static int64_t tile_outputs(const husk_ref_conv *op)
{
    int64_t outputs = 1;
    for (int32_t d = 0; d < HUSK_MAX_SPACE; d++)
        outputs *= op->tile[d] > 1 ? op->tile[d] : 1;
    return outputs;
}

bool husk_ref_conv_prepare(husk_ref_conv *op)
{
    int64_t shape[HUSK_MAX_RANK] = {0}, count = 1;
    husk_ref_window window = husk_ref_conv_get_window(op);
    husk_ref_conv_output_shape(op, shape);
    for (int32_t d = 0; d < op->x->rank; d++)
        count *= shape[d];
    if (tile_outputs(op) <= 1 || count == 0)
        return true;
    op->magnitudes = malloc((size_t)count * sizeof(*op->magnitudes));
    if (op->magnitudes == NULL)
        return false;
    int64_t index[HUSK_MAX_RANK] = {0};
    for (int64_t i = 0; i < count; i++) {
        op->magnitudes[i] = conv_sum(op, &window, index).magnitude;
        husk_ref_index_next(op->x->rank, shape, index);
    }
    return true;
}

void husk_ref_conv_release(husk_ref_conv *op)
{
    free(op->magnitudes);
    op->magnitudes = NULL;
}

husk_ref_value husk_ref_conv_at(const husk_ref_conv *op, const int64_t *index)
{
    const husk_conv_params *params = get_params(op);
    husk_ref_window window = husk_ref_conv_get_window(op);
    husk_ref_value result = conv_sum(op, &window, index);
    if (tile_outputs(op) > 1)
        result.magnitude = tile_magnitude(op, &window, index);
    double error = husk_ref_sum_bound(op->error_factor, products(op), result.magnitude);
    double x = result.value;
    result.value = husk_ref_activate(params->activation, params->activation_slope, x);
    result.bound = husk_ref_activation_bound(params->activation, params->activation_slope, x, error);
    return result;
}

static husk_ref_value conv_at(const void *op, const int64_t *index)
{
    return husk_ref_conv_at(op, index);
}

husk_ref_function husk_ref_conv_function(const husk_ref_conv *op)
{
    husk_ref_function function = {.op = op, .at = conv_at, .rank = op->x->rank};
    husk_ref_conv_output_shape(op, function.shape);
    function.cost = (double)products(op);
    return function;
}

void husk_ref_conv_run(const husk_ref_conv *op, const husk_ref_array *y)
{
    husk_ref_function function = husk_ref_conv_function(op);
    husk_ref_function_evaluate(&function, y);
}
