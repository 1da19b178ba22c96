/* SPDX-License-Identifier: MIT */
/*
 * runtime/device_list.h: asking OpenCL for devices.
 */
#ifndef HUSK_RUNTIME_DEVICE_LIST_H
#define HUSK_RUNTIME_DEVICE_LIST_H

#include "runtime/device.h"

/* A list of the one device of an application's own context. */
husk_status husk__device_list_wrap(cl_device_id id, husk_device_list **list, const husk__scope *scope);

#endif
