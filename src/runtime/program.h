/* SPDX-License-Identifier: MIT */
/*
 * runtime/program.h: building programs, once a context, from a kernel file and its options.
 */
#ifndef HUSK_RUNTIME_PROGRAM_H
#define HUSK_RUNTIME_PROGRAM_H

#include <stdbool.h>

#include "base/error.h"
#include "runtime/programs.h"

/* The kernel where it has been made, or NULL. options are never NULL here. */
const husk__kernel *husk__kernel_find(husk_context *context, const char *file, const char *options, const char *name);
/*
 * husk__kernel_get (runtime/launch.h) for who knows whether programs from that file flush denormal numbers: are built
 * with -cl-denorms-are-zero. The answer is the same for a file every time.
 */
husk_status husk__kernel_make(husk_context *context, const char *file, const char *options, const char *name,
                              bool flushes, const husk__kernel **kernel, const husk__scope *scope);

#endif
