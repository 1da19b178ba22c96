// SPDX-License-Identifier: MIT
// Gradients of tensors one after the other along a dimension: slices. Kernels: cl/layout/concat_backward_*.cl.
#include "base/params.h"
#include "ops/layout/concat_problem.h"

extern const husk__op husk__op_concat_backward;

static husk_status prewarm(husk_queue *queue, const husk__scope *scope)
{
    return husk__concat_prewarm(queue, &husk__op_concat_backward, true, scope);
}

const husk__op husk__op_concat_backward = {
    .name = "concat_backward",
    .problem_size = sizeof(husk__concat_problem),
    .variants = husk__concat_variants,
    .describe = husk__concat_describe,
    .prewarm = prewarm,
    .classify = husk__concat_classify,
    .write_case = husk__concat_write_case,
};

husk_status husk_concat_backward(husk_queue *queue, const husk_concat_params *params, const int64_t *extents,
                                 const husk_tensor *dy, const husk_tensor *const *gradients, size_t count)
{
    husk__scope scope;
    husk_concat_params given;
    const husk__concat_call call = {.op = &husk__op_concat_backward,
                                    .is_gradient = true,
                                    .whole_name = "dy",
                                    .part_name = "gradients",
                                    .whole = dy,
                                    .parts = gradients,
                                    .extents = extents,
                                    .count = count};
    husk_status status = husk__call_begin(queue, "husk_concat_backward", &scope);
    if (status == HUSK_OK)
        status = husk__params_read(&given, sizeof given, "HUSK_CONCAT_PARAMS", params, &scope);
    if (status == HUSK_OK)
        status = husk__concat_validate(queue, &given, &call, &scope);
    return status == HUSK_OK ? husk__concat_enqueue(queue, &given, &call, &scope) : status;
}
