// SPDX-License-Identifier: MIT
// Guard bands around memory, for who asks for them.
#include <husk/guard.h>

#include "runtime/begin.h"
#include "runtime/context_struct.h"
#include "runtime/guard_bands.h"
#include "runtime/memory.h"

static const uint64_t MOST_GUARD_BYTES = UINT64_C(1) << 30;

husk_status husk_context_set_guards(husk_context *context, uint64_t bytes, husk_error *error)
{
    husk__scope scope;
    const husk_status status = husk__context_call_begin(context, "husk_context_set_guards", error, &scope);
    if (status != HUSK_OK)
        return status;
    if (bytes > MOST_GUARD_BYTES)
        return husk__reject(&scope, "bytes", "is %llu, must be at most %llu", (unsigned long long)bytes,
                            (unsigned long long)MOST_GUARD_BYTES);
    atomic_store(&context->guards.band, (bytes + HUSK_GUARD_BYTES - 1) / HUSK_GUARD_BYTES * HUSK_GUARD_BYTES);
    return HUSK_OK;
}

enum { TOGETHER = 32 };

// Where something is found, or could not be read, the block is looked at by itself: that tells it and makes it good.
static void look_at_all(husk_context *context)
{
    uint64_t serial = UINT64_MAX;
    for (int count = TOGETHER; count == TOGETHER;) {
        husk__block *blocks[TOGETHER];
        bool is_intact[TOGETHER] = {false};
        count = 0;
        while (count < TOGETHER && (blocks[count] = husk__pool_share_guarded(&context->pool, serial)))
            serial = blocks[count++]->serial;
        husk__guards_look_together(context, blocks, count, is_intact);
        for (int i = 0; i < count; ++i) {
            if (!is_intact[i])
                husk__guards_look_and_keep(context, blocks[i]);
            husk__block_release(context, blocks[i]);
        }
    }
}

husk_status husk_context_check_guards(husk_context *context, husk_error *error)
{
    husk__scope scope;
    const husk_status status = husk__context_call_begin(context, "husk_context_check_guards", error, &scope);
    if (status != HUSK_OK)
        return status;
    look_at_all(context);
    return husk__guards_take(&context->guards, error);
}

husk_status husk_buffer_check_guards(husk_buffer *buffer, husk_error *error)
{
    husk__scope scope = {"husk_buffer_check_guards", error};
    if (!buffer)
        return husk__reject(&scope, "buffer", "is NULL");
    if (!husk__buffer_is_live(buffer))
        return husk__reject(&scope, "buffer", "was released");
    const husk_status status = husk__context_call_begin(buffer->context, "husk_buffer_check_guards", error, &scope);
    if (status != HUSK_OK || !buffer->block || buffer->block->band == 0)
        return status;
    return husk__guards_look(buffer->context, buffer->block, &scope);
}
