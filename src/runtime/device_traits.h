/* SPDX-License-Identifier: MIT */
/*
 * runtime/device_traits.h: reading one device.
 */
#ifndef HUSK_RUNTIME_DEVICE_TRAITS_H
#define HUSK_RUNTIME_DEVICE_TRAITS_H

#include "runtime/device.h"
#include "runtime/opencl_error.h"

/*
 * Traits and limits of the device whose id, platform and list are set. False where there was no memory for its texts,
 * or it did not answer. Its strings are to be freed in any case.
 */
bool husk__device_read(husk_device *device, husk__unanswered *failed);
/* To be freed; "" where the platform does not tell, NULL where there is no memory. */
char *husk__platform_name(cl_platform_id platform, husk__unanswered *failed);
/* HUSK_LIMITS' text, "name=size,name=size": lowers traits. What is not understood becomes a note of the list. */
void husk__device_limit(husk_device *device, const char *limits);

#endif
