// SPDX-License-Identifier: MIT
// Arguments and launches.
#include <stdlib.h>
#include <string.h>

#include "runtime/internal.h"

husk__arg husk__arg_tensor(const husk_tensor *tensor)
{
    husk__arg argument = {.tag = HUSK__TAG_BUFFER, .element_size = 1};
    if (tensor && tensor->buffer) {
        argument.buffer = tensor->buffer;
        argument.element_size = (uint32_t)husk_dtype_size(tensor->dtype);
        argument.value.i64 = tensor->offset;
    }
    return argument;
}

husk__arg husk__arg_buffer(const husk_buffer *buffer, uint64_t byte_offset, uint32_t element_size)
{
    return (husk__arg){.tag = HUSK__TAG_BUFFER,
                       .element_size = element_size,
                       .buffer = buffer,
                       .value.i64 = (int64_t)(byte_offset / element_size)};
}

husk__arg husk__arg_acc(husk_dtype dtype, double number)
{
    if (dtype == HUSK_F64)
        return (husk__arg){.tag = HUSK__TAG_F64, .value.f64 = number};
    return HUSK__ARG_F32(number);
}

bool husk__needs_index_64(const husk_context *context, int64_t reach)
{
    return reach > context->device->index_limit;
}

static bool grow_kernels(husk_queue *queue, uint32_t id)
{
    size_t capacity = queue->kernel_capacity ? queue->kernel_capacity : 64;
    while (capacity <= id)
        capacity *= 2;
    cl_kernel *kernels = realloc(queue->kernels, capacity * sizeof *kernels);
    if (!kernels)
        return false;
    memset(kernels + queue->kernel_capacity, 0, (capacity - queue->kernel_capacity) * sizeof *kernels);
    queue->kernels = kernels;
    queue->kernel_capacity = capacity;
    return true;
}

husk_status husk__queue_kernel(husk_queue *queue, const husk__kernel *kernel, cl_kernel *cl,
                               const husk__scope *scope)
{
    if (kernel->id >= queue->kernel_capacity && !grow_kernels(queue, kernel->id))
        return husk__fail(scope, HUSK_OUT_OF_HOST_MEMORY, "no host memory for kernel %s", kernel->name);
    *cl = queue->kernels[kernel->id];
    if (*cl)
        return HUSK_OK;
    cl_int code;
    *cl = clCreateKernel(kernel->program->cl, kernel->name, &code);
    if (!*cl)
        return husk__opencl_failed(queue->context, scope, "clCreateKernel", code);
    queue->kernels[kernel->id] = *cl;
    return HUSK_OK;
}

static cl_int set_buffer(cl_kernel cl, cl_uint *index, const husk__arg *argument)
{
    const husk_buffer *buffer = argument->buffer;
    cl_mem mem = buffer && buffer->block ? buffer->block->mem : NULL;
    cl_long offset = 0;
    if (buffer)
        offset = argument->value.i64 + (cl_long)(buffer->offset / argument->element_size);
    cl_int code = clSetKernelArg(cl, (*index)++, sizeof mem, mem ? &mem : NULL);
    return code == CL_SUCCESS ? clSetKernelArg(cl, (*index)++, sizeof offset, &offset) : code;
}

static cl_int set_shares(cl_kernel cl, cl_uint index, husk_queue *queue)
{
    cl_int code;
    const cl_mem mem = husk__queue_shares(queue, &code);
    return mem ? clSetKernelArg(cl, index, sizeof mem, &mem) : code;
}

static cl_int set_arguments(husk_queue *queue, cl_kernel cl, const husk__arg *arguments, size_t count,
                            cl_uint *index)
{
    *index = 0;
    cl_int code = CL_SUCCESS;
    for (size_t i = 0; i < count && code == CL_SUCCESS; ++i) {
        const husk__arg *argument = &arguments[i];
        switch (argument->tag) {
        case HUSK__TAG_BUFFER:
            code = set_buffer(cl, index, argument);
            break;
        case HUSK__TAG_I32:
            code = clSetKernelArg(cl, (*index)++, sizeof argument->value.i32, &argument->value.i32);
            break;
        case HUSK__TAG_I64:
            code = clSetKernelArg(cl, (*index)++, sizeof argument->value.i64, &argument->value.i64);
            break;
        case HUSK__TAG_I64X8:
            code = clSetKernelArg(cl, (*index)++, 8 * sizeof *argument->value.i64x8, argument->value.i64x8);
            break;
        case HUSK__TAG_F32:
            code = clSetKernelArg(cl, (*index)++, sizeof argument->value.f32, &argument->value.f32);
            break;
        case HUSK__TAG_F64:
            code = clSetKernelArg(cl, (*index)++, sizeof argument->value.f64, &argument->value.f64);
            break;
        case HUSK__TAG_LOCAL:
            code = clSetKernelArg(cl, (*index)++, argument->value.bytes, NULL);
            break;
        case HUSK__TAG_SHARES:
            code = set_shares(cl, (*index)++, queue);
            break;
        }
    }
    return code;
}

static husk_status check_range(const husk_queue *queue, const husk__kernel *kernel, const husk__range *range,
                               size_t global[3], const husk__scope *scope)
{
    size_t items = 1;
    for (int d = 0; d < 3; ++d) {
        items *= range->items[d];
        if (kernel->has_required_work_group && range->items[d] != kernel->work_group[d])
            return husk__fail(scope, HUSK_INTERNAL,
                              "kernel %s: %zu work-items in dimension %d, it is built for %zu", kernel->name,
                              range->items[d], d, kernel->work_group[d]);
        if (range->items[d] > queue->context->device->traits.work_item_sizes[d])
            return husk__fail(scope, HUSK_UNSUPPORTED,
                              "kernel %s: %zu work-items in dimension %d, the device allows %llu",
                              kernel->name, range->items[d], d,
                              (unsigned long long)queue->context->device->traits.work_item_sizes[d]);
        if (__builtin_mul_overflow(range->groups[d], range->items[d], &global[d]))
            return husk__fail(scope, HUSK_UNSUPPORTED, "kernel %s: the number of work-items overflows",
                              kernel->name);
    }
    if (items > kernel->max_work_items)
        return husk__fail(scope, HUSK_UNSUPPORTED,
                          "kernel %s: %zu work-items a group, this device allows it %zu", kernel->name, items,
                          kernel->max_work_items);
    return HUSK_OK;
}

static void note_uses(husk_queue *queue, const husk__arg *arguments, size_t count)
{
    const uint64_t number = husk__clock_tick(queue->clock);
    husk__block *last = NULL; // parts of one buffer, scratch memory's most of all, often follow each other
    for (size_t i = 0; i < count; ++i) {
        husk__block *block =
            arguments[i].tag == HUSK__TAG_BUFFER && arguments[i].buffer ? arguments[i].buffer->block : NULL;
        if (block && block != last)
            husk__block_used(block, queue->clock, number);
        last = block ? block : last;
    }
}

// Out of resources at the launch is this kernel's fault unless the device is gone altogether.
static husk_status launch_failed(husk_queue *queue, const husk__kernel *kernel, cl_int code,
                                 const husk__scope *scope)
{
    husk_status status = husk__opencl_failed(queue->context, scope, "clEnqueueNDRangeKernel", code);
    if (status == HUSK_DEVICE_LOST)
        return status;
    if (code == CL_OUT_OF_RESOURCES || code == CL_INVALID_WORK_GROUP_SIZE ||
        code == CL_INVALID_WORK_ITEM_SIZE)
        return husk__fail_opencl(scope, HUSK_UNSUPPORTED, code,
                                 "kernel %s: the device refuses the launch with %s", kernel->name,
                                 husk__opencl_name(code));
    return husk__fail_opencl(scope, status, code, "kernel %s: clEnqueueNDRangeKernel answered %s",
                             kernel->name, husk__opencl_name(code));
}

husk_status husk__launch(husk_queue *queue, const husk__kernel *kernel, const husk__range *range,
                         const husk__arg *arguments, size_t count, const husk__scope *scope)
{
    if (range->groups[0] == 0 || range->groups[1] == 0 || range->groups[2] == 0)
        return HUSK_OK;
    size_t global[3];
    cl_kernel cl;
    husk_status status = check_range(queue, kernel, range, global, scope);
    if (status == HUSK_OK)
        status = husk__queue_kernel(queue, kernel, &cl, scope);
    if (status != HUSK_OK)
        return status;
    cl_uint index;
    cl_int code = set_arguments(queue, cl, arguments, count, &index);
    if (code == CL_MEM_OBJECT_ALLOCATION_FAILURE) // of HUSK__ARG_SHARES
        return husk__opencl_failed(queue->context, scope, "clCreateBuffer", code);
    if (code != CL_SUCCESS)
        return husk__fail_opencl(scope, HUSK_INTERNAL, code, "kernel %s: argument %u is refused with %s",
                                 kernel->name, (unsigned)index - 1, husk__opencl_name(code));
    cl_event event = NULL;
    code = clEnqueueNDRangeKernel(queue->cl, cl, 3, NULL, global, range->items, 0, NULL,
                                  husk__profile_event(queue, &event));
    if (code != CL_SUCCESS)
        return launch_failed(queue, kernel, code, scope);
    note_uses(queue, arguments, count);
    husk__profile_keep(queue, kernel->name, event);
    return HUSK_OK;
}

void husk__launch_note_foreign(husk_queue *queue, const husk_buffer *const *buffers, size_t count)
{
    uint64_t number = husk__clock_tick(queue->clock);
    for (size_t i = 0; i < count; ++i)
        if (buffers[i] && buffers[i]->block)
            husk__block_used(buffers[i]->block, queue->clock, number);
}
