// SPDX-License-Identifier: MIT
// The public calls of operators that multiply bytes by weights: checks of a run, and the order of things.
#include "ops/quantized/calls.h"

#include "base/tensor.h"
#include "ops/quantized/products.h"
#include "runtime/bind.h"

husk_status husk__quantized_check_weights(const husk__quantized_calls *calls, const husk_tensor *weights,
                                          const husk__scope *scope)
{
    husk_status status = husk__tensor_check(weights, calls->weights, scope);
    if (status == HUSK_OK && weights->packed && weights->packed->op != calls->op)
        status = husk__reject(scope, calls->weights, "was packed for %s, not for %s", weights->packed->op->name,
                              calls->op->name);
    if (status == HUSK_OK && weights->dtype != HUSK_I8)
        status = husk__fail(scope, HUSK_UNSUPPORTED, "%s: is %s; weights are i8", calls->weights,
                            husk_dtype_name(weights->dtype));
    return status;
}

static void keep_optional(const husk_tensor *tensor, bool *has, husk_tensor *out)
{
    *has = tensor != NULL;
    if (tensor)
        *out = husk__tensor_bare_copy(tensor);
}

void husk__quantized_keep(const husk__quantized_arguments *given, husk__quantized_tensors *tensors)
{
    tensors->input = husk__tensor_bare_copy(given->input);
    tensors->weights = husk__tensor_bare_copy(given->weights);
    tensors->output = husk__tensor_bare_copy(given->output);
    keep_optional(given->scale, &tensors->has_scale, &tensors->scale);
    keep_optional(given->bias, &tensors->has_bias, &tensors->bias);
    tensors->is_packed = given->weights->packed != NULL;
}

husk__preference husk__quantized_preference(const char *variant, uint64_t workspace_limit,
                                            const husk__quantized_arguments *given,
                                            const husk__quantized_tensors *tensors)
{
    const husk_tensor *const all[] = {&tensors->input, &tensors->weights, &tensors->output};
    husk__preference preference = husk__preference_of(variant, workspace_limit, all, 3);
    husk__preference_of_packed(&preference, given->weights->packed);
    return preference;
}

// The memory behind the arguments, and the values.
static husk_status bind(const husk__quantized_tensors *own, husk_queue *queue, const husk__quantized_calls *calls,
                        const husk__quantized_arguments *given, husk__quantized_run *run, const husk__scope *scope)
{
    const bool is_quantized = own->output.dtype == HUSK_I8 || own->output.dtype == HUSK_U8;
    const husk_tensor *const inputs[] = {given->input, given->weights->packed ? NULL : given->weights, given->scale,
                                         given->bias};
    const char *const names[] = {calls->input, calls->weights, calls->scale, "bias"};
    *run = (husk__quantized_run){.input = given->input,
                                 .weights = given->weights,
                                 .scale = given->scale,
                                 .bias = given->bias,
                                 .output = given->output};
    husk_status status = husk__products_check_quantization(given->input_quantization, calls->input_quantization,
                                                           own->input.dtype, true, &run->input_quantization, scope);
    if (status == HUSK_OK)
        status = husk__products_check_quantization(given->output_quantization, calls->output_quantization,
                                                   own->output.dtype, is_quantized, &run->output_quantization, scope);
    for (int i = 0; i < 4 && status == HUSK_OK; ++i)
        if (inputs[i])
            status = husk__tensor_bind(queue, inputs[i], names[i], scope);
    if (status == HUSK_OK)
        status = husk__tensor_bind(queue, given->output, calls->output, scope);
    for (int i = 0; i < 4 && status == HUSK_OK; ++i)
        if (inputs[i])
            status = husk__refuse_overlap(given->output, calls->output, inputs[i], names[i], scope);
    return status;
}

husk_status husk__quantized_call(husk_queue *queue, const husk__quantized_calls *calls, const void *problem,
                                 const husk__preference *preference, const husk__quantized_arguments *given,
                                 const husk__scope *scope)
{
    husk__quantized_run run;
    const husk_status status = bind(problem, queue, calls, given, &run, scope);
    if (status != HUSK_OK || calls->is_empty(problem))
        return status;
    return husk__packed_immediate(queue, calls->op, problem, preference, given->weights->packed, &run, scope);
}

// The tensors of a run against the plan's.
static husk_status check_run(const husk_plan *plan, const husk__quantized_calls *calls,
                             const husk__quantized_arguments *given, const husk__scope *scope)
{
    const husk__quantized_tensors *own = plan->problem;
    husk_status status = husk__packed_check_other(plan, &own->input, true, given->input, calls->input, scope);
    if (status == HUSK_OK)
        status = husk__packed_check_weights(plan, &own->weights, own->is_packed, given->weights, scope);
    if (status == HUSK_OK)
        status = husk__packed_check_other(plan, &own->scale, own->has_scale, given->scale, calls->scale, scope);
    if (status == HUSK_OK)
        status = husk__packed_check_other(plan, &own->bias, own->has_bias, given->bias, "bias", scope);
    if (status == HUSK_OK)
        status = husk__packed_check_other(plan, &own->output, true, given->output, calls->output, scope);
    return status;
}

husk_status husk__quantized_plan_run(const husk_plan *plan, husk_queue *queue, const husk__quantized_calls *calls,
                                     const husk__quantized_arguments *given, const husk__scope *scope)
{
    husk__quantized_run run;
    husk_status status = husk__plan_check(plan, calls->op, queue, scope);
    if (status == HUSK_OK)
        status = check_run(plan, calls, given, scope);
    if (status == HUSK_OK)
        status = bind(plan->problem, queue, calls, given, &run, scope);
    if (status != HUSK_OK || calls->is_empty(plan->problem))
        return status;
    return husk__plan_execute(plan, queue, &run, scope);
}

husk_status husk__quantized_plan_pack(const husk_plan *plan, husk_queue *queue, const husk__quantized_calls *calls,
                                      const husk_tensor *weights, husk_packed **packed, const husk__scope *scope)
{
    husk_status status = husk__plan_check(plan, calls->op, queue, scope);
    if (status != HUSK_OK)
        return status;
    const husk__quantized_tensors *own = plan->problem;
    status = husk__packed_begin(plan, queue, &own->weights, own->is_packed, weights, packed, scope);
    return status == HUSK_OK ? calls->pack(plan, queue, weights, packed, scope) : status;
}
