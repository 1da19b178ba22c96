// SPDX-License-Identifier: MIT
// Softmax and log-softmax over one axis: validate -> resolve -> choose, with ops/softmax/problem.c. The variants are in
// ops/softmax/cpu.c, ops/softmax/gpu.c and ops/softmax/registers.c.
#include "base/axis.h"
#include "base/params.h"
#include "base/tensor.h"
#include "ops/softmax/problem.h"

extern const husk__op husk__op_softmax;

static husk_status prewarm(husk_queue *queue, const husk__scope *scope)
{
    return husk__softmax_prewarm(queue, &husk__op_softmax, false, scope);
}

static const husk__variant *const variants[] = {&husk__softmax_rows, &husk__softmax_columns, &husk__softmax_workgroup,
                                                &husk__softmax_registers, NULL};

const husk__op husk__op_softmax = {
    .name = "softmax",
    .problem_size = sizeof(husk__softmax_problem),
    .variants = variants,
    .describe = husk__softmax_describe,
    .prewarm = prewarm,
    .classify = husk__softmax_classify,
    .write_case = husk__softmax_write_case,
};

static husk_status validate(husk_queue *queue, const husk_softmax_params *params, const husk_tensor *x,
                            const husk_tensor *y, const husk__scope *scope)
{
    husk_status status = husk__tensor_check_real(queue, x, "x", scope);
    if (status == HUSK_OK && x->rank < 1)
        status = husk__reject(scope, "x", "rank is 0, must be 1 to %d", HUSK_MAX_RANK);
    if (status == HUSK_OK)
        status = husk__tensor_check_plain(y, x->dtype, "y", scope);
    if (status == HUSK_OK && husk__axis_dimension(params->axis, x->rank) < 0)
        status = husk__reject(scope, "params", "axis " HUSK__AXIS_TEXT, HUSK__AXIS_VALUES(params->axis, x->rank, "x"));
    if (status == HUSK_OK)
        status = husk__tensor_check_shape(y, "y", x->rank, x->shape, "as x", scope);
    if (status == HUSK_OK)
        status = husk__tensor_check_distinct(y, "y", scope);
    if (status == HUSK_OK)
        status = husk__tensor_bind(queue, x, "x", scope);
    if (status == HUSK_OK)
        status = husk__tensor_bind(queue, y, "y", scope);
    if (status == HUSK_OK)
        status = husk__refuse_partial_overlap(y, "y", x, "x", scope);
    return status;
}

husk_status husk_softmax(husk_queue *queue, const husk_softmax_params *params, const husk_tensor *x,
                         const husk_tensor *y)
{
    const husk_softmax_params defaults = husk_softmax_defaults();
    const husk__softmax_arguments tensors = {.x = x, .y = y};
    husk__scope scope;
    husk_softmax_params given;
    husk_status status = husk__call_begin(queue, "husk_softmax", &scope);
    if (status == HUSK_OK)
        status = husk__params_read(&given, sizeof given, "husk_softmax_defaults", params ? params : &defaults, &scope);
    if (status == HUSK_OK)
        status = validate(queue, &given, x, y, &scope);
    if (status != HUSK_OK)
        return status;
    return husk__softmax_enqueue(queue, &husk__op_softmax, false, &given, &tensors, &scope);
}
