// SPDX-License-Identifier: MIT
#include "runtime/opencl_error.h"

#include <husk/opencl.h>

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

const char *husk__opencl_name(int32_t code)
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

const char *husk_opencl_error_name(cl_int code)
{
    return husk__opencl_name(code);
}

husk_status husk__opencl_error(const husk__scope *scope, const char *function, int32_t code)
{
    husk_status status = HUSK_OPENCL;
    if (code == CL_MEM_OBJECT_ALLOCATION_FAILURE)
        status = HUSK_OUT_OF_MEMORY;
    else if (code == CL_OUT_OF_HOST_MEMORY)
        status = HUSK_OUT_OF_HOST_MEMORY;
    return husk__fail_opencl(scope, status, code, "%s answered %s (%d)", function, husk__opencl_name(code), (int)code);
}

bool husk__may_pass(const husk_error *error)
{
    return error->status == HUSK_OUT_OF_MEMORY || error->status == HUSK_OUT_OF_HOST_MEMORY ||
           error->status == HUSK_OPENCL || error->status == HUSK_DEVICE_LOST || error->status == HUSK_IO ||
           ((error->status == HUSK_UNSUPPORTED || error->status == HUSK_BUILD_FAILED) &&
            (error->opencl_code == CL_OUT_OF_RESOURCES || error->opencl_code == CL_OUT_OF_HOST_MEMORY));
}
