/* SPDX-License-Identifier: MIT */
/*
 * runtime/bind.h: tensors in memory: what they are bound to, and whether they overlap.
 */
#ifndef HUSK_RUNTIME_BIND_H
#define HUSK_RUNTIME_BIND_H

#include <husk/tensor.h>

#include "base/error.h"

/* One dtype's device memory that a tensor argument points to, checked against the tensor's reach. */
husk_status husk__tensor_bind(husk_queue *queue, const husk_tensor *tensor, const char *argument,
                              const husk__scope *scope);
/* The same where the tensor may be NULL. */
husk_status husk__tensor_bind_given(husk_queue *queue, const husk_tensor *tensor, const char *argument,
                                    const husk__scope *scope);

/* Refuse an output that shares memory with another argument, named by argument names. NULL other is fine. */
husk_status husk__refuse_overlap(const husk_tensor *output, const char *output_name, const husk_tensor *other,
                                 const char *other_name, const husk__scope *scope);
/* The same, but exactly the same view (in place) is allowed. */
husk_status husk__refuse_partial_overlap(const husk_tensor *output, const char *output_name, const husk_tensor *other,
                                         const char *other_name, const husk__scope *scope);

#endif
