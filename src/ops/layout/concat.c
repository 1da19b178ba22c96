// SPDX-License-Identifier: MIT
// Tensors one after the other along a dimension: validate -> resolve -> choose -> launch, with
// ops/layout/concat_variants.c and ops/layout/concat_parts.c. Kernels: cl/layout/concat_*.cl.
#include "base/params.h"
#include "ops/layout/concat_problem.h"

extern const husk__op husk__op_concat;

static husk_status prewarm(husk_queue *queue, const husk__scope *scope)
{
    return husk__concat_prewarm(queue, &husk__op_concat, false, scope);
}

const husk__op husk__op_concat = {
    .name = "concat",
    .problem_size = sizeof(husk__concat_problem),
    .variants = husk__concat_variants,
    .describe = husk__concat_describe,
    .prewarm = prewarm,
    .classify = husk__concat_classify,
    .write_case = husk__concat_write_case,
};

husk_status husk_concat(husk_queue *queue, const husk_concat_params *params, const husk_tensor *const *inputs,
                        size_t count, const husk_tensor *y)
{
    husk__scope scope;
    husk_concat_params given;
    const husk__concat_call call = {
        .op = &husk__op_concat, .whole_name = "y", .part_name = "inputs", .whole = y, .parts = inputs, .count = count};
    husk_status status = husk__call_begin(queue, "husk_concat", &scope);
    if (status == HUSK_OK)
        status = husk__params_read(&given, sizeof given, "HUSK_CONCAT_PARAMS", params, &scope);
    if (status == HUSK_OK)
        status = husk__concat_validate(queue, &given, &call, &scope);
    return status == HUSK_OK ? husk__concat_enqueue(queue, &given, &call, &scope) : status;
}
