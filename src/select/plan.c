// SPDX-License-Identifier: MIT
// Plans as they are, whoever has made them. plan_make.c makes them, plan_call.c runs them.
#include "select/plan.h"

#include <stdlib.h>
#include <string.h>

#include "base/tensor.h"

static void destroy_plan(husk_plan *plan)
{
    if (plan->state) {
        if (plan->variant->unprepare)
            plan->variant->unprepare(plan);
        else
            free(plan->state);
    }
    if (plan->holds_context)
        husk_context_release(plan->context);
    free(plan->problem);
    free(plan);
}

void husk_plan_retain(husk_plan *plan)
{
    if (plan)
        atomic_fetch_add(&plan->references, 1);
}

void husk_plan_release(husk_plan *plan)
{
    if (plan && atomic_fetch_sub(&plan->references, 1) == 1)
        destroy_plan(plan);
}

const char *husk_plan_variant(const husk_plan *plan)
{
    return plan ? plan->variant->name : "";
}

const char *husk_plan_configuration(const husk_plan *plan)
{
    return plan ? plan->configuration->name : "";
}

uint64_t husk_plan_workspace(const husk_plan *plan)
{
    uint64_t bytes = plan ? plan->workspace : 0;
    for (int depth = 0; plan && depth < HUSK__PLAN_DEPTH; ++depth)
        bytes += plan->inside_workspace[depth];
    return bytes;
}

double husk_plan_executed_flops(const husk_plan *plan)
{
    return plan ? plan->flops : 0.0;
}

double husk_plan_predicted_ns(const husk_plan *plan)
{
    return plan ? plan->predicted_ns : 0.0;
}

double husk_plan_error_factor(const husk_plan *plan)
{
    return plan ? plan->error_factor : 0.0;
}

// A queue keeps the largest scratch memory of each depth.
husk_status husk__target_find(husk_context *context, husk__target *target, const husk__scope *scope)
{
    *target = (husk__target){husk_context_traits(context), husk__machine_of(context)};
    return target->machine ? HUSK_OK
                           : husk__fail(scope, HUSK_OUT_OF_HOST_MEMORY, "no host memory for what the device can do");
}

// There is a machine: the plan was chosen by it.
husk__candidate husk__candidate_of(const husk_plan *plan)
{
    return (husk__candidate){plan->problem, husk_context_traits(plan->context), husk__machine_of(plan->context),
                             plan->configuration, false};
}

void husk__plan_adopt(husk_plan *outer, husk_plan *inside)
{
    uint64_t bytes = husk_plan_workspace(inside);
    if (bytes > outer->largest_inside)
        outer->largest_inside = bytes;
    bytes = inside->workspace;
    for (int depth = 0; depth < HUSK__PLAN_DEPTH; ++depth) {
        if (bytes > outer->inside_workspace[depth])
            outer->inside_workspace[depth] = bytes;
        bytes = inside->inside_workspace[depth];
    }
    if (inside->holds_context)
        husk_context_release(inside->context);
    inside->holds_context = false;
}

uint64_t husk__plan_inside_limit(const husk_plan *outer)
{
    if (outer->inside_limit == 0)
        return 0;
    return outer->inside_limit > outer->workspace ? outer->inside_limit - outer->workspace : 1;
}

husk_status husk__plan_check(const husk_plan *plan, const husk__op *op, const husk_queue *queue,
                             const husk__scope *scope)
{
    if (!plan)
        return husk__reject(scope, "plan", "is NULL");
    if (plan->op != op)
        return husk__reject(scope, "plan", "is a plan of %s, not of %s", plan->op->name, op->name);
    if (plan->context != husk_queue_context(queue))
        return husk__reject(scope, "plan", "belongs to another context than the queue");
    return HUSK_OK;
}

husk_status husk__plan_check_tensor(const husk_tensor *planned, const husk_tensor *given, const char *argument,
                                    const husk__scope *scope)
{
    husk_status status = husk__tensor_check(given, argument, scope);
    if (status != HUSK_OK)
        return status;
    husk_tensor resolved = *given;
    husk__tensor_resolve(&resolved);
    bool is_same = resolved.rank == planned->rank && resolved.dtype == planned->dtype;
    for (int32_t d = 0; is_same && d < planned->rank; ++d)
        is_same = resolved.shape[d] == planned->shape[d] &&
                  (resolved.shape[d] <= 1 || resolved.strides[d] == planned->strides[d]);
    if (is_same)
        return HUSK_OK;
    char is[HUSK__SHAPE_TEXT], was[HUSK__SHAPE_TEXT];
    husk__shape_text(given, is); // not among the arguments below, whose order is the compiler's
    husk__shape_text(planned, was);
    return husk__reject(scope, argument, "is %s %s, the plan was made for %s %s%s", husk_dtype_name(given->dtype), is,
                        husk_dtype_name(planned->dtype), was,
                        given->dtype == planned->dtype && strcmp(is, was) == 0 ? " with other strides" : "");
}

husk__limit husk__default_limit(const husk_tensor *const *tensors, size_t count)
{
    uint64_t bytes = 0;
    for (size_t i = 0; i < count; ++i) {
        const int64_t extent = tensors[i] ? husk_tensor_extent(tensors[i]) : 0;
        const bool is_narrow = tensors[i] && (tensors[i]->dtype == HUSK_F16 || tensors[i]->dtype == HUSK_BF16);
        bytes += extent > 0 ? (uint64_t)extent * (is_narrow ? sizeof(float) / sizeof(uint16_t) : 1) : 0;
    }
    const uint64_t least = UINT64_C(64) << 20;
    return (husk__limit){2 * bytes > least ? 2 * bytes : least, true};
}

void husk__preference_of_packed(husk__preference *preference, const husk_packed *packed)
{
    const size_t length = preference->variant ? strlen(preference->variant) : 0;
    if (!packed)
        return;
    if (!preference->variant ||
        (strncmp(packed->preference, preference->variant, length) == 0 && packed->preference[length] == ':'))
        preference->variant = packed->preference;
}

husk__preference husk__preference_of(const char *named, uint64_t limit, const husk_tensor *const *tensors, size_t count)
{
    const husk__limit own = limit || named ? (husk__limit){limit, false} : husk__default_limit(tensors, count);
    return (husk__preference){named, own, limit};
}
