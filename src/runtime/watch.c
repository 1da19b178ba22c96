// SPDX-License-Identifier: MIT
// Commands that may fail after they were enqueued: transfers, and waits for other queues. Their events alone say so;
// clFinish, and on some drivers a blocking read, do not.
#include "runtime/watch.h"

#include <stdlib.h>
#include <string.h>

#include "runtime/lost.h"
#include "runtime/queue_struct.h"

enum { FIRST_CAPACITY = 16 };

// Lets go of those that have ended, which is in their order. The code where one cannot be asked.
static cl_int look(husk_queue *queue)
{
    cl_int code = CL_SUCCESS;
    size_t ended = 0;
    for (; ended < queue->watched_count; ++ended) {
        cl_int execution = CL_QUEUED;
        code = clGetEventInfo(queue->watched[ended], CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof execution, &execution,
                              NULL);
        if (code != CL_SUCCESS || execution > CL_COMPLETE)
            break;
        queue->has_failed = queue->has_failed || execution < 0;
        clReleaseEvent(queue->watched[ended]);
    }
    queue->watched_count -= ended;
    if (ended && queue->watched_count)
        memmove(queue->watched, queue->watched + ended, queue->watched_count * sizeof *queue->watched);
    return code;
}

cl_int husk__wait_for_event(cl_event event)
{
    cl_int execution = CL_COMPLETE;
    cl_int code = clWaitForEvents(1, &event);
    if (code == CL_SUCCESS)
        code = clGetEventInfo(event, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof execution, &execution, NULL);
    return code == CL_SUCCESS && execution < 0 ? CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST : code;
}

static void grow(husk_queue *queue)
{
    const size_t capacity = queue->watched_capacity ? 2 * queue->watched_capacity : FIRST_CAPACITY;
    cl_event *grown = realloc(queue->watched, capacity * sizeof *grown);
    if (!grown)
        return;
    queue->watched = grown;
    queue->watched_capacity = capacity;
}

// The list is about as long as the work that the device has before it. Without memory for it the command is waited for.
void husk__queue_watch(husk_queue *queue, cl_event event)
{
    if (!event)
        return;
    if (queue->watched_count == queue->watched_capacity) {
        look(queue);
        if (2 * queue->watched_count >= queue->watched_capacity)
            grow(queue);
    }
    if (queue->watched_count < queue->watched_capacity) {
        queue->watched[queue->watched_count++] = event;
        return;
    }
    const cl_int code = husk__wait_for_event(event);
    queue->has_failed = queue->has_failed || code != CL_SUCCESS;
    clReleaseEvent(event);
}

husk_status husk__queue_ended_well(husk_queue *queue, const husk__scope *scope)
{
    const cl_int code = look(queue);
    if (queue->has_failed) {
        queue->has_failed = false;
        return husk__opencl_failed(queue->context, scope, "a command before it",
                                   CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST);
    }
    return code == CL_SUCCESS ? HUSK_OK : husk__opencl_failed(queue->context, scope, "clGetEventInfo", code);
}

husk_status husk__queue_finish(husk_queue *queue, const husk__scope *scope)
{
    const cl_int code = husk__clock_finish(queue->clock);
    return code == CL_SUCCESS ? husk__queue_ended_well(queue, scope)
                              : husk__opencl_failed(queue->context, scope, "clFinish", code);
}

void husk__queue_unwatch(husk_queue *queue)
{
    for (size_t i = 0; i < queue->watched_count; ++i)
        clReleaseEvent(queue->watched[i]);
    free(queue->watched);
}
