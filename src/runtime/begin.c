// SPDX-License-Identifier: MIT
#include "runtime/begin.h"

#include "runtime/fork.h"
#include "runtime/lost.h"
#include "runtime/queue_struct.h"

husk_status husk__call_begin(husk_queue *queue, const char *call, husk__scope *scope)
{
    *scope = (husk__scope){call, queue ? &queue->error : NULL};
    if (!queue)
        return HUSK_INVALID_ARGUMENT;
    const husk_status status = husk__refuse_forked(scope);
    if (status != HUSK_OK)
        return status;
    if (atomic_load_explicit(&queue->context->is_lost, memory_order_relaxed))
        return husk__context_lost(queue->context, scope, "");
    return HUSK_OK;
}

husk_status husk__context_call_begin(const husk_context *context, const char *call, husk_error *error,
                                     husk__scope *scope)
{
    *scope = (husk__scope){call, error};
    if (!context)
        return husk__reject(scope, "context", "is NULL");
    const husk_status status = husk__refuse_forked(scope);
    if (status != HUSK_OK)
        return status;
    if (atomic_load(&context->is_lost))
        return husk__context_lost((husk_context *)context, scope, "");
    return HUSK_OK;
}
