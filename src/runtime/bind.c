// SPDX-License-Identifier: MIT
#include "runtime/bind.h"

#include "base/tensor.h"
#include "runtime/queue_struct.h"

husk_status husk__tensor_bind(husk_queue *queue, const husk_tensor *tensor, const char *argument,
                              const husk__scope *scope)
{
    int64_t extent = husk_tensor_extent(tensor);
    const husk_buffer *buffer = tensor->buffer;
    if (buffer && !husk__buffer_is_live(buffer))
        return husk__reject(scope, argument, "its buffer was released");
    if (buffer && buffer->context != queue->context) // a kernel's argument, even where nothing of it is read
        return husk__reject(scope, argument, "its buffer belongs to another context than the queue");
    if (extent == 0)
        return HUSK_OK;
    if (!buffer)
        return husk__reject(scope, argument, "buffer is NULL");
    uint64_t size = husk_dtype_size(tensor->dtype);
    if (buffer->offset % size)
        return husk__reject(scope, argument, "its buffer is a view at byte %llu, not a multiple of the element's %llu",
                            (unsigned long long)buffer->offset, (unsigned long long)size);
    uint64_t capacity = buffer->bytes / size, elements = (uint64_t)extent / size;
    if ((uint64_t)tensor->offset > capacity || elements > capacity - (uint64_t)tensor->offset)
        return husk__reject(scope, argument, "reaches element %llu of its buffer, which holds %llu",
                            (unsigned long long)tensor->offset + elements, (unsigned long long)capacity);
    return HUSK_OK;
}

husk_status husk__tensor_bind_given(husk_queue *queue, const husk_tensor *tensor, const char *argument,
                                    const husk__scope *scope)
{
    return tensor ? husk__tensor_bind(queue, tensor, argument, scope) : HUSK_OK;
}

// Bytes [first, past) that a tensor may touch in its block's memory.
static bool touched(const husk_tensor *tensor, uint64_t *first, uint64_t *past)
{
    int64_t extent = husk_tensor_extent(tensor);
    if (extent <= 0 || !tensor->buffer || !tensor->buffer->block)
        return false;
    const husk_buffer *buffer = tensor->buffer;
    *first = buffer->block->root_offset + buffer->offset + (uint64_t)tensor->offset * husk_dtype_size(tensor->dtype);
    *past = *first + (uint64_t)extent;
    return true;
}

static bool overlap(const husk_tensor *a, const husk_tensor *b)
{
    uint64_t a_first, a_past, b_first, b_past;
    if (!a || !b || a->packed || b->packed || !a->buffer || !b->buffer ||
        !husk__blocks_meet(a->buffer->block, b->buffer->block))
        return false;
    return touched(a, &a_first, &a_past) && touched(b, &b_first, &b_past) && a_first < b_past && b_first < a_past;
}

husk_status husk__refuse_overlap(const husk_tensor *output, const char *output_name, const husk_tensor *other,
                                 const char *other_name, const husk__scope *scope)
{
    if (overlap(output, other))
        return husk__reject(scope, output_name, "overlaps %s", other_name);
    return HUSK_OK;
}

static bool same_view(const husk_tensor *a, const husk_tensor *b)
{
    husk_tensor x = *a, y = *b;
    if (x.rank != y.rank || x.dtype != y.dtype)
        return false;
    husk__tensor_resolve(&x);
    husk__tensor_resolve(&y);
    uint64_t x_first, x_past, y_first, y_past;
    if (!touched(&x, &x_first, &x_past) || !touched(&y, &y_first, &y_past) || x_first != y_first)
        return false;
    for (int32_t d = 0; d < x.rank; ++d)
        if (x.shape[d] != y.shape[d] || (x.shape[d] > 1 && x.strides[d] != y.strides[d]))
            return false;
    return true;
}

husk_status husk__refuse_partial_overlap(const husk_tensor *output, const char *output_name, const husk_tensor *other,
                                         const char *other_name, const husk__scope *scope)
{
    if (overlap(output, other) && !same_view(output, other))
        return husk__reject(scope, output_name, "overlaps %s without being the same view", other_name);
    return HUSK_OK;
}
