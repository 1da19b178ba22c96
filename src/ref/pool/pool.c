// SPDX-License-Identifier: MIT
#include "ref/pool/pool.h"

#include <math.h>
#include <string.h>

husk_ref_window husk_ref_pool_get_window(const husk_ref_pool *op)
{
    const husk_pool_params *params = op->params;
    husk_ref_window window = {.space = op->x->rank - 2};
    for (int32_t d = 0; d < window.space; d++) {
        window.window[d] = params->global ? op->x->shape[2 + d] : params->window[d];
        window.stride[d] = params->stride[d] != 0 ? params->stride[d] : window.window[d];
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

void husk_ref_pool_output_shape(const husk_ref_pool *op, int64_t shape[HUSK_MAX_RANK])
{
    husk_ref_window window = husk_ref_pool_get_window(op);
    shape[0] = op->x->shape[0];
    shape[1] = op->x->shape[1];
    for (int32_t d = 0; d < window.space; d++) {
        if (op->params->global) {
            shape[2 + d] = 1;
            continue;
        }
        int64_t in = op->x->shape[2 + d], stride = window.stride[d];
        int64_t extent = window.dilation[d] * (window.window[d] - 1) + 1;
        int64_t last = in + window.pad[d] + window.pad_end[d] - extent; // where a window may start at most
        shape[2 + d] = divide_floor(op->params->ceil_mode ? last + stride - 1 : last, stride) + 1;
        if (op->params->ceil_mode && (shape[2 + d] - 1) * stride >= in + window.pad[d])
            shape[2 + d]--;
    }
}

typedef struct pool_result {
    double sum, magnitude, largest;
    int64_t position; // of the largest, in the channel's space
    int64_t inside;   // window elements over x
    int64_t padded;   // window elements over x and its padding
    int64_t window;   // window elements
} pool_result;

static void take_element(pool_result *result, double value, int64_t position)
{
    bool first = result->inside == 0;
    if (first || value > result->largest || (isnan(value) && !isnan(result->largest))) {
        result->largest = value;
        result->position = position;
    }
    result->sum += value;
    result->magnitude += fabs(value);
    result->inside++;
}

static pool_result pool_window(const husk_ref_pool *op, const int64_t *index)
{
    const husk_ref_array *x = op->x;
    husk_ref_window window = husk_ref_pool_get_window(op);
    pool_result result = {.largest = -INFINITY, .position = -1, .window = 1};
    for (int32_t d = 0; d < window.space; d++)
        result.window *= window.window[d];
    if (result.window == 0)
        return result;
    int64_t r[HUSK_MAX_SPACE] = {0};
    do {
        int64_t offset = index[0] * x->strides[0] + index[1] * x->strides[1], position = 0;
        bool inside = true, padded = true;
        for (int32_t d = 0; d < window.space; d++) {
            int64_t in = x->shape[2 + d];
            int64_t i = index[2 + d] * window.stride[d] - window.pad[d] + r[d] * window.dilation[d];
            inside = inside && i >= 0 && i < in;
            padded = padded && i < in + window.pad_end[d];
            offset += i * x->strides[2 + d];
            position = position * in + i;
        }
        result.padded += padded;
        if (inside)
            take_element(&result, husk_ref_load(x, offset), position);
    } while (husk_ref_index_next(window.space, window.window, r));
    return result;
}

husk_ref_value husk_ref_pool_at(const husk_ref_pool *op, const int64_t *index)
{
    pool_result pool = pool_window(op, index);
    husk_ref_value result = {.terms = pool.inside};
    if (op->params->kind == HUSK_POOL_MAX) {
        result.value = pool.largest;
        result.magnitude = fabs(pool.largest);
        return result;
    }
    int64_t count = op->params->count_pad ? pool.padded : pool.inside;
    if (count == 0)
        return result;
    result.value = pool.sum / (double)count;
    result.magnitude = pool.magnitude / (double)count;
    result.bound = husk_ref_sum_bound(0.0, pool.window, result.magnitude);
    return result;
}

int64_t husk_ref_pool_index_at(const husk_ref_pool *op, const int64_t *index)
{
    return pool_window(op, index).position;
}

static husk_ref_value pool_at(const void *op, const int64_t *index)
{
    return husk_ref_pool_at(op, index);
}

static husk_ref_value pool_index_at(const void *op, const int64_t *index)
{
    // Position 0 is as good an answer as any other: no terms, so that it does not count as a zero.
    return (husk_ref_value){.value = (double)husk_ref_pool_index_at(op, index)};
}

husk_ref_function husk_ref_pool_function(const husk_ref_pool *op)
{
    husk_ref_function function = {.op = op, .at = pool_at, .rank = op->x->rank, .cost = 1.0};
    husk_ref_window window = husk_ref_pool_get_window(op);
    for (int32_t d = 0; d < window.space; d++)
        function.cost *= (double)window.window[d];
    husk_ref_pool_output_shape(op, function.shape);
    return function;
}

husk_ref_function husk_ref_pool_index_function(const husk_ref_pool *op)
{
    husk_ref_function function = husk_ref_pool_function(op);
    function.at = pool_index_at;
    return function;
}

void husk_ref_pool_run(const husk_ref_pool *op, const husk_ref_array *y, const husk_ref_array *indices)
{
    husk_ref_function function = husk_ref_pool_function(op);
    husk_ref_function_evaluate(&function, y);
    if (indices != NULL) {
        function = husk_ref_pool_index_function(op);
        husk_ref_function_evaluate(&function, indices);
    }
}
