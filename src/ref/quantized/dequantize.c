// SPDX-License-Identifier: MIT
#include "ref/quantized/dequantize.h"

#include <math.h>
#include <string.h>

#include "ref/quantized/quantize.h"

husk_ref_value husk_ref_dequantize_at(const husk_ref_dequantize *op, const int64_t *index)
{
    const double x = husk_ref_load(op->x, husk_ref_offset(op->x, index));
    const double distance = x - husk_ref_quantize_channel(op->zero, op->params, op->x->rank, index);
    husk_ref_value result = {.value = distance * husk_ref_quantize_channel(op->scale, op->params, op->x->rank, index),
                             .terms = 1};
    result.magnitude = fabs(result.value);
    result.bound = distance == 0.0 ? 0.0 : HUSK_REF_UNIT * result.magnitude + HUSK_REF_TINY;
    return result;
}

static husk_ref_value dequantize_at(const void *op, const int64_t *index)
{
    return husk_ref_dequantize_at(op, index);
}

husk_ref_function husk_ref_dequantize_function(const husk_ref_dequantize *op)
{
    husk_ref_function function = {.op = op, .at = dequantize_at, .rank = op->x->rank, .cost = 1.0};
    memcpy(function.shape, op->x->shape, sizeof(function.shape));
    return function;
}

void husk_ref_dequantize_run(const husk_ref_dequantize *op, const husk_ref_array *y)
{
    const husk_ref_function function = husk_ref_dequantize_function(op);
    husk_ref_function_evaluate(&function, y);
}
