// SPDX-License-Identifier: MIT
#include "runtime/lost.h"

#include <stdio.h>

#include "os/time.h"
#include "runtime/context_struct.h"
#include "runtime/opencl_error.h"

// A device that says it has no memory, even for four bytes, is there; others may give some back.
static bool is_want_of_memory(cl_int code)
{
    return code == CL_MEM_OBJECT_ALLOCATION_FAILURE || code == CL_OUT_OF_HOST_MEMORY;
}

// What is busy for longer is there. Who asks may hold the pool's lock, or have promised to come back.
static const uint64_t LONGEST_ANSWER_NS = UINT64_C(1000000000);

// How the command has ended: CL_COMPLETE, an error, or more than that where it has not within the time.
static cl_int end_of(cl_event event)
{
    const uint64_t start = husk__now_ns();
    for (;;) {
        cl_int execution = CL_QUEUED;
        const cl_int code =
            clGetEventInfo(event, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof execution, &execution, NULL);
        if (code != CL_SUCCESS)
            return code;
        if (execution <= CL_COMPLETE || husk__now_ns() - start >= LONGEST_ANSWER_NS)
            return execution;
        husk__sleep_ns(20000);
    }
}

// Whether the device still runs commands: a four-byte write on a queue of its own, finished.
static bool device_answers(husk_context *context)
{
    cl_bool available = CL_FALSE;
    cl_int code = clGetDeviceInfo(context->device->id, CL_DEVICE_AVAILABLE, sizeof available, &available, NULL);
    if (code != CL_SUCCESS)
        return is_want_of_memory(code);
    if (!available)
        return false;
    cl_command_queue queue = clCreateCommandQueue(context->cl, context->device->id, 0, &code);
    if (!queue)
        return is_want_of_memory(code);
    static const cl_uint word = 0; // may be read after this call
    cl_event written = NULL;
    cl_mem mem = clCreateBuffer(context->cl, CL_MEM_READ_WRITE, sizeof word, NULL, &code);
    if (mem)
        code = clEnqueueWriteBuffer(queue, mem, CL_FALSE, 0, sizeof word, &word, 0, NULL, &written);
    if (mem && code == CL_SUCCESS)
        code = clFlush(queue);
    if (mem && code == CL_SUCCESS)
        code = end_of(written);
    if (mem && code == CL_COMPLETE)
        code = clFinish(queue); // of what has ended
    if (written)
        clReleaseEvent(written);
    if (mem)
        clReleaseMemObject(mem);
    clReleaseCommandQueue(queue);
    return code >= CL_COMPLETE || is_want_of_memory(code);
}

husk_status husk__context_lost(husk_context *context, const husk__scope *scope, const char *reason)
{
    pthread_mutex_lock(&context->lock);
    if (!atomic_load(&context->is_lost)) {
        snprintf(context->lost_reason, sizeof context->lost_reason, "%s", reason);
        atomic_store(&context->is_lost, true);
        husk__log_write(&context->log, HUSK_LOG_WARNING, "the device is lost: %s", reason);
    }
    pthread_mutex_unlock(&context->lock);
    return husk__fail(scope, HUSK_DEVICE_LOST, "the device was lost (%s); release this context and create another",
                      context->lost_reason);
}

static bool may_mean_lost(cl_int code)
{
    return code == CL_OUT_OF_RESOURCES || code == CL_DEVICE_NOT_AVAILABLE || code == -9999 ||
           code == CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST || code == CL_INVALID_COMMAND_QUEUE ||
           code == CL_INVALID_CONTEXT;
}

husk_status husk__opencl_failed(husk_context *context, const husk__scope *scope, const char *function, cl_int code)
{
    if (may_mean_lost(code) && !device_answers(context)) {
        char reason[256];
        snprintf(reason, sizeof reason, "%s answered %s", function, husk__opencl_name(code));
        return husk__context_lost(context, scope, reason);
    }
    return husk__opencl_error(scope, function, code);
}
