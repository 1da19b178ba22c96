/* SPDX-License-Identifier: MIT */
/*
 * runtime/kernel_object.h: a queue's own objects of kernels, and their arguments.
 */
#ifndef HUSK_RUNTIME_KERNEL_OBJECT_H
#define HUSK_RUNTIME_KERNEL_OBJECT_H

#include "base/error.h"
#include "runtime/arg.h"
#include "runtime/queue_struct.h"

husk_status husk__kernel_object_get(husk_queue *queue, const husk__kernel *kernel, husk__kernel_object **object,
                                    const husk__scope *scope);
husk_status husk__kernel_object_set(husk_queue *queue, husk__kernel_object *object, const husk__kernel *kernel,
                                    const husk__arg *arguments, size_t count, const husk__scope *scope);
void husk__kernel_objects_destroy(husk_queue *queue);

#endif
