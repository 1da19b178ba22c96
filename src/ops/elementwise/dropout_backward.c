// SPDX-License-Identifier: MIT
// The gradient of dropout: validate -> resolve -> choose -> launch, with ops/elementwise/dropout_variants.c.
// Kernels: cl/elementwise/dropout_backward_*.cl.
#include "base/params.h"
#include "ops/elementwise/dropout_problem.h"

extern const husk__op husk__op_dropout_backward;

static husk_status prewarm(husk_queue *queue, const husk__scope *scope)
{
    return husk__dropout_prewarm(queue, &husk__op_dropout_backward, true, scope);
}

const husk__op husk__op_dropout_backward = {
    .name = "dropout_backward",
    .problem_size = sizeof(husk__dropout_problem),
    .variants = husk__dropout_variants,
    .describe = husk__dropout_describe,
    .prewarm = prewarm,
    .classify = husk__dropout_classify,
    .write_case = husk__dropout_write_case,
};

husk_status husk_dropout_backward(husk_queue *queue, const husk_dropout_params *params, const husk_tensor *dy,
                                  const husk_tensor *dx)
{
    husk__scope scope;
    husk_dropout_params given;
    husk_status status = husk__call_begin(queue, "husk_dropout_backward", &scope);
    if (status == HUSK_OK)
        status = husk__params_read(&given, sizeof given, "HUSK_DROPOUT_PARAMS", params, &scope);
    if (status == HUSK_OK)
        status = husk__dropout_validate(queue, &given, dy, "dy", dx, "dx", &scope);
    if (status != HUSK_OK)
        return status;
    return husk__dropout_enqueue(queue, &husk__op_dropout_backward, true, &given, dy, dx, &scope);
}
