// SPDX-License-Identifier: MIT
// Quantization: the public call. Everything else is in ops/quantized/quantize_variants.c. Kernels:
// cl/quantized/quantize_*.cl.
#include "ops/quantized/quantize_problem.h"

static const husk__quantize_operator called = {&husk__op_quantize, false, "HUSK_QUANTIZE_PARAMS"};

static husk_status prewarm(husk_queue *queue, const husk__scope *scope)
{
    return husk__quantize_prewarm(queue, &called, scope);
}

const husk__op husk__op_quantize = {
    .name = "quantize",
    .problem_size = sizeof(husk__quantize_problem),
    .variants = husk__quantize_variants,
    .describe = husk__quantize_describe,
    .prewarm = prewarm,
    .classify = husk__quantize_classify,
    .write_case = husk__quantize_write_case,
};

husk_status husk_quantize(husk_queue *queue, const husk_quantize_params *params, const husk_tensor *x,
                          const husk_tensor *scale, const husk_tensor *zero, const husk_tensor *y)
{
    husk__scope scope;
    const husk_status status = husk__call_begin(queue, "husk_quantize", &scope);
    if (status != HUSK_OK)
        return status;
    return husk__quantize_call(queue, &called, params, x, scale, zero, y, &scope);
}
