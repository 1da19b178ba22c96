// SPDX-License-Identifier: MIT
// What softmax and its gradient share: the problem, and how it is enqueued.
#include "ops/softmax/problem.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/axis.h"
#include "base/tensor.h"

typedef husk__softmax_problem problem;
typedef husk__softmax_arguments arguments;
typedef husk__softmax_geometry geometry;

void husk__softmax_describe(const void *untyped, husk__key *key)
{
    const problem *own = untyped;
    husk__key_i64(key, own->axis);
    husk__key_i64(key, own->is_log + 2 * own->accumulates);
    husk__key_tensor(key, &own->x);
    if (own->is_gradient)
        husk__key_tensor(key, &own->z);
    husk__key_tensor(key, &own->y);
}

void husk__softmax_classify(const void *untyped, husk__text *text)
{
    const problem *own = untyped;
    const geometry shape = husk__softmax_geometry_of(own);
    husk__text_format(text, " %s%s%s %s", husk_dtype_name(own->x.dtype), own->is_log ? " log" : "",
                      own->accumulates ? " accumulate" : "",
                      husk__softmax_is_packed(&shape, &shape.axis) ? "rows" : "strided");
    husk__class_size(text, "axis", shape.axis.extent);
    husk__class_size(text, "inner", shape.inner.extent);
    husk__class_size(text, "rows", shape.row_count);
}

void husk__softmax_write_case(const void *untyped, const void *given, husk__case *c)
{
    const problem *own = untyped;
    (void)given;
    int64_t outer = 1, inner = 1;
    for (int32_t i = 0; i < own->x.rank; ++i)
        *(i < own->axis ? &outer : &inner) *= i == own->axis ? 1 : own->x.shape[i];
    husk__case_begin(c, "softmax");
    husk__case_size(c, "outer", outer);
    husk__case_size(c, "axis", own->x.shape[own->axis]);
    husk__case_integer(c, "inner", inner, 1);
    husk__case_integer(c, "log", own->is_log, 0);
    husk__case_dtype(c, own->x.dtype);
    if (own->is_gradient)
        husk__case_word(c, "dir", "bwd", NULL);
    husk__case_tensor(c, own->is_gradient ? "y" : "x", &own->x);
    husk__case_tensor(c, own->is_gradient ? "dx" : "y", &own->y);
    if (own->is_gradient)
        husk__case_tensor(c, "dy", &own->z);
    if (own->accumulates)
        husk__case_note(c, "accumulates");
}

// ---- what the variants share ----

geometry husk__softmax_geometry_of(const problem *own)
{
    geometry made;
    made.dtype = own->x.dtype;
    made.is_gradient = own->is_gradient;
    made.axis = (husk__strided_dimension){own->x.shape[own->axis], own->x.strides[own->axis], own->y.strides[own->axis],
                                          own->z.strides[own->axis]};
    made.rows = husk__strided_make_three(&own->x, &own->y, own->is_gradient ? &own->z : NULL, own->axis);
    made.row_count = husk__strided_count(&made.rows);
    made.outer = made.rows;
    made.inner = husk__strided_take_last(&made.outer);
    return made;
}

bool husk__softmax_is_packed(const geometry *shape, const husk__strided_dimension *dimension)
{
    return dimension->x_stride == 1 && dimension->y_stride == 1 && (dimension->z_stride == 1 || !shape->is_gradient);
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
    const geometry shape = husk__softmax_geometry_of(candidate->problem);
    if (shape.axis.extent <= INT32_MAX / 2)
        return true;
    snprintf(reason, HUSK__REASON_CAPACITY, "the axis has %lld elements, more than 2^30", (long long)shape.axis.extent);
    return false;
}

uint64_t husk__softmax_partial_size(const geometry *shape)
{
    return (shape->is_gradient ? 1 : 2) * husk__accumulator_size(shape->dtype);
}

husk_status husk__softmax_get_kernels(husk_plan *plan, const char *options, const husk__scope *scope)
{
    husk__softmax_launch *own = plan->state;
    const char *direction = own->shape.is_gradient ? "backward_" : "", *variant = plan->variant->name;
    char file[64], name[64];
    snprintf(file, sizeof file, "softmax/%s%s.cl", direction, variant);
    snprintf(name, sizeof name, "husk_softmax_%s%s%s", direction, variant, own->block ? "_partial" : "");
    husk_status status = husk__kernel_get(plan->context, file, options, name, &own->kernels[0], scope);
    if (status != HUSK_OK || !own->block)
        return status;
    snprintf(name, sizeof name, "husk_softmax_%s%s_apply", direction, variant);
    return husk__kernel_get(plan->context, file, options, name, &own->kernels[1], scope);
}

husk__arg *husk__softmax_write_tensors(const husk_plan *plan, const arguments *given, const husk__scratch *scratch,
                                       bool is_partial, husk__arg *end)
{
    const husk__softmax_launch *own = plan->state;
    *end++ = HUSK__ARG_TENSOR(given->x);
    if (own->shape.is_gradient)
        *end++ = HUSK__ARG_TENSOR(given->z);
    if (!is_partial)
        *end++ = HUSK__ARG_TENSOR(given->y);
    if (own->block)
        *end++ = HUSK__ARG_BUFFER(scratch->buffer, 0, husk__accumulator_size(own->shape.dtype));
    return end;
}

husk__arg *husk__softmax_write_rows(const geometry *shape, const husk__strided *rows, husk__arg *end)
{
    end = husk__strided_write_args(rows, end);
    if (shape->is_gradient)
        end = husk__strided_write_third(rows, end);
    *end++ = HUSK__ARG_I32(shape->axis.extent);
    return end;
}

husk__arg *husk__softmax_write_strides(const geometry *shape, const husk__strided_dimension *dimension, bool is_partial,
                                       husk__arg *end)
{
    *end++ = HUSK__ARG_I64(dimension->x_stride);
    if (shape->is_gradient)
        *end++ = HUSK__ARG_I64(dimension->z_stride);
    if (!is_partial)
        *end++ = HUSK__ARG_I64(dimension->y_stride);
    return end;
}

husk__arg *husk__softmax_write_options(const husk_plan *plan, bool is_partial, husk__arg *end)
{
    const problem *own = plan->problem;
    if (own->is_gradient || !is_partial)
        *end++ = HUSK__ARG_I32(own->is_log);
    if (own->is_gradient && !is_partial)
        *end++ = HUSK__ARG_I32(own->accumulates);
    return end;
}

// ---- calls ----

husk_status husk__softmax_enqueue(husk_queue *queue, const husk__op *op, bool is_gradient,
                                  const husk_softmax_params *params, const arguments *given, const husk__scope *scope)
{
    problem own = {.axis = husk__axis_dimension(params->axis, given->x->rank),
                   .is_log = params->log != 0,
                   .is_gradient = is_gradient,
                   .accumulates = is_gradient && (params->accumulate & HUSK_ACCUMULATE_INPUTS),
                   .x = *given->x,
                   .y = *given->y};
    if (is_gradient)
        own.z = *given->z;
    if (husk__tensor_count(given->x) == 0)
        return HUSK_OK;
    husk__tensor_bare(&own.x);
    husk__tensor_bare(&own.y);
    husk__tensor_bare(&own.z);
    const husk_tensor *const operands[] = {given->x, given->y, given->z};
    const husk__preference preference = husk__preference_of(params->variant, 0, operands, is_gradient ? 3 : 2);
    return husk__plan_immediate(queue, op, &own, &preference, given, scope);
}

husk_status husk__softmax_prewarm(husk_queue *queue, const husk__op *op, bool is_gradient, const husk__scope *scope)
{
    const int64_t shape[] = {2, 32, 32};
    husk_buffer *buffer;
    husk_status status =
        husk_buffer_create(husk_queue_context(queue), 2 * 32 * 32 * sizeof(float), &buffer, scope->error);
    if (status != HUSK_OK)
        return status;
    const husk_tensor x = husk_tensor_make(buffer, HUSK_F32, 3, shape);
    const arguments given = {&x, &x, &x};
    for (int32_t axis = -1; axis >= -2 && status == HUSK_OK; --axis) {
        const husk_softmax_params params = HUSK_MAKE(husk_softmax_params, .axis = axis);
        status = husk__softmax_enqueue(queue, op, is_gradient, &params, &given, scope);
    }
    husk_buffer_release(buffer);
    return status;
}
