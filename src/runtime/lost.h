/* SPDX-License-Identifier: MIT */
/*
 * runtime/lost.h: failed OpenCL calls of a context, and the end of its device.
 */
#ifndef HUSK_RUNTIME_LOST_H
#define HUSK_RUNTIME_LOST_H

#include <CL/cl.h>

#include "base/error.h"

/* husk__opencl_error, or DEVICE_LOST (sticky) when the device turns out to be gone. */
husk_status husk__opencl_failed(husk_context *context, const husk__scope *scope, const char *function, cl_int code);
husk_status husk__context_lost(husk_context *context, const husk__scope *scope, const char *reason);

#endif
