/* SPDX-License-Identifier: MIT */
/*
 * runtime/opencl_error.h: OpenCL's numbers as statuses. Codes are cl_int's.
 */
#ifndef HUSK_RUNTIME_OPENCL_ERROR_H
#define HUSK_RUNTIME_OPENCL_ERROR_H

#include <stdbool.h>

#include "base/error.h"
#include "base/opencl_name.h"

/* The status of a failed OpenCL call, and the text "clFoo answered CL_BAR"; codes for memory as statuses for memory. */
husk_status husk__opencl_error(const husk__scope *scope, const char *function, int32_t code);
/* Whether a failure says nothing of what was tried: want of memory, a file's, or OpenCL's own may be over next time. */
bool husk__may_pass(const husk_error *error);

/* A query of OpenCL's that failed; code is CL_SUCCESS where none has. */
typedef struct husk__unanswered {
    const char *function;
    int32_t code;
} husk__unanswered;

#endif
