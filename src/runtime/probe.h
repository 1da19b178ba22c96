/* SPDX-License-Identifier: MIT */
/*
 * runtime/probe.h: whether the device has a feature, such as f64.
 */
#ifndef HUSK_RUNTIME_PROBE_H
#define HUSK_RUNTIME_PROBE_H

#include <stdbool.h>

#include <husk/context.h>
#include <husk/tensor.h>

#include "base/error.h"

/* husk_context_has, where it matters that its probe could not be made. */
husk_status husk__context_probe(husk_context *context, husk_feature feature, bool *has, const husk__scope *scope);

/* UNSUPPORTED where kernels of that dtype do not run on the device: f64. */
husk_status husk__dtype_check(husk_context *context, husk_dtype dtype, const char *argument, const husk__scope *scope);

/* husk__tensor_check_float, of operators that compute in f64, too, where the device does. */
husk_status husk__tensor_check_real(husk_queue *queue, const husk_tensor *tensor, const char *argument,
                                    const husk__scope *scope);

#endif
