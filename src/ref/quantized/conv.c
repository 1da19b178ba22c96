// SPDX-License-Identifier: MIT
#include "ref/quantized/conv.h"

#include <string.h>

#include "ref/conv/conv.h"
#include "ref/quantized/gemm.h"

typedef struct sum {
    int64_t value, terms;
} sum;

// Adds what filter k has from dimension d of space on; x_at and w_at are the elements so far.
static void add_products(const husk_ref_quantized_conv *op, const husk_ref_window *window, const int64_t *index,
                         int32_t d, int64_t x_at, int64_t w_at, int64_t zero, sum *all)
{
    if (d == window->space || d == HUSK_MAX_SPACE) {
        all->value += ((int64_t)husk_ref_load(op->x, x_at) - zero) * (int64_t)husk_ref_load(op->w, w_at);
        all->terms++;
        return;
    }
    for (int64_t r = 0; r < window->window[d]; r++) {
        const int64_t i = index[2 + d] * window->stride[d] - window->pad[d] + r * window->dilation[d];
        if (i >= 0 && i < op->x->shape[2 + d])
            add_products(op, window, index, d + 1, x_at + i * op->x->strides[2 + d], w_at + r * op->w->strides[2 + d],
                         zero, all);
    }
}

static double channel_of(const husk_ref_array *array, int64_t channel, double none)
{
    if (array == NULL)
        return none;
    return husk_ref_load(array, husk_ref_array_count(array) == 1 ? 0 : channel * array->strides[0]);
}

husk_ref_value husk_ref_quantized_conv_at(const husk_ref_quantized_conv *op, const int64_t *index)
{
    static const husk_quantized_conv_params defaults = {0};
    const husk_quantized_conv_params *params = op->params != NULL ? op->params : &defaults;
    const husk_ref_conv plain = {.params = params, .x = op->x, .w = op->w};
    const husk_ref_window window = husk_ref_conv_get_window(&plain);
    const int64_t groups = params->groups != 0 ? params->groups : 1, channels = op->w->shape[1];
    const int64_t first = index[1] / (op->w->shape[0] / groups) * channels;
    const double x_scale =
        op->x_quantization != NULL && op->x_quantization->scale != 0.0f ? op->x_quantization->scale : 1.0;
    sum all = {0, 0};
    for (int64_t c = 0; c < channels; c++)
        add_products(op, &window, index, 0, index[0] * op->x->strides[0] + (first + c) * op->x->strides[1],
                     index[1] * op->w->strides[0] + c * op->w->strides[1],
                     op->x_quantization != NULL ? op->x_quantization->zero : 0, &all);
    return husk_ref_quantized_finish(
        all.value, all.terms, op->y->dtype, x_scale * channel_of(op->w_scale, index[1], 1.0),
        channel_of(op->bias, index[1], 0.0), params->activation, params->activation_slope, op->y_quantization);
}

static husk_ref_value quantized_conv_at(const void *op, const int64_t *index)
{
    return husk_ref_quantized_conv_at(op, index);
}

husk_ref_function husk_ref_quantized_conv_function(const husk_ref_quantized_conv *op)
{
    husk_ref_function function = {.op = op, .at = quantized_conv_at, .rank = op->y->rank};
    function.cost = (double)op->w->shape[1];
    for (int32_t d = 2; d < op->w->rank; d++)
        function.cost *= (double)op->w->shape[d];
    memcpy(function.shape, op->y->shape, sizeof(function.shape));
    return function;
}

void husk_ref_quantized_conv_run(const husk_ref_quantized_conv *op, const husk_ref_array *out)
{
    const husk_ref_function function = husk_ref_quantized_conv_function(op);
    husk_ref_function_evaluate(&function, out);
}
