// SPDX-License-Identifier: MIT
// Concat's calls: what is valid, and how the parts are shared out among launches.
#include <stdio.h>

#include "base/axis.h"
#include "base/checked.h"
#include "base/tensor.h"
#include "ops/layout/concat_problem.h"

// ---- validate ----

static husk_status check_whole(husk_queue *queue, const husk__concat_call *call, const husk_concat_params *params,
                               const husk__scope *scope)
{
    const husk_tensor *whole = call->whole;
    const husk_dtype dtype = whole ? whole->dtype : HUSK_F32;
    husk_status status = call->is_gradient ? husk__tensor_check_real(queue, whole, call->whole_name, scope)
                                           : husk__tensor_check_plain(whole, dtype, call->whole_name, scope);
    if (status != HUSK_OK)
        return status;
    if (whole->rank == 0)
        return husk__reject(scope, call->whole_name, "has no dimensions");
    if (husk__axis_dimension(params->axis, whole->rank) < 0)
        return husk__reject(scope, "params", "axis " HUSK__AXIS_TEXT,
                            HUSK__AXIS_VALUES(params->axis, whole->rank, call->whole_name));
    return call->is_gradient ? HUSK_OK : husk__tensor_check_distinct(whole, call->whole_name, scope);
}

static int32_t axis_of(const husk_concat_params *params, const husk_tensor *whole)
{
    return husk__axis_dimension(params->axis, whole->rank);
}

// name: "inputs[3]".
static husk_status check_part(const husk__concat_call *call, const husk_tensor *part, int64_t extent, int32_t axis,
                              const char *name, const husk__scope *scope)
{
    husk_status status = husk__tensor_check_plain(part, call->whole->dtype, name, scope);
    if (status != HUSK_OK)
        return status;
    husk_tensor wanted = *call->whole;
    wanted.shape[axis] = extent >= 0 ? extent : part->rank > axis ? part->shape[axis] : 0;
    status = husk__tensor_check_shape(part, name, wanted.rank, wanted.shape, "as the others but along the axis", scope);
    if (status == HUSK_OK && call->is_gradient)
        status = husk__tensor_check_distinct(part, name, scope);
    return status;
}

static husk_status check_parts(const husk__concat_call *call, int32_t axis, const husk__scope *scope)
{
    int64_t sum = 0;
    bool is_any_wanted = false;
    char name[48];
    for (size_t i = 0; call->extents && i < call->count; ++i)
        if (call->extents[i] < 0)
            return husk__reject(scope, "extents", "[%zu] is %lld", i, (long long)call->extents[i]);
    for (size_t i = 0; i < call->count; ++i) {
        const husk_tensor *part = call->parts[i];
        snprintf(name, sizeof name, "%s[%zu]", call->part_name, i);
        const int64_t extent = call->extents ? call->extents[i] : -1;
        if (!part && !call->extents)
            return husk__reject(scope, name, call->is_gradient ? "is NULL, and so is extents" : "is NULL");
        husk_status status = part ? check_part(call, part, extent, axis, name, scope) : HUSK_OK;
        if (status != HUSK_OK)
            return status;
        is_any_wanted = is_any_wanted || part;
        if (__builtin_add_overflow(sum, part ? part->shape[axis] : extent, &sum))
            return husk__reject(scope, name, "the sum of the extents overflows");
    }
    if (!is_any_wanted)
        return husk__reject(scope, call->part_name, "are all NULL: there is nothing to compute");
    if (sum != call->whole->shape[axis])
        return husk__reject(scope, call->whole_name, "has %lld along the axis, the %s have %lld together",
                            (long long)call->whole->shape[axis], call->part_name, (long long)sum);
    return HUSK_OK;
}

static husk_status bind(husk_queue *queue, const husk__concat_call *call, const husk__scope *scope)
{
    char name[48], other[48];
    husk_status status = husk__tensor_bind(queue, call->whole, call->whole_name, scope);
    for (size_t i = 0; i < call->count && status == HUSK_OK; ++i) {
        if (!call->parts[i])
            continue;
        snprintf(name, sizeof name, "%s[%zu]", call->part_name, i);
        status = husk__tensor_bind(queue, call->parts[i], name, scope);
        if (status == HUSK_OK)
            status = call->is_gradient
                         ? husk__refuse_overlap(call->parts[i], name, call->whole, call->whole_name, scope)
                         : husk__refuse_overlap(call->whole, call->whole_name, call->parts[i], name, scope);
        for (size_t k = 0; k < i && call->is_gradient && status == HUSK_OK; ++k) {
            snprintf(other, sizeof other, "%s[%zu]", call->part_name, k);
            status = husk__refuse_overlap(call->parts[i], name, call->parts[k], other, scope);
        }
    }
    return status;
}

husk_status husk__concat_validate(husk_queue *queue, const husk_concat_params *params, const husk__concat_call *call,
                                  const husk__scope *scope)
{
    if (params->accumulate > HUSK_ACCUMULATE_ALL)
        return husk__reject(scope, "params", "accumulate %u has bits that mean nothing", (unsigned)params->accumulate);
    if (!call->parts)
        return husk__reject(scope, call->part_name, "is NULL");
    if (call->count == 0)
        return husk__reject(scope, "count", "is 0");
    husk_status status = check_whole(queue, call, params, scope);
    if (status == HUSK_OK)
        status = check_parts(call, axis_of(params, call->whole), scope);
    return status == HUSK_OK ? bind(queue, call, scope) : status;
}

// ---- resolve: some of the parts, and the whole as far as they reach ----

typedef struct chunk {
    int32_t axis, count;
    husk_tensor whole;
    const husk_tensor *parts[HUSK__CONCAT_PARTS];
    int64_t extents[HUSK__CONCAT_PARTS];
} chunk;

// Inside the axis are the dimensions of smaller strides in the whole; theirs is the order of all.
static bool is_inside(const chunk *own, int32_t d)
{
    const husk_tensor *whole = &own->whole;
    return whole->strides[d] < whole->strides[own->axis] ||
           (whole->strides[d] == whole->strides[own->axis] && d > own->axis);
}

// Elements inside the axis where they lie without gaps, the same in every tensor; 0 where not.
static int64_t inside(const chunk *own, const husk_tensor resolved[])
{
    bool is_done[HUSK_MAX_RANK] = {false};
    int64_t product = 1;
    for (int32_t round = 0; round < own->whole.rank; ++round) {
        int32_t least = -1;
        for (int32_t d = 0; d < own->whole.rank; ++d)
            if (d != own->axis && !is_done[d] && own->whole.shape[d] != 1 && is_inside(own, d) &&
                (least < 0 || own->whole.strides[d] < own->whole.strides[least]))
                least = d;
        if (least < 0)
            break;
        is_done[least] = true;
        if (own->whole.strides[least] != product)
            return 0;
        for (int32_t k = 0; k < own->count; ++k)
            if (own->parts[k] && resolved[k].strides[least] != product)
                return 0;
        product *= own->whole.shape[least];
    }
    if (own->whole.shape[own->axis] > 1 && own->whole.strides[own->axis] != product)
        return 0;
    for (int32_t k = 0; k < own->count; ++k)
        if (own->parts[k] && own->extents[k] > 1 && resolved[k].strides[own->axis] != product)
            return 0;
    return product;
}

// The dimensions outside as one; false where they are not one in some tensor. Strides: the whole's, then the parts'.
static bool outside(const chunk *own, const husk_tensor resolved[], int64_t *extent,
                    int64_t strides[1 + HUSK__CONCAT_PARTS])
{
    husk__walk walk = {0};
    for (int32_t d = 0; d < own->whole.rank; ++d)
        if (d != own->axis && !is_inside(own, d))
            husk__walk_add(&walk, (husk__walk_dimension){own->whole.shape[d], {own->whole.strides[d], d}});
    husk__walk_sort(&walk); // by the whole's strides; the second is the dimension's number
    *extent = husk__walk_count(&walk);
    for (int32_t k = 0; k <= own->count; ++k) {
        const husk_tensor *tensor = k == 0 ? &own->whole : &resolved[k - 1];
        strides[k] = 0;
        if (walk.rank == 0 || (k > 0 && !own->parts[k - 1]))
            continue;
        strides[k] = tensor->strides[walk.dimensions[walk.rank - 1].strides[1]];
        for (int32_t i = 1; i < walk.rank; ++i)
            if (tensor->strides[walk.dimensions[i - 1].strides[1]] !=
                walk.dimensions[i].extent * tensor->strides[walk.dimensions[i].strides[1]])
                return false;
    }
    return true;
}

// Rows of several parts.
static bool resolve_rows(const chunk *own, husk__concat_problem *problem)
{
    husk_tensor resolved[HUSK__CONCAT_PARTS];
    int64_t strides[1 + HUSK__CONCAT_PARTS], rows;
    for (int32_t k = 0; k < own->count; ++k)
        if (own->parts[k]) {
            resolved[k] = *own->parts[k];
            husk__tensor_resolve(&resolved[k]);
        }
    const int64_t product = inside(own, resolved);
    if (product == 0 || !outside(own, resolved, &rows, strides))
        return false;
    husk__walk_add(&problem->outer, (husk__walk_dimension){rows, {strides[0], 0}});
    problem->count = own->count;
    problem->whole_step = problem->part_step = 1;
    for (int32_t k = 0; k < own->count; ++k) {
        problem->wanted |= own->parts[k] ? 1u << k : 0u;
        problem->total += own->extents[k] * product;
        problem->ends[k] = problem->total;
        problem->strides[k] = strides[1 + k];
    }
    return true;
}

// One part of any strides: sorted by those of what is written.
static void resolve_one(const chunk *own, husk__concat_problem *problem)
{
    husk_tensor part = *own->parts[0];
    husk__tensor_resolve(&part);
    for (int32_t d = 0; d < part.rank; ++d)
        husk__walk_add(&problem->outer,
                       (husk__walk_dimension){part.shape[d], {own->whole.strides[d], part.strides[d]}});
    husk__walk_sort_by(&problem->outer, problem->is_gradient ? 1 : 0);
    husk__walk_merge(&problem->outer);
    const husk__walk_dimension row = husk__walk_take_last(&problem->outer);
    problem->count = 1;
    problem->wanted = 1;
    problem->whole_step = row.strides[0];
    problem->part_step = row.strides[1];
    problem->total = problem->ends[0] = row.extent;
}

// ---- launch ----

static husk_status enqueue(husk_queue *queue, const husk_concat_params *params, const husk__op *op, const chunk *own,
                           const husk__concat_problem *problem, const husk__scope *scope)
{
    husk__concat_arguments given = {.whole = &own->whole};
    const husk__preference preference = {.variant = params->variant};
    for (int32_t k = 0; k < own->count; ++k)
        given.parts[k] = own->parts[k];
    return husk__plan_immediate(queue, op, problem, &preference, &given, scope);
}

// All at once where they lie so that one launch does, otherwise one by one.
static husk_status enqueue_chunk(husk_queue *queue, const husk_concat_params *params, const husk__concat_call *call,
                                 const chunk *own, const husk__scope *scope)
{
    const husk__concat_problem nothing = {.is_gradient = call->is_gradient,
                                          .adds = call->is_gradient && (params->accumulate & HUSK_ACCUMULATE_INPUTS),
                                          .dtype = own->whole.dtype};
    husk__concat_problem problem = nothing;
    if (own->count > 1 && resolve_rows(own, &problem))
        return enqueue(queue, params, call->op, own, &problem, scope);
    husk_status status = HUSK_OK;
    chunk one = {.axis = own->axis, .count = 1, .whole = own->whole};
    for (int32_t k = 0; k < own->count && status == HUSK_OK; ++k) {
        one.parts[0] = own->parts[k];
        one.extents[0] = one.whole.shape[own->axis] = own->extents[k];
        problem = nothing;
        if (one.parts[0]) {
            resolve_one(&one, &problem);
            status = enqueue(queue, params, call->op, &one, &problem, scope);
        }
        one.whole.offset += own->extents[k] * one.whole.strides[own->axis];
    }
    return status;
}

husk_status husk__concat_enqueue(husk_queue *queue, const husk_concat_params *params, const husk__concat_call *call,
                                 const husk__scope *scope)
{
    if (husk__tensor_count(call->whole) == 0)
        return HUSK_OK;
    husk_status status = HUSK_OK;
    chunk own = {.axis = axis_of(params, call->whole), .whole = *call->whole};
    husk__tensor_resolve(&own.whole);
    own.whole.shape[own.axis] = 0;
    for (size_t i = 0; i < call->count && status == HUSK_OK; ++i) {
        const husk_tensor *part = call->parts[i];
        const int64_t extent = part ? part->shape[own.axis] : call->extents[i];
        if (extent > 0) {
            own.parts[own.count] = part;
            own.extents[own.count++] = extent;
            own.whole.shape[own.axis] += extent;
        }
        if (own.count == HUSK__CONCAT_PARTS || (own.count > 0 && i + 1 == call->count)) {
            status = enqueue_chunk(queue, params, call, &own, scope);
            own.whole.offset += own.whole.shape[own.axis] * own.whole.strides[own.axis];
            own.whole.shape[own.axis] = own.count = 0;
        }
    }
    return status;
}

husk_status husk__concat_prewarm(husk_queue *queue, const husk__op *op, bool is_gradient, const husk__scope *scope)
{
    const int64_t shape[] = {64};
    husk_buffer *buffer;
    husk_status status = husk_buffer_create(husk_queue_context(queue), 256 * sizeof(float), &buffer, scope->error);
    if (status != HUSK_OK)
        return status;
    const husk_concat_params params = HUSK_CONCAT_PARAMS(0);
    const husk_tensor a = husk_tensor_make(buffer, HUSK_F32, 1, shape);
    husk_tensor b = a, whole = a;
    b.offset = 64;
    whole.offset = 128;
    whole.shape[0] = 128;
    const husk_tensor *const parts[] = {&a, &b};
    const husk__concat_call call = {.op = op, .is_gradient = is_gradient, .whole = &whole, .parts = parts, .count = 2};
    status = husk__concat_enqueue(queue, &params, &call, scope);
    husk_buffer_release(buffer);
    return status;
}
