// SPDX-License-Identifier: MIT
#include "runtime/scratch.h"

#include "runtime/queue_struct.h"

// Between guard bands every call has memory of exactly its size, which nothing has written.
static bool serves(const husk_queue *queue, const husk_buffer *kept, uint64_t bytes)
{
    const bool is_guarded = kept && kept->block->band > 0;
    return bytes <= husk_buffer_size(kept) && !is_guarded && atomic_load(&queue->context->guards.band) == 0;
}

husk_status husk__scratch_begin(husk_queue *queue, uint64_t bytes, husk__scratch *scratch, const husk__scope *scope)
{
    scratch->buffer = NULL;
    if (queue->scratch_level >= HUSK__SCRATCH_LEVELS)
        return husk__fail(scope, HUSK_INTERNAL, "scratch memory is nested too deeply");
    // Each level's buffer stays with the queue until a larger one is asked for; the commands that still use the
    // old one are noted at its block, so the pool does not hand it out too early.
    husk_buffer **kept = &queue->scratch[queue->scratch_level];
    if (bytes > 0 && !serves(queue, *kept, bytes)) {
        husk_buffer *grown;
        husk_buffer_release(*kept);
        *kept = NULL;
        husk_error error = {0};
        husk_status status = husk_buffer_create(queue->context, bytes, &grown, &error);
        if (status != HUSK_OK)
            return husk__fail_opencl(scope, status, error.opencl_code, "workspace of %llu bytes: %s",
                                     (unsigned long long)bytes, error.text);
        *kept = grown;
    }
    ++queue->scratch_level;
    scratch->buffer = bytes > 0 ? *kept : NULL;
    return HUSK_OK;
}

void husk__scratch_end(husk_queue *queue, husk__scratch *scratch)
{
    --queue->scratch_level;
    scratch->buffer = NULL;
}
