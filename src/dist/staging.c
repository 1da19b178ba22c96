// SPDX-License-Identifier: MIT
#include "dist/staging.h"

husk_status husk__dist_staging(husk_context *context, husk_queue *queue, uint64_t bytes, husk_buffer **buffer,
                               void **host, const husk__dist_scope *scope)
{
    husk_error error;
    husk_status status = husk_buffer_create(context, bytes, buffer, &error);
    if (status)
        return husk__dist_pass(scope, status, &error);
    status = husk_buffer_map(queue, *buffer, HUSK_MAP_READ | HUSK_MAP_WRITE, 0, bytes, host);
    return status ? husk__dist_pass(scope, status, husk_queue_error(queue)) : HUSK_OK;
}
