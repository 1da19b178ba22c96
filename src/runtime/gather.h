/* SPDX-License-Identifier: MIT */
/*
 * runtime/gather.h: the threads with which a CPU's driver computes.
 */
#ifndef HUSK_RUNTIME_GATHER_H
#define HUSK_RUNTIME_GATHER_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"

/*
 * Once all threads of the CPU device's driver are there, so many of them, bind each to the CPU at its place in cpus,
 * or, where that is NULL, none. All or none are bound. *bound: whether each had a CPU of its own before; may be NULL.
 */
husk_status husk__gather_threads(husk_context *context, size_t count, const int *cpus, bool *bound,
                                 const husk__scope *scope);

#endif
