/* SPDX-License-Identifier: MIT */
/*
 * husk/opencl.h: joining an OpenCL program that exists already. The only public header that includes
 * CL/cl.h; husk/husk.h does not include it.
 *
 * Husk retains what it is given and releases it with its own object; the application keeps its references.
 */
#ifndef HUSK_OPENCL_H
#define HUSK_OPENCL_H

#ifndef CL_TARGET_OPENCL_VERSION
#define CL_TARGET_OPENCL_VERSION 120
#endif
#include <CL/cl.h>

#include <husk/buffer.h>

HUSK_BEGIN_DECLS

/* A context around an application's cl_context, for one of its devices. */
HUSK_API husk_status husk_context_from_opencl(cl_context cl_context_, cl_device_id device,
                                              const husk_context_params *params, husk_context **context,
                                              husk_error *error);
/*
 * A queue around an application's command queue, which must be in-order and of the same context and device.
 * What both enqueue runs in the order of the calls. Where it has CL_QUEUE_PROFILING_ENABLE, Husk keeps the times of its
 * own commands from the first husk_queue_profile, husk_queue_profile_export or husk_queue_profile_clear on; who calls
 * none of them pays nothing for it.
 */
HUSK_API husk_status husk_queue_from_opencl(husk_context *context, cl_command_queue command_queue,
                                            husk_queue **queue, husk_error *error);
/*
 * A buffer around an application's cl_mem of the same context. It does not count against the budget. One of Husk's own
 * (husk_buffer_opencl), or a part of it, shares its memory as a view does.
 */
HUSK_API husk_status husk_buffer_from_opencl(husk_context *context, cl_mem mem, husk_buffer **buffer,
                                             husk_error *error);

/*
 * The objects beneath. They are borrowed: valid while the Husk object lives. A buffer's bytes begin at
 * husk_buffer_opencl_offset of its cl_mem (views share their parent's).
 */
HUSK_API cl_context husk_context_opencl(const husk_context *context);
HUSK_API cl_device_id husk_context_opencl_device(const husk_context *context);
HUSK_API cl_command_queue husk_queue_opencl(const husk_queue *queue);
HUSK_API cl_mem husk_buffer_opencl(const husk_buffer *buffer);
HUSK_API uint64_t husk_buffer_opencl_offset(const husk_buffer *buffer);

HUSK_END_DECLS

#endif
