// SPDX-License-Identifier: MIT
// OpenCL's numbers as names, as statuses, and as the end of a device.
#include "os/time.h"
#include "runtime/internal.h"

#include <stdio.h>
#include <string.h>

#define OPENCL_ERRORS(X)                                                                            \
    X(CL_SUCCESS) X(CL_DEVICE_NOT_FOUND) X(CL_DEVICE_NOT_AVAILABLE) X(CL_COMPILER_NOT_AVAILABLE)    \
    X(CL_MEM_OBJECT_ALLOCATION_FAILURE) X(CL_OUT_OF_RESOURCES) X(CL_OUT_OF_HOST_MEMORY)             \
    X(CL_PROFILING_INFO_NOT_AVAILABLE) X(CL_MEM_COPY_OVERLAP) X(CL_IMAGE_FORMAT_MISMATCH)           \
    X(CL_IMAGE_FORMAT_NOT_SUPPORTED) X(CL_BUILD_PROGRAM_FAILURE) X(CL_MAP_FAILURE)                  \
    X(CL_MISALIGNED_SUB_BUFFER_OFFSET) X(CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST)              \
    X(CL_COMPILE_PROGRAM_FAILURE) X(CL_LINKER_NOT_AVAILABLE) X(CL_LINK_PROGRAM_FAILURE)             \
    X(CL_DEVICE_PARTITION_FAILED) X(CL_KERNEL_ARG_INFO_NOT_AVAILABLE) X(CL_INVALID_VALUE)           \
    X(CL_INVALID_DEVICE_TYPE) X(CL_INVALID_PLATFORM) X(CL_INVALID_DEVICE) X(CL_INVALID_CONTEXT)     \
    X(CL_INVALID_QUEUE_PROPERTIES) X(CL_INVALID_COMMAND_QUEUE) X(CL_INVALID_HOST_PTR)               \
    X(CL_INVALID_MEM_OBJECT) X(CL_INVALID_IMAGE_FORMAT_DESCRIPTOR) X(CL_INVALID_IMAGE_SIZE)         \
    X(CL_INVALID_SAMPLER) X(CL_INVALID_BINARY) X(CL_INVALID_BUILD_OPTIONS) X(CL_INVALID_PROGRAM)    \
    X(CL_INVALID_PROGRAM_EXECUTABLE) X(CL_INVALID_KERNEL_NAME) X(CL_INVALID_KERNEL_DEFINITION)      \
    X(CL_INVALID_KERNEL) X(CL_INVALID_ARG_INDEX) X(CL_INVALID_ARG_VALUE) X(CL_INVALID_ARG_SIZE)     \
    X(CL_INVALID_KERNEL_ARGS) X(CL_INVALID_WORK_DIMENSION) X(CL_INVALID_WORK_GROUP_SIZE)            \
    X(CL_INVALID_WORK_ITEM_SIZE) X(CL_INVALID_GLOBAL_OFFSET) X(CL_INVALID_EVENT_WAIT_LIST)          \
    X(CL_INVALID_EVENT) X(CL_INVALID_OPERATION) X(CL_INVALID_GL_OBJECT) X(CL_INVALID_BUFFER_SIZE)   \
    X(CL_INVALID_MIP_LEVEL) X(CL_INVALID_GLOBAL_WORK_SIZE) X(CL_INVALID_PROPERTY)                   \
    X(CL_INVALID_IMAGE_DESCRIPTOR) X(CL_INVALID_COMPILER_OPTIONS) X(CL_INVALID_LINKER_OPTIONS)      \
    X(CL_INVALID_DEVICE_PARTITION_COUNT)

const char *husk__opencl_name(cl_int code)
{
    switch (code) {
#define NAME(code)                                                                                  \
    case code:                                                                                      \
        return #code;
        OPENCL_ERRORS(NAME)
#undef NAME
    case -1001:
        return "CL_PLATFORM_NOT_FOUND_KHR";
    case -9999:
        return "NVIDIA's -9999 (illegal access by a kernel)";
    }
    return "an OpenCL error without a name";
}

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
    return husk__fail(scope, HUSK_DEVICE_LOST,
                      "the device was lost (%s); release this context and create another",
                      context->lost_reason);
}

static bool may_mean_lost(cl_int code)
{
    return code == CL_OUT_OF_RESOURCES || code == CL_DEVICE_NOT_AVAILABLE || code == -9999 ||
           code == CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST || code == CL_INVALID_COMMAND_QUEUE ||
           code == CL_INVALID_CONTEXT;
}

husk_status husk__opencl_failed(husk_context *context, const husk__scope *scope, const char *function,
                                cl_int code)
{
    if (context && may_mean_lost(code) && !device_answers(context)) {
        char reason[256];
        snprintf(reason, sizeof reason, "%s answered %s", function, husk__opencl_name(code));
        return husk__context_lost(context, scope, reason);
    }
    husk_status status = HUSK_OPENCL;
    if (code == CL_MEM_OBJECT_ALLOCATION_FAILURE)
        status = HUSK_OUT_OF_MEMORY;
    else if (code == CL_OUT_OF_HOST_MEMORY)
        status = HUSK_OUT_OF_HOST_MEMORY;
    return husk__fail_opencl(scope, status, code, "%s answered %s (%d)", function, husk__opencl_name(code),
                             (int)code);
}
