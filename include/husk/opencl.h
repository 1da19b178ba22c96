/* SPDX-License-Identifier: MIT */
/** @file
 * Using Husk inside an existing OpenCL program.
 *
 * This is the only public header that includes CL/cl.h. husk/husk.h does not include it.
 *
 * Husk retains the OpenCL objects that it is given, and releases them with its own object. The application keeps its
 * own references.
 */
#ifndef HUSK_OPENCL_H
#define HUSK_OPENCL_H

#ifndef CL_TARGET_OPENCL_VERSION
/** Husk needs OpenCL 1.2. */
#define CL_TARGET_OPENCL_VERSION 120
#endif
#include <CL/cl.h>

#include <husk/buffer.h>

HUSK_BEGIN_DECLS

/** The name of an OpenCL error code, "CL_OUT_OF_RESOURCES". Never NULL: a text that says so where it has no name. */
HUSK_API const char *husk_opencl_error_name(cl_int code);

/** Create a context around an application's cl_context, for one of its devices. */
HUSK_API husk_status husk_context_from_opencl(cl_context cl_context_, cl_device_id device,
                                              const husk_context_params *params, husk_context **context,
                                              husk_error *error);
/**
 * Create a queue around an application's command queue. The commands of both run in the order of the calls.
 *
 * If the command queue has CL_QUEUE_PROFILING_ENABLE, Husk can record the times of its own commands. It does so from
 * the first husk_queue_profile(), husk_queue_profile_export() or husk_queue_profile_clear() on. Without such a call
 * there is no cost.
 *
 * @param command_queue an in-order queue of the same OpenCL context and device
 */
HUSK_API husk_status husk_queue_from_opencl(husk_context *context, cl_command_queue command_queue, husk_queue **queue,
                                            husk_error *error);
/**
 * Create a buffer around an application's cl_mem of the same OpenCL context. It does not count against the budget. A
 * cl_mem that belongs to Husk (husk_buffer_opencl()), or a part of one, shares its memory as a view does.
 */
HUSK_API husk_status husk_buffer_from_opencl(husk_context *context, cl_mem mem, husk_buffer **buffer,
                                             husk_error *error);

/** The context's cl_context. It is borrowed: valid while the Husk object is alive. */
HUSK_API cl_context husk_context_opencl(const husk_context *context);
/** The context's device. It is borrowed: valid while the Husk object is alive. */
HUSK_API cl_device_id husk_context_opencl_device(const husk_context *context);
/** The queue's command queue. It is borrowed: valid while the Husk object is alive. */
HUSK_API cl_command_queue husk_queue_opencl(const husk_queue *queue);
/**
 * The buffer's cl_mem. It is borrowed: valid while the Husk object is alive. The buffer's bytes begin at
 * husk_buffer_opencl_offset() of it, since a view has the cl_mem of its parent.
 */
HUSK_API cl_mem husk_buffer_opencl(const husk_buffer *buffer);
/** Bytes from the start of the cl_mem to the start of the buffer. */
HUSK_API uint64_t husk_buffer_opencl_offset(const husk_buffer *buffer);

HUSK_END_DECLS

#endif
