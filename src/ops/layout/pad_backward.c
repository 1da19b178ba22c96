// SPDX-License-Identifier: MIT
// Gradients of padding: every element gathers what was made of it. Kernels: cl/layout/pad_backward_*.cl.
#include "base/params.h"
#include "ops/layout/pad_problem.h"

extern const husk__op husk__op_pad_backward;

static husk_status prewarm(husk_queue *queue, const husk__scope *scope)
{
    return husk__pad_prewarm(queue, &husk__op_pad_backward, true, scope);
}

const husk__op husk__op_pad_backward = {
    .name = "pad_backward",
    .problem_size = sizeof(husk__pad_problem),
    .variants = husk__pad_variants,
    .describe = husk__pad_describe,
    .prewarm = prewarm,
    .classify = husk__pad_classify,
    .write_case = husk__pad_write_case,
};

husk_status husk_pad_backward(husk_queue *queue, const husk_pad_params *params, const husk_tensor *dy,
                              const husk_tensor *dx)
{
    husk__scope scope;
    husk_pad_params options;
    const husk__pad_arguments given = {dx, dy};
    husk_status status = husk__call_begin(queue, "husk_pad_backward", &scope);
    if (status == HUSK_OK)
        status = husk__params_read(&options, sizeof options, "HUSK_PAD_PARAMS", params, &scope);
    if (status == HUSK_OK)
        status = husk__pad_validate(queue, &options, true, &given, &scope);
    if (status != HUSK_OK)
        return status;
    return husk__pad_enqueue(queue, &husk__op_pad_backward, &options, true, &given, &scope);
}
