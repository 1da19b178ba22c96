// SPDX-License-Identifier: MIT
// Padding: validate -> resolve -> choose -> launch, with ops/layout/pad_geometry.c and ops/layout/pad_variants.c.
// Kernels: cl/layout/pad_*.cl.
#include "base/params.h"
#include "ops/layout/pad_problem.h"

extern const husk__op husk__op_pad;

static husk_status prewarm(husk_queue *queue, const husk__scope *scope)
{
    return husk__pad_prewarm(queue, &husk__op_pad, false, scope);
}

const husk__op husk__op_pad = {
    .name = "pad",
    .problem_size = sizeof(husk__pad_problem),
    .variants = husk__pad_variants,
    .describe = husk__pad_describe,
    .prewarm = prewarm,
    .classify = husk__pad_classify,
    .write_case = husk__pad_write_case,
};

husk_status husk_pad(husk_queue *queue, const husk_pad_params *params, const husk_tensor *x, const husk_tensor *y)
{
    husk__scope scope;
    husk_pad_params options;
    const husk__pad_arguments given = {x, y};
    husk_status status = husk__call_begin(queue, "husk_pad", &scope);
    if (status == HUSK_OK)
        status = husk__params_read(&options, sizeof options, "HUSK_PAD_PARAMS", params, &scope);
    if (status == HUSK_OK)
        status = husk__pad_validate(queue, &options, false, &given, &scope);
    return status == HUSK_OK ? husk__pad_enqueue(queue, &husk__op_pad, &options, false, &given, &scope) : status;
}
