/* SPDX-License-Identifier: MIT */
/*
 * runtime/begin.h: what every public call begins with.
 */
#ifndef HUSK_RUNTIME_BEGIN_H
#define HUSK_RUNTIME_BEGIN_H

#include <husk/queue.h>

#include "base/error.h"

/*
 * The scope of a public call on a queue: errors go to the queue. INVALID_ARGUMENT for a NULL queue, UNSUPPORTED in a
 * child process of the one that opened OpenCL, DEVICE_LOST for a lost context. Every public function that takes a queue
 * begins with it.
 */
husk_status husk__call_begin(husk_queue *queue, const char *call, husk__scope *scope);

/* The same for a call on a context with an optional husk_error. */
husk_status husk__context_call_begin(const husk_context *context, const char *call, husk_error *error,
                                     husk__scope *scope);

#endif
