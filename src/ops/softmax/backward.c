// SPDX-License-Identifier: MIT
// The gradient of softmax and log-softmax: validate -> resolve -> choose. The variants are in
// ops/softmax/backward_cpu.c and ops/softmax/backward_gpu.c.
#include <stdlib.h>

#include "base/axis.h"
#include "base/params.h"
#include "base/tensor.h"
#include "ops/softmax/backward_problem.h"

typedef husk__softmax_backward_problem problem;
typedef husk__softmax_backward_geometry geometry;

static void describe(const void *untyped, husk__key *key)
{
    const problem *own = untyped;
    husk__key_i64(key, own->axis);
    husk__key_i64(key, own->is_log + 2 * own->accumulates);
    husk__key_tensor(key, &own->y);
    husk__key_tensor(key, &own->dy);
    husk__key_tensor(key, &own->dx);
}

geometry husk__softmax_backward_geometry_of(const problem *own)
{
    geometry made;
    made.axis = (husk__strided_dimension){own->y.shape[own->axis], own->y.strides[own->axis],
                                          own->dx.strides[own->axis], own->dy.strides[own->axis]};
    made.rows = husk__strided_make_three(&own->y, &own->dx, &own->dy, own->axis);
    made.row_count = husk__strided_count(&made.rows);
    made.outer = made.rows;
    made.inner = husk__strided_take_last(&made.outer);
    made.dtype = own->y.dtype;
    return made;
}

husk__softmax_backward_launch *husk__softmax_backward_make_launch(husk_plan *plan)
{
    husk__softmax_backward_launch *state = calloc(1, sizeof *state);
    plan->state = state; // freed with the plan
    if (state)
        state->shape = husk__softmax_backward_geometry_of(plan->problem);
    return state;
}

static void classify(const void *untyped, husk__text *text)
{
    const problem *own = untyped;
    const geometry shape = husk__softmax_backward_geometry_of(own);
    const bool is_packed = shape.axis.x_stride == 1 && shape.axis.y_stride == 1 && shape.axis.z_stride == 1;
    husk__text_format(text, " %s%s%s %s", husk_dtype_name(own->y.dtype), own->is_log ? " log" : "",
                      own->accumulates ? " accumulate" : "", is_packed ? "rows" : "strided");
    husk__class_size(text, "axis", shape.axis.extent);
    husk__class_size(text, "inner", shape.inner.extent);
    husk__class_size(text, "rows", shape.row_count);
}

static husk_status prewarm(husk_queue *queue, const husk__scope *scope);

static const husk__variant *const variants[] = {&husk__softmax_backward_rows, &husk__softmax_backward_columns,
                                                &husk__softmax_backward_workgroup,
                                                &husk__softmax_backward_registers, NULL};

const husk__op husk__op_softmax_backward = {
    .name = "softmax_backward",
    .problem_size = sizeof(problem),
    .variants = variants,
    .describe = describe,
    .prewarm = prewarm,
    .classify = classify,
};

static husk_status validate_numbers(husk_queue *queue, const husk_softmax_params *params, const husk_tensor *y,
                                    const husk_tensor *dy, const husk_tensor *dx, const husk__scope *scope)
{
    husk_status status = HUSK_OK;
    if (params->accumulate & ~(uint32_t)HUSK_ACCUMULATE_ALL)
        status = husk__reject(scope, "params", "accumulate is %u, which has unknown bits",
                              (unsigned)params->accumulate);
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
        status = husk__reject(scope, "params", "axis " HUSK__AXIS_TEXT,
                              HUSK__AXIS_VALUES(params->axis, y->rank, "y"));
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

static problem resolve(const husk_softmax_params *params, const husk_tensor *y, const husk_tensor *dy,
                       const husk_tensor *dx)
{
    problem own = {.y = *y, .dy = *dy, .dx = *dx, .is_log = params->log != 0};
    husk_tensor *const tensors[] = {&own.y, &own.dy, &own.dx};
    own.accumulates = (params->accumulate & HUSK_ACCUMULATE_INPUTS) != 0;
    own.axis = husk__axis_dimension(params->axis, y->rank);
    for (int i = 0; i < 3; ++i) {
        husk__tensor_resolve(tensors[i]);
        tensors[i]->buffer = NULL;
        tensors[i]->offset = 0;
    }
    return own;
}

husk_status husk_softmax_backward(husk_queue *queue, const husk_softmax_params *params, const husk_tensor *y,
                                  const husk_tensor *dy, const husk_tensor *dx)
{
    const husk_softmax_params defaults = husk_softmax_defaults();
    husk__scope scope;
    husk_softmax_params given;
    husk_status status = husk__call_begin(queue, "husk_softmax_backward", &scope);
    if (status == HUSK_OK)
        status = husk__params_read(&given, sizeof given, "husk_softmax_defaults", params ? params : &defaults,
                                   &scope);
    if (status == HUSK_OK)
        status = validate(queue, &given, y, dy, dx, &scope);
    if (status != HUSK_OK || husk__tensor_count(y) == 0)
        return status;

    const problem own = resolve(&given, y, dy, dx);
    const husk_tensor *const operands[] = {y, dy, dx};
    const husk__wish wish = husk__wish_of(given.variant, 0, operands, 3);
    const husk__softmax_backward_arguments tensors = {y, dy, dx};
    return husk__plan_immediate(queue, &husk__op_softmax_backward, &own, &wish, &tensors, &scope);
}

// The last axis and the one before it, on a few numbers.
static husk_status prewarm(husk_queue *queue, const husk__scope *scope)
{
    const int64_t shape[] = {2, 32, 32};
    husk_buffer *buffer;
    husk_status status =
        husk_buffer_create(husk_queue_context(queue), 2 * 32 * 32 * sizeof(float), &buffer, scope->error);
    if (status != HUSK_OK)
        return status;
    const husk_tensor y = husk_tensor_make(buffer, HUSK_F32, 3, shape);
    for (int32_t axis = -1; axis >= -2 && status == HUSK_OK; --axis) {
        const husk_softmax_params params = HUSK_MAKE(husk_softmax_params, .axis = axis);
        const problem own = resolve(&params, &y, &y, &y);
        const husk__wish wish = {0};
        const husk__softmax_backward_arguments tensors = {&y, &y, &y};
        status = husk__plan_immediate(queue, &husk__op_softmax_backward, &own, &wish, &tensors, scope);
    }
    husk_buffer_release(buffer);
    return status;
}
