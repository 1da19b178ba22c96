/* SPDX-License-Identifier: MIT */
/** @file
 * Guarded buffers for tests of OpenCL code.
 *
 * A part of libhusk_verify (husk/verify.h) that uses a program's own OpenCL objects. Like husk/opencl.h it includes
 * CL/cl.h. A test program links libhusk_verify and OpenCL.
 *
 * A guarded buffer lies between two bands of known bytes. The kernel under test gets a cl_mem of exactly the size that
 * was asked for, and what it writes before or behind that changes a band:
 *
 *     husk_verify_buffer *y = NULL;
 *     husk_verify_buffer_create(queue, n * sizeof(float), &y, &error);
 *     cl_mem mem = husk_verify_buffer_mem(y);
 *     clSetKernelArg(kernel, 0, sizeof mem, &mem);
 *     ... clEnqueueNDRangeKernel ...
 *     ck_assert_msg(husk_verify_buffer_check(y, &error) == HUSK_OK, "%s", error.text);
 *     husk_verify_buffer_read(y, 0, n * sizeof(float), host, &error);
 *
 * - A new buffer holds the bytes 0xff, which are NaN in f16, bf16, f32 and f64. So an element that is never written, or
 *   an input that is read before it is written, shows in the result.
 * - The bytes of bands are NaN, too, and differ from buffer to buffer. So reading past the end of an operand shows, and
 *   so does copying one band onto another.
 * - Bands have at least #HUSK_GUARD_BYTES bytes. Writes that miss them do not show; nor do reads without an effect.
 *
 * The cl_mem is a sub-buffer, which begins at a multiple of CL_DEVICE_MEM_BASE_ADDR_ALIGN. OpenCL has no sub-buffers of
 * sub-buffers: a test of code that makes some needs another buffer.
 *
 * @par Errors
 * `error` explains a failure, and may be NULL. HUSK_OPENCL, HUSK_OUT_OF_MEMORY: the text names the OpenCL call and its
 * error, and husk_error::opencl_code has the number.
 *
 * @par Threads
 * A buffer is used by one thread at a time.
 */
#ifndef HUSK_VERIFY_OPENCL_H
#define HUSK_VERIFY_OPENCL_H

#ifndef CL_TARGET_OPENCL_VERSION
/** libhusk_verify needs OpenCL 1.2. */
#define CL_TARGET_OPENCL_VERSION 120
#endif
#include <CL/cl.h>

#include <husk/guard.h>
#include <husk/verify.h>

HUSK_BEGIN_DECLS

/** A piece of device memory between guard bands. */
typedef struct husk_verify_buffer husk_verify_buffer;

/**
 * Create a buffer in the queue's context, for its device. The queue is retained, and all calls on the buffer use it.
 *
 * @param bytes at least 1, since OpenCL has no buffers of 0 bytes
 * @param buffer receives the buffer; NULL after a failure
 */
HUSK_VERIFY_API husk_status husk_verify_buffer_create(cl_command_queue queue, uint64_t bytes,
                                                      husk_verify_buffer **buffer, husk_error *error);
/** Release the buffer and its memory. The work that uses it must have ended. NULL may be released, too. */
HUSK_VERIFY_API void husk_verify_buffer_release(husk_verify_buffer *buffer);

/** The cl_mem for kernels. It is borrowed: valid while the buffer is alive. */
HUSK_VERIFY_API cl_mem husk_verify_buffer_mem(const husk_verify_buffer *buffer);
/** The size in bytes, without the bands. */
HUSK_VERIFY_API uint64_t husk_verify_buffer_size(const husk_verify_buffer *buffer);

/** Copy from host to device, after the work on the queue. The call returns when the copy has ended. */
HUSK_VERIFY_API husk_status husk_verify_buffer_write(husk_verify_buffer *buffer, uint64_t offset, uint64_t bytes,
                                                     const void *host, husk_error *error);
/** Copy from device to host, after the work on the queue. The call returns when the host memory may be read. */
HUSK_VERIFY_API husk_status husk_verify_buffer_read(husk_verify_buffer *buffer, uint64_t offset, uint64_t bytes,
                                                    void *host, husk_error *error);

/**
 * Wait for the work on the queue, and check the bands. The work of other queues must have ended.
 *
 * Damage is reported once: the bands are restored.
 *
 * @retval HUSK_INTERNAL A band was written. The text says how many bytes the buffer has, and which bytes were written:
 *   "memory outside a buffer of 252 bytes was written: bytes 0 to 3 behind its end".
 */
HUSK_VERIFY_API husk_status husk_verify_buffer_check(husk_verify_buffer *buffer, husk_error *error);

HUSK_END_DECLS

#endif
