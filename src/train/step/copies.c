// SPDX-License-Identifier: MIT
#include "train/step/copies.h"

#include "train/step/calls.h"

husk_tensor husk__flat(const husk_graph *graph, husk_buffer *buffer, husk_dtype dtype, uint64_t bytes)
{
    int64_t count = (int64_t)(bytes / husk_dtype_size(husk__wide_dtype(graph)));
    return husk_tensor_make(buffer, dtype, 1, &count);
}

husk_status husk__refresh_copies(husk_graph *graph, const husk__train_scope *scope)
{
    husk__compiled *own = graph->compiled;
    if (!own->copies_are_old || own->copied_bytes == 0)
        return HUSK_OK;
    const husk_tensor from =
        husk__flat(graph, own->regions[HUSK__REGION_PARAMETERS], husk__wide_dtype(graph), own->copied_bytes);
    const husk_tensor to = husk__flat(graph, own->regions[HUSK__REGION_COPIES], graph->dtype, own->copied_bytes);
    husk_status status = husk__queue_failed(graph, husk_copy(graph->queue, NULL, &from, &to), scope);
    own->copies_are_old = status != HUSK_OK;
    return status;
}
