// SPDX-License-Identifier: MIT
// Buffers and views of them.

#include <husk/opencl.h>

#include "runtime/begin.h"
#include "runtime/context_struct.h"
#include "runtime/fork.h"
#include "runtime/lost.h"
#include "runtime/memory.h"

static husk_status make_buffer(husk_context *context, husk__block *block, uint64_t offset, uint64_t bytes,
                               husk_buffer **buffer, const husk__scope *scope)
{
    *buffer = husk__released_take(&context->released);
    if (!*buffer)
        return husk__fail(scope, HUSK_OUT_OF_HOST_MEMORY, "no host memory for a buffer");
    atomic_store(&(*buffer)->references, 1);
    husk_context_retain(context);
    (*buffer)->context = context;
    (*buffer)->block = block;
    (*buffer)->offset = offset;
    (*buffer)->bytes = bytes;
    return HUSK_OK;
}

husk_status husk_buffer_create(husk_context *context, uint64_t bytes, husk_buffer **buffer, husk_error *error)
{
    husk__scope scope;
    husk_status status = husk__context_call_begin(context, "husk_buffer_create", error, &scope);
    if (status != HUSK_OK)
        return status;
    if (!buffer)
        return husk__reject(&scope, "buffer", "is NULL");
    *buffer = NULL;
    husk__block *block = NULL;
    if (bytes > 0)
        status = husk__block_take(context, bytes, &block, &scope);
    if (status == HUSK_OK)
        status = make_buffer(context, block, block ? block->band : 0, bytes, buffer, &scope);
    if (status != HUSK_OK)
        husk__block_release(context, block);
    return status;
}

husk_status husk_buffer_view(husk_buffer *buffer, uint64_t offset, uint64_t bytes, husk_buffer **view,
                             husk_error *error)
{
    husk__scope scope = {"husk_buffer_view", error};
    if (!buffer)
        return husk__reject(&scope, "buffer", "is NULL");
    if (!view)
        return husk__reject(&scope, "view", "is NULL");
    *view = NULL;
    if (!husk__buffer_is_live(buffer))
        return husk__reject(&scope, "buffer", "was released");
    if (offset > buffer->bytes || bytes > buffer->bytes - offset)
        return husk__reject(&scope, "bytes", "the view [%llu, +%llu) passes the buffer's end at %llu",
                            (unsigned long long)offset, (unsigned long long)bytes, (unsigned long long)buffer->bytes);
    husk_status status = make_buffer(buffer->context, buffer->block, buffer->offset + offset, bytes, view, &scope);
    if (status == HUSK_OK && buffer->block)
        atomic_fetch_add(&buffer->block->references, 1);
    return status;
}

husk_status husk_buffer_from_opencl(husk_context *context, cl_mem mem, husk_buffer **buffer, husk_error *error)
{
    husk__scope scope;
    husk_status status = husk__context_call_begin(context, "husk_buffer_from_opencl", error, &scope);
    if (status != HUSK_OK)
        return status;
    if (!buffer)
        return husk__reject(&scope, "buffer", "is NULL");
    *buffer = NULL;
    if (!mem)
        return husk__reject(&scope, "mem", "is NULL");
    size_t bytes = 0;
    cl_context owner = NULL;
    cl_mem_object_type type = 0;
    cl_int code = clGetMemObjectInfo(mem, CL_MEM_SIZE, sizeof bytes, &bytes, NULL);
    if (code == CL_SUCCESS)
        code = clGetMemObjectInfo(mem, CL_MEM_CONTEXT, sizeof owner, &owner, NULL);
    if (code == CL_SUCCESS)
        code = clGetMemObjectInfo(mem, CL_MEM_TYPE, sizeof type, &type, NULL);
    if (code != CL_SUCCESS)
        return husk__opencl_failed(context, &scope, "clGetMemObjectInfo", code);
    if (owner != context->cl)
        return husk__reject(&scope, "mem", "belongs to another cl_context");
    if (type != CL_MEM_OBJECT_BUFFER)
        return husk__reject(&scope, "mem", "is an image or pipe, must be a buffer");
    husk__block *block;
    uint64_t begin;
    status = husk__block_wrap(context, mem, bytes, &block, &begin, &scope);
    if (status != HUSK_OK)
        return status;
    status = make_buffer(context, block, begin, bytes, buffer, &scope);
    if (status != HUSK_OK)
        husk__block_release(context, block);
    return status;
}

void husk_buffer_retain(husk_buffer *buffer)
{
    if (buffer)
        atomic_fetch_add(&buffer->references, 1);
}

void husk_buffer_release(husk_buffer *buffer)
{
    if (!buffer || atomic_fetch_sub(&buffer->references, 1) != 1 || husk__is_forked())
        return;
    husk_context *context = buffer->context;
    husk__block_release(context, buffer->block);
    buffer->block = NULL;
    husk__released_keep(&context->released, buffer);
    husk_context_release(context); // with what it has kept, where this was the last
}

uint64_t husk_buffer_size(const husk_buffer *buffer)
{
    return buffer ? buffer->bytes : 0;
}

husk_context *husk_buffer_context(const husk_buffer *buffer)
{
    return buffer ? buffer->context : NULL;
}

cl_mem husk_buffer_opencl(const husk_buffer *buffer)
{
    return buffer && buffer->block ? buffer->block->mem : NULL;
}

uint64_t husk_buffer_opencl_offset(const husk_buffer *buffer)
{
    return buffer ? buffer->offset : 0;
}
