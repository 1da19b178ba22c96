// SPDX-License-Identifier: MIT
// Weights in the layout that a plan wants.
#include <stdio.h>
#include <stdlib.h>

#include "select/plan.h"

husk_status husk__packed_create(const husk_plan *plan, uint64_t bytes, const husk_tensor *logical, const husk__key *key,
                                husk_packed **packed, const husk__scope *scope)
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
    made->key = *key;
    snprintf(made->preference, sizeof made->preference, "%s:%s", plan->variant->name, plan->configuration->name);
    *packed = made;
    return HUSK_OK;
}

husk_status husk__packed_check(const husk_packed *packed, const husk_plan *plan, const husk__key *key,
                               const char *argument, const husk__scope *scope)
{
    if (!packed)
        return husk__reject(scope, argument, "is NULL");
    if (husk_buffer_context(packed->buffer) != plan->context)
        return husk__reject(scope, argument, "was packed on another context");
    if (packed->op != plan->op)
        return husk__reject(scope, argument, "was packed for %s, not for %s", packed->op->name, plan->op->name);
    if (packed->variant != plan->variant || packed->configuration != plan->configuration)
        return husk__reject(scope, argument, "was packed for variant %s, the plan uses %s:%s", packed->preference,
                            plan->variant->name, plan->configuration->name);
    if (!husk__key_equal(&packed->key, key))
        return husk__reject(scope, argument, "was packed for weights of another shape or other options");
    return HUSK_OK;
}

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
