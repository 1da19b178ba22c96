// SPDX-License-Identifier: MIT
#include "runtime/opencl_error.h"

#include <husk/opencl.h>

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
