// SPDX-License-Identifier: MIT
// Weights in the layout that a plan wants.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/tensor.h"
#include "runtime/bind.h"
#include "select/plan.h"

husk_status husk__packed_create(const husk_plan *plan, uint64_t bytes, const husk_tensor *logical, husk_packed **packed,
                                const husk__scope *scope)
{
    *packed = NULL;
    husk_packed *made = calloc(1, sizeof *made);
    if (!made)
        return husk__fail(scope, HUSK_OUT_OF_HOST_MEMORY, "no host memory for packed weights");
    husk_error error = {0};
    husk_status status = husk_buffer_create(plan->context, bytes, &made->buffer, &error);
    if (status != HUSK_OK) {
        free(made);
        return husk__fail_opencl(scope, status, error.opencl_code, "packed weights of %llu bytes: %s",
                                 (unsigned long long)bytes, error.text);
    }
    atomic_init(&made->references, 1);
    made->op = plan->op;
    made->variant = plan->variant;
    made->configuration = plan->configuration;
    made->logical = *logical;
    made->logical.buffer = NULL;
    made->logical.offset = 0;
    plan->op->describe_packed(plan, &made->key);
    snprintf(made->preference, sizeof made->preference, "%s:%s", plan->variant->name, plan->configuration->name);
    *packed = made;
    return HUSK_OK;
}

husk_status husk__packed_check(const husk_packed *packed, const husk_plan *plan, const husk__scope *scope)
{
    const char *argument = plan->op->packed_argument;
    if (!packed)
        return husk__reject(scope, argument, "is NULL");
    if (husk_buffer_context(packed->buffer) != plan->context)
        return husk__reject(scope, argument, "was packed on another context");
    if (packed->op != plan->op)
        return husk__reject(scope, argument, "was packed for %s, not for %s", packed->op->name, plan->op->name);
    if (packed->variant != plan->variant || packed->configuration != plan->configuration)
        return husk__reject(scope, argument, "was packed for variant %s, the plan uses %s:%s", packed->preference,
                            plan->variant->name, plan->configuration->name);
    husk__key key = {0};
    plan->op->describe_packed(plan, &key);
    if (!husk__key_equal(&packed->key, &key))
        return husk__reject(scope, argument, "was packed for weights of another shape or other options");
    return HUSK_OK;
}

// ---- calls that may have packed weights ----

husk_status husk__packed_plan_create(husk_context *context, const husk__op *op, const void *problem,
                                     const husk__preference *preference, const husk_packed *packed, husk_plan **plan,
                                     const husk__scope *scope)
{
    husk_status status = husk__plan_create(context, op, problem, preference, plan, scope);
    if (status != HUSK_OK || !packed)
        return status;
    status = husk__packed_check(packed, *plan, scope);
    if (status != HUSK_OK) {
        husk_plan_release(*plan);
        *plan = NULL;
    }
    return status;
}

husk_status husk__packed_immediate(husk_queue *queue, const husk__op *op, const void *problem,
                                   const husk__preference *preference, const husk_packed *packed, const void *arguments,
                                   const husk__scope *scope)
{
    if (!packed)
        return husk__plan_immediate(queue, op, problem, preference, arguments, scope);
    husk_plan *plan;
    husk_status status = husk__plan_find(husk_queue_context(queue), op, problem, preference, &plan, scope);
    if (status != HUSK_OK)
        return status;
    status = husk__packed_check(packed, plan, scope);
    if (status == HUSK_OK)
        status = husk__plan_execute(plan, queue, arguments, scope);
    husk__plan_was_last(plan, queue);
    return status;
}

husk_status husk__packed_check_weights(const husk_plan *plan, const husk_tensor *planned, bool is_packed,
                                       const husk_tensor *given, const husk__scope *scope)
{
    const char *argument = plan->op->packed_argument;
    if (given && given->packed)
        return husk__packed_check(given->packed, plan, scope);
    if (given && is_packed)
        return husk__reject(scope, argument, "is not packed, the plan was made for packed weights");
    return husk__plan_check_tensor(planned, given, argument, scope);
}

husk_status husk__packed_check_other(const husk_plan *plan, const husk_tensor *planned, bool has,
                                     const husk_tensor *given, const char *argument, const husk__scope *scope)
{
    if (has != (given != NULL))
        return husk__reject(scope, argument,
                            has ? "is NULL, the plan was made for one" : "is given, the plan was made for none");
    if (given && given->packed)
        return husk__reject(scope, argument, "is packed; only %s may be", plan->op->packed_argument);
    return given ? husk__plan_check_tensor(planned, given, argument, scope) : HUSK_OK;
}

husk_status husk__packed_begin(const husk_plan *plan, husk_queue *queue, const husk_tensor *planned, bool is_packed,
                               const husk_tensor *given, husk_packed *const *packed, const husk__scope *scope)
{
    const char *argument = plan->op->packed_argument;
    if (!packed)
        return husk__reject(scope, "packed", "is NULL");
    if (!given)
        return husk__reject(scope, argument, "is NULL");
    if (given->packed)
        return husk__reject(scope, argument, "is packed already");
    // A plan made for packed weights knows their shape, but no strides that the plain ones would have to have.
    husk_tensor expected = *planned;
    if (is_packed && given->rank == expected.rank) {
        husk_tensor resolved = *given;
        husk__tensor_resolve(&resolved);
        memcpy(expected.strides, resolved.strides, sizeof expected.strides);
    }
    const husk_status status = husk__plan_check_tensor(&expected, given, argument, scope);
    return status == HUSK_OK ? husk__tensor_bind(queue, given, argument, scope) : status;
}

// ---- what programs do with them ----

void husk_packed_retain(husk_packed *packed)
{
    if (packed)
        atomic_fetch_add(&packed->references, 1);
}

void husk_packed_release(husk_packed *packed)
{
    if (!packed || atomic_fetch_sub(&packed->references, 1) != 1)
        return;
    for (size_t i = 0; i < packed->part_count; ++i)
        husk_packed_release(packed->parts[i]);
    free(packed->parts);
    husk_buffer_release(packed->buffer);
    free(packed);
}

uint64_t husk_packed_size(const husk_packed *packed)
{
    uint64_t bytes = packed ? husk_buffer_size(packed->buffer) : 0;
    for (size_t i = 0; packed && i < packed->part_count; ++i)
        bytes += husk_packed_size(packed->parts[i]);
    return bytes;
}

husk_tensor husk_packed_tensor(const husk_packed *packed)
{
    husk_tensor tensor = {0};
    if (packed) {
        tensor = packed->logical;
        tensor.packed = packed;
    }
    return tensor;
}
