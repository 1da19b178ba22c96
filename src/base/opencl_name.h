/* SPDX-License-Identifier: MIT */
/*
 * base/opencl_name.h: OpenCL's error numbers as names.
 */
#ifndef HUSK_BASE_OPENCL_NAME_H
#define HUSK_BASE_OPENCL_NAME_H

#include <stdint.h>

/* "CL_OUT_OF_RESOURCES" ...; a text that says so where the number has no name. */
const char *husk__opencl_name(int32_t code);

#endif
