// SPDX-License-Identifier: MIT
// Dropout: validate -> resolve -> choose -> launch, with ops/elementwise/dropout_variants.c. Kernels:
// cl/elementwise/dropout_*.cl.
#include "base/params.h"
#include "ops/elementwise/dropout_problem.h"

extern const husk__op husk__op_dropout;

static husk_status prewarm(husk_queue *queue, const husk__scope *scope)
{
    return husk__dropout_prewarm(queue, &husk__op_dropout, false, scope);
}

const husk__op husk__op_dropout = {
    .name = "dropout",
    .problem_size = sizeof(husk__dropout_problem),
    .variants = husk__dropout_variants,
    .describe = husk__dropout_describe,
    .prewarm = prewarm,
    .classify = husk__dropout_classify,
    .write_case = husk__dropout_write_case,
};

husk_status husk_dropout(husk_queue *queue, const husk_dropout_params *params, const husk_tensor *x,
                         const husk_tensor *y)
{
    husk__scope scope;
    husk_dropout_params given;
    husk_status status = husk__call_begin(queue, "husk_dropout", &scope);
    if (status == HUSK_OK)
        status = husk__params_read(&given, sizeof given, "HUSK_DROPOUT_PARAMS", params, &scope);
    if (status == HUSK_OK)
        status = husk__dropout_validate(queue, &given, x, "x", y, "y", &scope);
    if (status != HUSK_OK)
        return status;
    return husk__dropout_enqueue(queue, &husk__op_dropout, false, &given, x, y, &scope);
}
