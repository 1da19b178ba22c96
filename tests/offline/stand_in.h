/* SPDX-License-Identifier: MIT */
/*
 * offline/stand_in.h: an OpenCL of one device that compiles nothing and computes nothing, so that a program can ask the
 * library for every kernel it has in no time and without a platform. stand_in.c defines the functions that the library
 * calls; whoever is linked with it never reaches another OpenCL.
 */
#ifndef OFFLINE_STAND_IN_H
#define OFFLINE_STAND_IN_H

#include <stdint.h>

/* What the device claims to be from the next device list on: a GPU, or a CPU with vectors of so many floats. */
void stand_in_be_gpu(void);
void stand_in_be_cpu(uint32_t vector_width);
/* With this platform's and this device's name, and these extensions. */
/* CL_DRIVER_VERSION from now on. */
void stand_in_be_driver(const char *version);
void stand_in_be_of(const char *platform, const char *device, const char *extensions);

#endif
