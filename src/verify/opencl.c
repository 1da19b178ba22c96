// SPDX-License-Identifier: MIT
// Guarded buffers on a program's own OpenCL objects.
#include <husk/verify_opencl.h>

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/guard_pattern.h"
#include "base/opencl_name.h"

struct husk_verify_buffer {
    cl_command_queue queue;
    cl_mem block; // the bands and, between them, the buffer
    cl_mem mem;   // the buffer
    husk__guarded guarded;
    unsigned char *band; // room for one band
};

static husk_status failed(const husk__scope *scope, const char *call, cl_int code)
{
    husk_status status = HUSK_OPENCL;
    if (code == CL_MEM_OBJECT_ALLOCATION_FAILURE)
        status = HUSK_OUT_OF_MEMORY;
    else if (code == CL_OUT_OF_HOST_MEMORY)
        status = HUSK_OUT_OF_HOST_MEMORY;
    return husk__fail_opencl(scope, status, code, "%s answered %s (%d)", call, husk__opencl_name(code), (int)code);
}

uint64_t husk_verify_buffer_size(const husk_verify_buffer *buffer)
{
    return buffer ? buffer->guarded.bytes - 2 * buffer->guarded.band : 0;
}

cl_mem husk_verify_buffer_mem(const husk_verify_buffer *buffer)
{
    return buffer ? buffer->mem : NULL;
}

// Where sub-buffers may begin, in bytes; the device says it in bits.
static husk_status find_band(cl_device_id device, uint64_t *band, const husk__scope *scope)
{
    cl_uint bits = 0;
    const cl_int code = clGetDeviceInfo(device, CL_DEVICE_MEM_BASE_ADDR_ALIGN, sizeof bits, &bits, NULL);
    if (code != CL_SUCCESS)
        return failed(scope, "clGetDeviceInfo", code);
    const uint64_t alignment = bits >= 8 ? bits / 8 : 1;
    *band = (HUSK_GUARD_BYTES + alignment - 1) / alignment * alignment;
    return HUSK_OK;
}

static husk_status allocate(husk_verify_buffer *buffer, cl_context context, uint64_t bytes, const husk__scope *scope)
{
    cl_int code = CL_SUCCESS;
    const cl_buffer_region region = {(size_t)buffer->guarded.band, (size_t)bytes};
    buffer->band = malloc((size_t)buffer->guarded.band);
    if (!buffer->band)
        return husk__fail(scope, HUSK_OUT_OF_HOST_MEMORY, "no host memory for a guard band");
    buffer->block = clCreateBuffer(context, CL_MEM_READ_WRITE, (size_t)buffer->guarded.bytes, NULL, &code);
    if (!buffer->block)
        return failed(scope, "clCreateBuffer", code);
    buffer->mem = clCreateSubBuffer(buffer->block, CL_MEM_READ_WRITE, CL_BUFFER_CREATE_TYPE_REGION, &region, &code);
    return buffer->mem ? HUSK_OK : failed(scope, "clCreateSubBuffer", code);
}

static husk_status finish(const husk_verify_buffer *buffer, const husk__scope *scope)
{
    const cl_int code = clFinish(buffer->queue);
    return code == CL_SUCCESS ? HUSK_OK : failed(scope, "clFinish", code);
}

static husk_status write_band(husk_verify_buffer *buffer, bool is_behind, const husk__scope *scope)
{
    husk__guard_fill(&buffer->guarded, is_behind, buffer->band);
    const size_t begin = (size_t)husk__guard_begin(&buffer->guarded, is_behind);
    const cl_int code = clEnqueueWriteBuffer(buffer->queue, buffer->block, CL_TRUE, begin, (size_t)buffer->guarded.band,
                                             buffer->band, 0, NULL, NULL);
    return code == CL_SUCCESS ? HUSK_OK : failed(scope, "a guard band: clEnqueueWriteBuffer", code);
}

static husk_status lay(husk_verify_buffer *buffer, const husk__scope *scope)
{
    static const unsigned char unwritten = HUSK__GUARD_UNWRITTEN;
    husk_status status = write_band(buffer, false, scope);
    if (status == HUSK_OK)
        status = write_band(buffer, true, scope);
    if (status != HUSK_OK)
        return status;
    const cl_int code = clEnqueueFillBuffer(buffer->queue, buffer->block, &unwritten, 1, (size_t)buffer->guarded.band,
                                            (size_t)husk_verify_buffer_size(buffer), 0, NULL, NULL);
    return code == CL_SUCCESS ? finish(buffer, scope) : failed(scope, "clEnqueueFillBuffer", code);
}

static husk_status make(cl_command_queue queue, uint64_t bytes, husk_verify_buffer *made, const husk__scope *scope)
{
    cl_context context = NULL;
    cl_device_id device = NULL;
    cl_int code = clGetCommandQueueInfo(queue, CL_QUEUE_CONTEXT, sizeof context, &context, NULL);
    if (code == CL_SUCCESS)
        code = clGetCommandQueueInfo(queue, CL_QUEUE_DEVICE, sizeof device, &device, NULL);
    if (code != CL_SUCCESS)
        return failed(scope, "clGetCommandQueueInfo", code);
    husk_status status = find_band(device, &made->guarded.band, scope);
    if (status != HUSK_OK)
        return status;
    if (bytes > SIZE_MAX - 2 * made->guarded.band)
        return husk__reject(scope, "bytes", "is %llu, which no memory holds between bands", (unsigned long long)bytes);
    made->guarded.bytes = bytes + 2 * made->guarded.band;
    made->guarded.serial = (uintptr_t)made >> 4; // no two that are alive have the same
    code = clRetainCommandQueue(queue);
    if (code != CL_SUCCESS)
        return failed(scope, "clRetainCommandQueue", code);
    made->queue = queue;
    status = allocate(made, context, bytes, scope);
    return status == HUSK_OK ? lay(made, scope) : status;
}

husk_status husk_verify_buffer_create(cl_command_queue queue, uint64_t bytes, husk_verify_buffer **buffer,
                                      husk_error *error)
{
    const husk__scope scope = {"husk_verify_buffer_create", error};
    if (!buffer)
        return husk__reject(&scope, "buffer", "is NULL");
    *buffer = NULL;
    if (!queue)
        return husk__reject(&scope, "queue", "is NULL");
    if (bytes == 0)
        return husk__reject(&scope, "bytes", "is 0, must be at least 1");
    husk_verify_buffer *made = calloc(1, sizeof *made);
    if (!made)
        return husk__fail(&scope, HUSK_OUT_OF_HOST_MEMORY, "no host memory for a buffer");
    const husk_status status = make(queue, bytes, made, &scope);
    if (status == HUSK_OK)
        *buffer = made;
    else
        husk_verify_buffer_release(made);
    return status;
}

void husk_verify_buffer_release(husk_verify_buffer *buffer)
{
    if (!buffer)
        return;
    if (buffer->mem)
        clReleaseMemObject(buffer->mem);
    if (buffer->block)
        clReleaseMemObject(buffer->block);
    if (buffer->queue)
        clReleaseCommandQueue(buffer->queue);
    free(buffer->band);
    free(buffer);
}

static husk_status check_transfer(const husk_verify_buffer *buffer, uint64_t offset, uint64_t bytes, const void *host,
                                  const husk__scope *scope)
{
    if (!buffer)
        return husk__reject(scope, "buffer", "is NULL");
    const uint64_t size = husk_verify_buffer_size(buffer);
    if (offset > size || bytes > size - offset)
        return husk__reject(scope, offset > size ? "offset" : "bytes", "%llu from %llu on: the buffer has %llu bytes",
                            (unsigned long long)bytes, (unsigned long long)offset, (unsigned long long)size);
    if (!host && bytes > 0)
        return husk__reject(scope, "host", "is NULL");
    return HUSK_OK;
}

husk_status husk_verify_buffer_write(husk_verify_buffer *buffer, uint64_t offset, uint64_t bytes, const void *host,
                                     husk_error *error)
{
    const husk__scope scope = {"husk_verify_buffer_write", error};
    husk_status status = check_transfer(buffer, offset, bytes, host, &scope);
    if (status != HUSK_OK || bytes == 0)
        return status;
    status = finish(buffer, &scope); // a queue may be out of order
    if (status != HUSK_OK)
        return status;
    const cl_int code =
        clEnqueueWriteBuffer(buffer->queue, buffer->mem, CL_TRUE, (size_t)offset, (size_t)bytes, host, 0, NULL, NULL);
    return code == CL_SUCCESS ? finish(buffer, &scope) : failed(&scope, "clEnqueueWriteBuffer", code);
}

husk_status husk_verify_buffer_read(husk_verify_buffer *buffer, uint64_t offset, uint64_t bytes, void *host,
                                    husk_error *error)
{
    const husk__scope scope = {"husk_verify_buffer_read", error};
    husk_status status = check_transfer(buffer, offset, bytes, host, &scope);
    if (status != HUSK_OK || bytes == 0)
        return status;
    status = finish(buffer, &scope);
    if (status != HUSK_OK)
        return status;
    const cl_int code =
        clEnqueueReadBuffer(buffer->queue, buffer->mem, CL_TRUE, (size_t)offset, (size_t)bytes, host, 0, NULL, NULL);
    return code == CL_SUCCESS ? HUSK_OK : failed(&scope, "clEnqueueReadBuffer", code);
}

// One that was written is made good, so that it is told once.
static husk_status look(husk_verify_buffer *buffer, bool is_behind, husk__guard_touch *found, const husk__scope *scope)
{
    const size_t begin = (size_t)husk__guard_begin(&buffer->guarded, is_behind);
    const cl_int code = clEnqueueReadBuffer(buffer->queue, buffer->block, CL_TRUE, begin, (size_t)buffer->guarded.band,
                                            buffer->band, 0, NULL, NULL);
    if (code != CL_SUCCESS)
        return failed(scope, "a guard band: clEnqueueReadBuffer", code);
    *found = husk__guard_compare(&buffer->guarded, is_behind, buffer->band);
    return found->is_touched ? write_band(buffer, is_behind, scope) : HUSK_OK;
}

husk_status husk_verify_buffer_check(husk_verify_buffer *buffer, husk_error *error)
{
    const husk__scope scope = {"husk_verify_buffer_check", error};
    husk__guard_touch found[2] = {{0}, {0}};
    char text[HUSK__GUARD_TEXT];
    if (!buffer)
        return husk__reject(&scope, "buffer", "is NULL");
    husk_status status = finish(buffer, &scope);
    for (int i = 0; i < 2 && status == HUSK_OK; ++i)
        status = look(buffer, i == 1, &found[i], &scope);
    if (found[0].is_touched || found[1].is_touched) { // whatever failed behind it
        husk__guard_describe(found, text);
        return husk__fail(&scope, HUSK_INTERNAL, "memory outside a buffer of %llu bytes was written: %s",
                          (unsigned long long)husk_verify_buffer_size(buffer), text);
    }
    return status == HUSK_OK ? finish(buffer, &scope) : status;
}
