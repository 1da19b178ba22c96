// SPDX-License-Identifier: MIT
// The gradient of rotary position embedding: validate -> resolve -> choose -> launch, with
// ops/attention/rotary_problem.c. Kernels: cl/attention/rotary_backward_*.cl.
#include "base/params.h"
#include "ops/attention/rotary_problem.h"

static const husk__rotary_operator called = {&husk__op_rotary_backward, true};

static husk_status prewarm(husk_queue *queue, const husk__scope *scope)
{
    return husk__rotary_prewarm(queue, &called, scope);
}

const husk__op husk__op_rotary_backward = {
    .name = "rotary_backward",
    .problem_size = sizeof(husk__rotary_problem),
    .variants = husk__rotary_variants,
    .describe = husk__rotary_describe,
    .prewarm = prewarm,
    .classify = husk__rotary_classify,
    .write_case = husk__rotary_write_case,
};

husk_status husk_rotary_backward(husk_queue *queue, const husk_rotary_params *params, const husk_tensor *positions,
                                 const husk_tensor *cosines, const husk_tensor *sines, const husk_tensor *dy,
                                 const husk_tensor *dx)
{
    husk__scope scope;
    husk_rotary_params options;
    const husk__rotary_arguments given = {.x = dy, .positions = positions, .cosines = cosines, .sines = sines, .y = dx};
    husk_status status = husk__call_begin(queue, "husk_rotary_backward", &scope);
    if (status == HUSK_OK)
        status = husk__params_read(&options, sizeof options, "HUSK_ROTARY_PARAMS", params, &scope);
    if (status == HUSK_OK)
        status = husk__rotary_validate(queue, &called, &options, &given, &scope);
    if (status != HUSK_OK)
        return status;
    return husk__rotary_enqueue(queue, &called, &options, &given, &scope);
}
