// SPDX-License-Identifier: MIT
// Queues, events, and the order between queues.
#include "runtime/queue.h"

#include <stdlib.h>
#include <string.h>

#include <husk/opencl.h>

#include "base/params.h"
#include "os/time.h"
#include "runtime/begin.h"
#include "runtime/fork.h"
#include "runtime/kernel_object.h"
#include "runtime/lost.h"
#include "runtime/queue_struct.h"
#include "runtime/staging.h"
#include "runtime/watch.h"

static husk_status wrap_queue(husk_context *context, cl_command_queue cl, bool can_profile, husk_queue **queue,
                              const husk__scope *scope)
{
    *queue = calloc(1, sizeof **queue);
    husk__clock *clock = *queue ? husk__clock_create(cl) : NULL;
    if (!clock) {
        free(*queue);
        *queue = NULL;
        return husk__fail(scope, HUSK_OUT_OF_HOST_MEMORY, "no host memory for a queue");
    }
    atomic_init(&(*queue)->references, 1);
    husk_context_retain(context);
    (*queue)->context = context;
    (*queue)->cl = cl;
    (*queue)->clock = clock;
    (*queue)->can_profile = can_profile;
    return HUSK_OK;
}

husk_status husk_queue_create(husk_context *context, const husk_queue_params *given, husk_queue **queue,
                              husk_error *error)
{
    husk__scope scope;
    husk_status status = husk__context_call_begin(context, "husk_queue_create", error, &scope);
    if (status != HUSK_OK)
        return status;
    if (!queue)
        return husk__reject(&scope, "queue", "is NULL");
    *queue = NULL;
    husk_queue_params params;
    status = husk__params_read(&params, sizeof params, "HUSK_QUEUE_PARAMS", given, &scope);
    if (status != HUSK_OK)
        return status;
    cl_int code;
    cl_command_queue cl =
        clCreateCommandQueue(context->cl, context->device->id, params.profiling ? CL_QUEUE_PROFILING_ENABLE : 0, &code);
    if (!cl)
        return husk__opencl_failed(context, &scope, "clCreateCommandQueue", code);
    status = wrap_queue(context, cl, params.profiling != 0, queue, &scope);
    if (status == HUSK_OK)
        (*queue)->profiling = (*queue)->can_profile;
    else
        clReleaseCommandQueue(cl);
    return status;
}

husk_status husk_queue_from_opencl(husk_context *context, cl_command_queue cl, husk_queue **queue, husk_error *error)
{
    husk__scope scope;
    husk_status status = husk__context_call_begin(context, "husk_queue_from_opencl", error, &scope);
    if (status != HUSK_OK)
        return status;
    if (!queue)
        return husk__reject(&scope, "queue", "is NULL");
    *queue = NULL;
    if (!cl)
        return husk__reject(&scope, "command_queue", "is NULL");
    cl_context owner = NULL;
    cl_device_id device = NULL;
    cl_command_queue_properties properties = 0;
    cl_int code = clGetCommandQueueInfo(cl, CL_QUEUE_CONTEXT, sizeof owner, &owner, NULL);
    if (code == CL_SUCCESS)
        code = clGetCommandQueueInfo(cl, CL_QUEUE_DEVICE, sizeof device, &device, NULL);
    if (code == CL_SUCCESS)
        code = clGetCommandQueueInfo(cl, CL_QUEUE_PROPERTIES, sizeof properties, &properties, NULL);
    if (code != CL_SUCCESS)
        return husk__opencl_failed(context, &scope, "clGetCommandQueueInfo", code);
    if (owner != context->cl || device != context->device->id)
        return husk__reject(&scope, "command_queue", "belongs to another cl_context or device");
    if (properties & CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE)
        return husk__reject(&scope, "command_queue", "is out-of-order, must be in-order");
    clRetainCommandQueue(cl);
    status = wrap_queue(context, cl, (properties & CL_QUEUE_PROFILING_ENABLE) != 0, queue, &scope);
    if (status != HUSK_OK)
        clReleaseCommandQueue(cl);
    return status;
}

void husk_queue_release(husk_queue *queue)
{
    if (!queue || atomic_fetch_sub(&queue->references, 1) != 1 || husk__is_forked())
        return;
    husk__queue_keep(queue, NULL, NULL);
    husk_queue_profile_clear(queue);
    free(queue->profile);
    husk__queue_unwatch(queue);
    free(queue->records);
    husk__staging_destroy(queue);
    clFlush(queue->cl);
    if (queue->shares)
        clReleaseMemObject(queue->shares);
    for (int i = 0; i < HUSK__SCRATCH_LEVELS; ++i)
        husk_buffer_release(queue->scratch[i]);
    husk__kernel_objects_destroy(queue);
    husk__clock_close(queue->clock);
    husk__clock_release(queue->clock);
    clReleaseCommandQueue(queue->cl);
    husk_context_release(queue->context);
    free(queue);
}

husk_context *husk_queue_context(const husk_queue *queue)
{
    return queue ? queue->context : NULL;
}

cl_command_queue husk_queue_opencl(const husk_queue *queue)
{
    return queue ? queue->cl : NULL;
}

const husk_error *husk_queue_error(const husk_queue *queue)
{
    static const husk_error no_queue = {HUSK_INVALID_ARGUMENT, 0, "the queue is NULL"};
    return queue ? &queue->error : &no_queue;
}

void husk__queue_keep(husk_queue *queue, void *object, void (*release)(void *object))
{
    if (queue->kept)
        queue->release_kept(queue->kept);
    queue->kept = object;
    queue->release_kept = release;
}

void *husk__queue_kept(const husk_queue *queue)
{
    return queue->kept;
}

uint64_t husk__queue_commands(const husk_queue *queue)
{
    return atomic_load(&queue->clock->enqueued);
}

int husk__queue_depth(const husk_queue *queue)
{
    return queue->scratch_level;
}

void husk__queue_drain(husk_queue *queue)
{
    (void)husk__clock_finish(queue->clock);
}

husk_status husk_queue_flush(husk_queue *queue)
{
    husk__scope scope;
    husk_status status = husk__call_begin(queue, "husk_queue_flush", &scope);
    if (status != HUSK_OK)
        return status;
    cl_int code = clFlush(queue->cl);
    return code == CL_SUCCESS ? HUSK_OK : husk__opencl_failed(queue->context, &scope, "clFlush", code);
}

husk_status husk_queue_finish(husk_queue *queue)
{
    husk__scope scope;
    husk_status status = husk__call_begin(queue, "husk_queue_finish", &scope);
    if (status != HUSK_OK)
        return status;
    return husk__queue_finish(queue, &scope);
}

// ---- events ----

husk_status husk_queue_record(husk_queue *queue, husk_event **event)
{
    husk__scope scope;
    husk_status status = husk__call_begin(queue, "husk_queue_record", &scope);
    if (status != HUSK_OK)
        return status;
    if (!event)
        return husk__reject(&scope, "event", "is NULL");
    *event = NULL;
    status = husk__queue_ended_well(queue, &scope);
    if (status != HUSK_OK)
        return status;
    husk_event *made = calloc(1, sizeof *made);
    if (!made)
        return husk__fail(&scope, HUSK_OUT_OF_HOST_MEMORY, "no host memory for an event");
    const char *call = "clEnqueueMarkerWithWaitList";
    cl_int code = clEnqueueMarkerWithWaitList(queue->cl, 0, NULL, &made->cl);
    if (code == CL_SUCCESS) {
        call = "clFlush";
        code = clFlush(queue->cl);
        if (code != CL_SUCCESS)
            clReleaseEvent(made->cl);
    }
    if (code != CL_SUCCESS) {
        free(made);
        return husk__opencl_failed(queue->context, &scope, call, code);
    }
    atomic_init(&made->references, 1);
    made->context = queue->context;
    husk_context_retain(made->context);
    made->clock = queue->clock;
    husk__clock_retain(made->clock);
    made->number = atomic_load(&queue->clock->enqueued);
    *event = made;
    return HUSK_OK;
}

husk_status husk_queue_wait(husk_queue *queue, husk_event *event)
{
    husk__scope scope;
    husk_status status = husk__call_begin(queue, "husk_queue_wait", &scope);
    if (status != HUSK_OK)
        return status;
    if (!event)
        return husk__reject(&scope, "event", "is NULL");
    if (event->context != queue->context)
        return husk__reject(&scope, "event", "belongs to another context than the queue");
    cl_event barrier = NULL;
    cl_int code = clEnqueueBarrierWithWaitList(queue->cl, 1, &event->cl, &barrier);
    if (code != CL_SUCCESS)
        return husk__opencl_failed(queue->context, &scope, "clEnqueueBarrierWithWaitList", code);
    husk__queue_watch(queue, barrier);
    return HUSK_OK;
}

static husk_status event_ended(husk_event *event, cl_int execution)
{
    if (execution < 0) // of this queue's commands; whether the device is gone with it is asked
        return husk__opencl_failed(event->context, NULL, "a command before an event",
                                   CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST);
    husk__clock_reached(event->clock, event->number);
    return HUSK_OK;
}

// OpenCL has no wait with a limit: ask, at growing intervals of up to a millisecond.
static husk_status poll_event(husk_event *event, uint64_t timeout_ns)
{
    uint64_t start = husk__now_ns();
    uint64_t pause_ns = 2000;
    for (;;) {
        cl_int execution = CL_QUEUED;
        const cl_int code =
            clGetEventInfo(event->cl, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof execution, &execution, NULL);
        if (code != CL_SUCCESS)
            return husk__opencl_failed(event->context, NULL, "clGetEventInfo", code);
        if (execution <= CL_COMPLETE)
            return event_ended(event, execution);
        if (husk__now_ns() - start >= timeout_ns)
            return HUSK_TIMEOUT;
        husk__sleep_ns(pause_ns);
        if (pause_ns < 1000000)
            pause_ns *= 2;
    }
}

husk_status husk_event_wait(husk_event *event, uint64_t timeout_ns)
{
    if (!event)
        return HUSK_INVALID_ARGUMENT;
    if (husk__is_forked())
        return HUSK_UNSUPPORTED;
    if (atomic_load(&event->context->is_lost))
        return HUSK_DEVICE_LOST;
    if (timeout_ns != HUSK_FOREVER)
        return poll_event(event, timeout_ns);
    const cl_int code = husk__wait_for_event(event->cl);
    if (code == CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST)
        return event_ended(event, -1);
    return code == CL_SUCCESS ? event_ended(event, CL_COMPLETE)
                              : husk__opencl_failed(event->context, NULL, "clWaitForEvents", code);
}

void husk_event_retain(husk_event *event)
{
    if (event)
        atomic_fetch_add(&event->references, 1);
}

void husk_event_release(husk_event *event)
{
    if (!event || atomic_fetch_sub(&event->references, 1) != 1 || husk__is_forked())
        return;
    clReleaseEvent(event->cl);
    husk__clock_release(event->clock);
    husk_context_release(event->context);
    free(event);
}
