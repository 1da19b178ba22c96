// SPDX-License-Identifier: MIT
// Softmax and log-softmax over one axis: validate -> resolve -> choose. The variants are in
// ops/softmax/cpu.c and ops/softmax/gpu.c.
#include <husk/ops/softmax.h>

#include <stdio.h>
#include <stdlib.h>

#include "base/axis.h"
#include "base/params.h"
#include "base/tensor.h"
#include "ops/softmax/problem.h"

static void describe(const void *untyped, husk__key *key)
{
    const husk__softmax_problem *own = untyped;
    husk__key_i64(key, own->axis);
    husk__key_i64(key, own->is_log);
    husk__key_tensor(key, &own->x);
    husk__key_tensor(key, &own->y);
}

// ---- what the variants share ----

husk__softmax_geometry husk__softmax_geometry_of(const husk__softmax_problem *own)
{
    husk__softmax_geometry made;
    made.dtype = own->x.dtype;
    made.axis = (husk__strided_dimension){.extent = 1};
    if (own->x.rank > 0) {
        made.axis.extent = own->x.shape[own->axis];
        made.axis.x_stride = own->x.strides[own->axis];
        made.axis.y_stride = own->y.strides[own->axis];
    }
    made.rows = husk__strided_make(&own->x, &own->y, own->axis);
    made.row_count = husk__strided_count(&made.rows);
    made.outer = made.rows;
    made.inner = husk__strided_take_last(&made.outer);
    return made;
}

husk__softmax_launch *husk__softmax_make_launch(husk_plan *plan)
{
    husk__softmax_launch *state = calloc(1, sizeof *state);
    plan->state = state; // freed with the plan
    if (state)
        state->shape = husk__softmax_geometry_of(plan->problem);
    return state;
}

bool husk__softmax_fills(const husk_device_traits *traits, int64_t pieces)
{
    return pieces >= 2 * (int64_t)traits->compute_units;
}

bool husk__softmax_supports(const husk__candidate *candidate, char reason[HUSK__REASON_CAPACITY])
{
    const husk__softmax_geometry shape = husk__softmax_geometry_of(candidate->problem);
    if (shape.axis.extent <= INT32_MAX / 2)
        return true;
    snprintf(reason, HUSK__REASON_CAPACITY, "the axis has %lld elements, more than 2^30",
             (long long)shape.axis.extent);
    return false;
}

// ---- the operator ----

static void classify(const void *untyped, husk__text *text)
{
    const husk__softmax_problem *own = untyped;
    const husk__softmax_geometry shape = husk__softmax_geometry_of(own);
    husk__text_format(text, " %s%s %s", husk_dtype_name(own->x.dtype), own->is_log ? " log" : "",
                      shape.axis.x_stride == 1 && shape.axis.y_stride == 1 ? "rows" : "strided");
    husk__class_size(text, "axis", shape.axis.extent);
    husk__class_size(text, "inner", shape.inner.extent);
    husk__class_size(text, "rows", shape.row_count);
}

static husk_status prewarm(husk_queue *queue, const husk__scope *scope);

static const husk__variant *const variants[] = {&husk__softmax_rows, &husk__softmax_columns, &husk__softmax_workgroup,
                                                &husk__softmax_registers, NULL};

const husk__op husk__op_softmax = {
    .name = "softmax",
    .problem_size = sizeof(husk__softmax_problem),
    .variants = variants,
    .describe = describe,
    .prewarm = prewarm,
    .classify = classify,
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
        status = husk__reject(scope, "params", "axis " HUSK__AXIS_TEXT,
                              HUSK__AXIS_VALUES(params->axis, x->rank, "x"));
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

static husk__softmax_problem resolve(const husk_softmax_params *params, const husk_tensor *x,
                                     const husk_tensor *y)
{
    husk__softmax_problem own = {.x = *x, .y = *y, .is_log = params->log != 0};
    own.axis = husk__axis_dimension(params->axis, x->rank);
    husk__tensor_resolve(&own.x);
    husk__tensor_resolve(&own.y);
    own.x.buffer = own.y.buffer = NULL;
    own.x.offset = own.y.offset = 0;
    return own;
}

husk_status husk_softmax(husk_queue *queue, const husk_softmax_params *params, const husk_tensor *x,
                         const husk_tensor *y)
{
    const husk_softmax_params defaults = husk_softmax_defaults();
    husk__scope scope;
    husk_softmax_params given;
    husk_status status = husk__call_begin(queue, "husk_softmax", &scope);
    if (status == HUSK_OK)
        status = husk__params_read(&given, sizeof given, "husk_softmax_defaults", params ? params : &defaults,
                                   &scope);
    if (status == HUSK_OK)
        status = validate(queue, &given, x, y, &scope);
    if (status != HUSK_OK || husk__tensor_count(x) == 0)
        return status;

    const husk__softmax_problem own = resolve(&given, x, y);
    const husk_tensor *const operands[] = {x, y};
    const husk__wish wish = husk__wish_of(given.variant, 0, operands, 2);
    const husk__softmax_arguments tensors = {x, y};
    return husk__plan_immediate(queue, &husk__op_softmax, &own, &wish, &tensors, &scope);
}

// Softmax over the last axis and over the one before it, on a few numbers.
static husk_status prewarm(husk_queue *queue, const husk__scope *scope)
{
    const int64_t shape[] = {2, 32, 32};
    husk_buffer *buffer;
    husk_status status =
        husk_buffer_create(husk_queue_context(queue), 2 * 32 * 32 * sizeof(float), &buffer, scope->error);
    if (status != HUSK_OK)
        return status;
    const husk_tensor x = husk_tensor_make(buffer, HUSK_F32, 3, shape);
    for (int32_t axis = -1; axis >= -2 && status == HUSK_OK; --axis) {
        const husk_softmax_params params = HUSK_MAKE(husk_softmax_params, .axis = axis);
        const husk__softmax_problem own = resolve(&params, &x, &x);
        const husk__wish wish = {0};
        const husk__softmax_arguments tensors = {&x, &x};
        status = husk__plan_immediate(queue, &husk__op_softmax, &own, &wish, &tensors, scope);
    }
    husk_buffer_release(buffer);
    return status;
}
