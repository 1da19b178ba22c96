/* SPDX-License-Identifier: MIT */
/*
 * runtime/device_notes.h: what the system has besides what OpenCL shows.
 */
#ifndef HUSK_RUNTIME_DEVICE_NOTES_H
#define HUSK_RUNTIME_DEVICE_NOTES_H

#include "runtime/device.h"

/* GPUs without a driver, missing groups and variables: as notes of the list. */
void husk__device_list_examine_system(husk_device_list *list);

#endif
