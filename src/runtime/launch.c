// SPDX-License-Identifier: MIT
// Launches. Arguments are set in kernel_object.c.
#include "runtime/launch.h"

#include "runtime/kernel_object.h"
#include "runtime/lost.h"
#include "runtime/opencl_error.h"
#include "runtime/profile.h"
#include "runtime/queue_struct.h"

bool husk__needs_index_64(const husk_context *context, int64_t reach)
{
    return reach > context->device->index_limit;
}

int64_t husk__most_items(const husk_context *context)
{
    return context->device->launch_limit;
}

const size_t *husk__kernel_work_group(const husk__kernel *kernel)
{
    return kernel->work_group;
}

static husk_status check_range(const husk_queue *queue, const husk__kernel *kernel, const husk__range *range,
                               size_t global[3], const husk__scope *scope)
{
    size_t items = 1;
    for (int d = 0; d < 3; ++d) {
        items *= range->items[d];
        if (kernel->has_required_work_group && range->items[d] != kernel->work_group[d])
            return husk__fail(scope, HUSK_INTERNAL, "kernel %s: %zu work-items in dimension %d, it is built for %zu",
                              kernel->name, range->items[d], d, kernel->work_group[d]);
        if (range->items[d] > queue->context->device->traits.work_item_sizes[d])
            return husk__fail(scope, HUSK_UNSUPPORTED,
                              "kernel %s: %zu work-items in dimension %d, the device allows %llu", kernel->name,
                              range->items[d], d,
                              (unsigned long long)queue->context->device->traits.work_item_sizes[d]);
        if (__builtin_mul_overflow(range->groups[d], range->items[d], &global[d]))
            return husk__fail(scope, HUSK_UNSUPPORTED, "kernel %s: the number of work-items overflows", kernel->name);
    }
    if (items > kernel->max_work_items)
        return husk__fail(scope, HUSK_UNSUPPORTED, "kernel %s: %zu work-items a group, this device allows it %zu",
                          kernel->name, items, kernel->max_work_items);
    return HUSK_OK;
}

// Who is asked about a guard band that was written.
static void note_kernel(husk__block *block, const char *name)
{
    if (block->band > 0)
        atomic_store(&block->last_kernel, name);
}

// Parts of one buffer, scratch memory's most of all, are often several arguments: a block is noted once as a rule.
static void note_uses(husk_queue *queue, const husk__kernel *kernel, const husk__arg *arguments, size_t count)
{
    const uint64_t number = husk__clock_tick(queue->clock);
    husk__block *noted[4] = {NULL};
    unsigned next = 0;
    for (size_t i = 0; i < count; ++i) {
        if (arguments[i].tag != HUSK__TAG_BUFFER || !arguments[i].buffer)
            continue;
        husk__block *block = arguments[i].buffer->block;
        if (!block || block == noted[0] || block == noted[1] || block == noted[2] || block == noted[3])
            continue;
        husk__block_used(block, queue->clock, number);
        note_kernel(block, kernel->name);
        noted[next++ % 4] = block;
    }
}

// Out of resources at the launch, or too many work-items, is this kernel's fault unless the device is gone altogether;
// and so it is where a GPU has no memory for it: NVIDIA's driver answers CL_OUT_OF_HOST_MEMORY where the private memory
// of a kernel's work-items cannot be had.
static husk_status launch_failed(husk_queue *queue, const husk__kernel *kernel, cl_int code, const husk__scope *scope)
{
    husk_status status = husk__opencl_failed(queue->context, scope, "clEnqueueNDRangeKernel", code);
    if (status == HUSK_DEVICE_LOST)
        return status;
    if (code == CL_OUT_OF_RESOURCES || code == CL_INVALID_WORK_GROUP_SIZE || code == CL_INVALID_WORK_ITEM_SIZE ||
        code == CL_INVALID_GLOBAL_WORK_SIZE ||
        (code == CL_OUT_OF_HOST_MEMORY && husk__is_gpu(&queue->context->device->traits)))
        return husk__fail_opencl(scope, HUSK_UNSUPPORTED, code,
                                 "kernel %s: the device refuses the launch: clEnqueueNDRangeKernel answered %s",
                                 kernel->name, husk__opencl_name(code));
    return husk__fail_opencl(scope, status, code, "kernel %s: clEnqueueNDRangeKernel answered %s", kernel->name,
                             husk__opencl_name(code));
}

husk_status husk__launch(husk_queue *queue, const husk__kernel *kernel, const husk__range *range,
                         const husk__arg *arguments, size_t count, const husk__scope *scope)
{
    if (range->groups[0] == 0 || range->groups[1] == 0 || range->groups[2] == 0)
        return HUSK_OK;
    size_t global[3];
    husk__kernel_object *object;
    husk_status status = check_range(queue, kernel, range, global, scope);
    if (status == HUSK_OK)
        status = husk__kernel_object_get(queue, kernel, &object, scope);
    if (status == HUSK_OK)
        status = husk__kernel_object_set(queue, object, kernel, arguments, count, scope);
    if (status != HUSK_OK)
        return status;
    cl_event event = NULL;
    cl_int code;
    HUSK__ENQUEUE(code, queue,
                  clEnqueueNDRangeKernel(queue->cl, object->cl, 3, NULL, global, range->items, 0, NULL,
                                         husk__profile_event(queue, &event)));
    if (code != CL_SUCCESS) {
        object->is_known = false;
        return launch_failed(queue, kernel, code, scope);
    }
    note_uses(queue, kernel, arguments, count);
    husk__profile_keep(queue, kernel->name, event);
    return HUSK_OK;
}

void husk__launch_note_foreign(husk_queue *queue, const husk_buffer *const *buffers, size_t count)
{
    uint64_t number = husk__clock_tick(queue->clock);
    for (size_t i = 0; i < count; ++i)
        if (buffers[i] && buffers[i]->block) {
            husk__block_used(buffers[i]->block, queue->clock, number);
            note_kernel(buffers[i]->block, "another library's");
        }
}
