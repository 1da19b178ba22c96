// SPDX-License-Identifier: MIT
// Maxima found anew for pooling's gradient: forward is run once more, into scratch memory.
#include <string.h>

#include "base/checked.h"
#include "base/tensor.h"
#include "ops/pool/backward_problem.h"

husk_tensor husk__pool_backward_saved(const husk_tensor *dy, bool is_channels_last, bool is_long)
{
    husk_tensor made = {.dtype = is_long ? HUSK_I64 : HUSK_I32, .rank = dy->rank};
    memcpy(made.shape, dy->shape, sizeof made.shape);
    husk__tensor_resolve(&made);
    if (!is_channels_last)
        return made;
    made.strides[1] = 1;
    int64_t step = dy->shape[1];
    for (int32_t d = dy->rank - 1; d >= 2; --d) {
        made.strides[d] = step;
        step *= dy->shape[d];
    }
    made.strides[0] = step;
    return made;
}

// Of indices, and behind them of forward's y, which nobody asked for.
uint64_t husk__pool_backward_workspace(const husk__candidate *candidate)
{
    const husk__pool_backward_problem *own = candidate->problem;
    const uint64_t index = own->pool.indices_are_long ? sizeof(int64_t) : sizeof(int32_t);
    const uint64_t outputs = (uint64_t)husk__pool_outputs(&own->pool), size = husk_dtype_size(own->pool.dtype);
    return own->recomputes ? (outputs * index + size - 1) / size * size + outputs * size : 0;
}

husk_status husk__pool_backward_indices(const husk_plan *plan, husk_queue *queue,
                                        const husk__pool_backward_arguments *given, const husk__scratch *scratch,
                                        husk_tensor *indices)
{
    const husk__pool_backward_problem *own = plan->problem;
    if (given->indices)
        *indices = *given->indices;
    if (!own->recomputes)
        return HUSK_OK;
    const bool is_channels_last = own->pool.channels > 1 && own->pool.indices_strides[1] == 1;
    const bool is_long = own->pool.indices_are_long;
    husk_pool_params params = *given->params;
    params.variant = NULL;
    *indices = husk__pool_backward_saved(given->dy, is_channels_last, is_long);
    indices->buffer = scratch->buffer;
    husk_tensor y = *indices;
    y.dtype = own->pool.dtype;
    const int64_t index = is_long ? sizeof(int64_t) : sizeof(int32_t);
    y.offset = husk__divide_up(husk__pool_outputs(&own->pool) * index, (int64_t)husk_dtype_size(y.dtype));
    return husk_pool(queue, &params, given->x, &y, indices);
}
