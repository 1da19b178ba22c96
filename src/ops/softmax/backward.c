// SPDX-License-Identifier: MIT
// The gradient of softmax and log-softmax: validate -> resolve -> choose, with ops/softmax/problem.c. The variants are
// softmax's own.
#include "base/axis.h"
#include "base/params.h"
#include "base/tensor.h"
#include "ops/softmax/problem.h"

extern const husk__op husk__op_softmax_backward;

static husk_status prewarm(husk_queue *queue, const husk__scope *scope)
{
    return husk__softmax_prewarm(queue, &husk__op_softmax_backward, true, scope);
}

static const husk__variant *const variants[] = {&husk__softmax_rows, &husk__softmax_columns, &husk__softmax_workgroup,
                                                &husk__softmax_registers, NULL};

const husk__op husk__op_softmax_backward = {
    .name = "softmax_backward",
    .problem_size = sizeof(husk__softmax_problem),
    .variants = variants,
    .describe = husk__softmax_describe,
    .prewarm = prewarm,
    .classify = husk__softmax_classify,
    .write_case = husk__softmax_write_case,
};

static husk_status validate_numbers(husk_queue *queue, const husk_softmax_params *params, const husk_tensor *y,
                                    const husk_tensor *dy, const husk_tensor *dx, const husk__scope *scope)
{
    husk_status status = HUSK_OK;
    if (params->accumulate & ~(uint32_t)HUSK_ACCUMULATE_ALL)
        status =
            husk__reject(scope, "params", "accumulate is %u, which has unknown bits", (unsigned)params->accumulate);
    if (status == HUSK_OK)
        status = husk__tensor_check_real(queue, y, "y", scope);
    if (status == HUSK_OK && y->rank < 1)
        status = husk__reject(scope, "y", "rank is 0, must be 1 to %d", HUSK_MAX_RANK);
    if (status == HUSK_OK)
        status = husk__tensor_check_plain(dy, y->dtype, "dy", scope);
    if (status == HUSK_OK && !dx)
        status = husk__reject(scope, "dx", "is NULL, and there is no other gradient");
    if (status == HUSK_OK)
        status = husk__tensor_check_plain(dx, y->dtype, "dx", scope);
    if (status == HUSK_OK && husk__axis_dimension(params->axis, y->rank) < 0)
        status = husk__reject(scope, "params", "axis " HUSK__AXIS_TEXT, HUSK__AXIS_VALUES(params->axis, y->rank, "y"));
    if (status == HUSK_OK)
        status = husk__tensor_check_shape(dy, "dy", y->rank, y->shape, "as y", scope);
    if (status == HUSK_OK)
        status = husk__tensor_check_shape(dx, "dx", y->rank, y->shape, "as y", scope);
    if (status == HUSK_OK)
        status = husk__tensor_check_distinct(dx, "dx", scope);
    return status;
}

static husk_status validate(husk_queue *queue, const husk_softmax_params *params, const husk_tensor *y,
                            const husk_tensor *dy, const husk_tensor *dx, const husk__scope *scope)
{
    husk_status status = validate_numbers(queue, params, y, dy, dx, scope);
    if (status == HUSK_OK)
        status = husk__tensor_bind(queue, y, "y", scope);
    if (status == HUSK_OK)
        status = husk__tensor_bind(queue, dy, "dy", scope);
    if (status == HUSK_OK)
        status = husk__tensor_bind(queue, dx, "dx", scope);
    if (status == HUSK_OK)
        status = husk__refuse_partial_overlap(dx, "dx", y, "y", scope);
    if (status == HUSK_OK)
        status = husk__refuse_partial_overlap(dx, "dx", dy, "dy", scope);
    return status;
}

husk_status husk_softmax_backward(husk_queue *queue, const husk_softmax_params *params, const husk_tensor *y,
                                  const husk_tensor *dy, const husk_tensor *dx)
{
    const husk_softmax_params defaults = husk_softmax_defaults();
    const husk__softmax_arguments tensors = {.x = y, .y = dx, .z = dy};
    husk__scope scope;
    husk_softmax_params given;
    husk_status status = husk__call_begin(queue, "husk_softmax_backward", &scope);
    if (status == HUSK_OK)
        status = husk__params_read(&given, sizeof given, "husk_softmax_defaults", params ? params : &defaults, &scope);
    if (status == HUSK_OK)
        status = validate(queue, &given, y, dy, dx, &scope);
    if (status != HUSK_OK)
        return status;
    return husk__softmax_enqueue(queue, &husk__op_softmax_backward, true, &given, &tensors, &scope);
}
