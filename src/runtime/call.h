/* SPDX-License-Identifier: MIT */
/*
 * runtime/call.h: what every operator's public call begins with, and memory it works in.
 */
#ifndef HUSK_RUNTIME_CALL_H
#define HUSK_RUNTIME_CALL_H

#include <husk/tensor.h>

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

/* One dtype's device memory that a tensor argument points to, checked against the tensor's reach. */
husk_status husk__tensor_bind(husk_queue *queue, const husk_tensor *tensor, const char *argument,
                              const husk__scope *scope);

/* Whether a failure says nothing of what was tried: want of memory, a file's, or OpenCL's own may be over next time. */
bool husk__may_pass(const husk_error *error);

/* husk_context_has, where it matters that its probe could not be made. */
husk_status husk__context_probe(husk_context *context, husk_feature feature, bool *has, const husk__scope *scope);

bool husk__is_pocl(const husk_device_traits *traits);
/* Whether the device's compiler ends the process where a kernel has inline assembly: HUSK_QUIRK_ASSEMBLY. */
bool husk__breaks_on_assembly(const husk_device_traits *traits);

/* UNSUPPORTED where kernels of that dtype do not run on the device: f64. */
husk_status husk__dtype_check(husk_context *context, husk_dtype dtype, const char *argument,
                              const husk__scope *scope);

/* husk__tensor_check_float, of operators that compute in f64, too, where the device does. */
husk_status husk__tensor_check_real(husk_queue *queue, const husk_tensor *tensor, const char *argument,
                                    const husk__scope *scope);

/* Refuse an output that shares memory with another argument, named by argument names. NULL other is fine. */
husk_status husk__refuse_overlap(const husk_tensor *output, const char *output_name, const husk_tensor *other,
                                 const char *other_name, const husk__scope *scope);
/* The same, but exactly the same view (in place) is allowed. */
husk_status husk__refuse_partial_overlap(const husk_tensor *output, const char *output_name,
                                         const husk_tensor *other, const char *other_name,
                                         const husk__scope *scope);

/*
 * Scratch memory of the queue: bytes that stay until husk__scratch_end. Calls nest as a stack, so a composite
 * keeps its scratch while the plans it calls take theirs. Contents are undefined.
 */
typedef struct husk__scratch {
    husk_buffer *buffer; /* NULL for 0 bytes */
} husk__scratch;

husk_status husk__scratch_begin(husk_queue *queue, uint64_t bytes, husk__scratch *scratch,
                                const husk__scope *scope);
void husk__scratch_end(husk_queue *queue, husk__scratch *scratch);

/* The floor above keeps one object with a queue (the plan of its last call); what was kept before is released. */
void husk__queue_keep(husk_queue *queue, void *object, void (*release)(void *object));
void *husk__queue_kept(const husk_queue *queue);

/* How many commands that use memory have been enqueued on the queue: whether a run that failed had begun. */
uint64_t husk__queue_commands(const husk_queue *queue);

const husk__log *husk__context_log(const husk_context *context);

/* The floor above keeps one object of its own in a context (the plan cache). Made once, under a lock. */
void *husk__context_extension(husk_context *context, void *(*create)(husk_context *context),
                              void (*destroy)(void *extension));
/* What a call's params ask for, the context's where that is DEFAULT: never DEFAULT. */
husk_precision husk__context_precision(const husk_context *context, husk_precision asked);
/* husk_context_params.plan_cache_capacity, resolved. */
size_t husk__context_plan_cache_capacity(const husk_context *context);

/* Called when the context goes, while its OpenCL objects still live, last registered first; once an action. */
husk_status husk__context_on_release(husk_context *context, void (*action)(husk_context *context),
                                     const husk__scope *scope);

/* For husk_context_program_stats. */
void husk__context_count_plan(husk_context *context, bool hit);

#endif
