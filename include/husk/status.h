/* SPDX-License-Identifier: MIT */
/** @file
 * Status codes, and the text that explains a failure.
 *
 * Every call that can fail returns a ::husk_status. A ::husk_error explains the failure:
 *
 * - A call that creates an object fills the husk_error that the caller passes. Pass NULL if you do not need it.
 * - A call on a queue stores its husk_error in the queue. husk_queue_error() returns it.
 *
 * There is no global error state.
 */
#ifndef HUSK_STATUS_H
#define HUSK_STATUS_H

#include <stdint.h>

#include <husk/export.h>

HUSK_BEGIN_DECLS

/** Every status: code, number, text. The numbers are part of the ABI; new ones are added at the end. */
#define HUSK_STATUS_LIST(X)                                                                         \
    X(OK, 0, "success")                                                                             \
    X(INVALID_ARGUMENT, 1, "an argument breaks a documented rule")                                  \
    X(UNSUPPORTED, 2, "the arguments are valid, but nothing here can do this")                      \
    X(OUT_OF_MEMORY, 3, "device memory, or the budget set for it, does not suffice")                \
    X(OUT_OF_HOST_MEMORY, 4, "host memory does not suffice")                                        \
    X(NO_PLATFORM, 5, "no OpenCL platform is installed")                                            \
    X(NO_DEVICE, 6, "no OpenCL device fits the preference")                                               \
    X(BUILD_FAILED, 7, "a kernel does not build on this device")                                    \
    X(OPENCL, 8, "an OpenCL call failed")                                                           \
    X(DEVICE_LOST, 9, "the device no longer answers; its context is lost")                          \
    X(TIMEOUT, 10, "the wait ended before the work did")                                            \
    X(IO, 11, "a file could not be read or written")                                                \
    X(INTERNAL, 12, "a rule inside the library was broken; please report it")

/**
 * What a call returns. #HUSK_STATUS_LIST has the meaning of each code.
 *
 * After a failure:
 *
 * - HUSK_INVALID_ARGUMENT, HUSK_UNSUPPORTED, HUSK_OUT_OF_MEMORY, HUSK_OUT_OF_HOST_MEMORY, HUSK_BUILD_FAILED: nothing
 *   was enqueued, nothing has changed, and every object is usable. There is one exception, see below. When there is
 *   memory again, make the call again. After HUSK_BUILD_FAILED, leave the choice of the variant to the library, or name
 *   another one. The text has the compiler's log.
 * - HUSK_NO_PLATFORM, HUSK_NO_DEVICE: no object was created.
 * - HUSK_OPENCL: the contents of the queue are undefined. The objects are usable. Some drivers return the same error
 *   for every later command of the queue: then create another queue.
 * - HUSK_DEVICE_LOST: the context returns HUSK_DEVICE_LOST from now on. Release it and create another.
 * - HUSK_TIMEOUT: the work goes on, and every object is usable. Wait again, or do something else meanwhile. In
 *   libhusk_dist a rank is missing, and husk/dist.h says what to do.
 * - HUSK_IO: a file was not read or written, and every object is usable. The call's description says what
 *   has become of the file. Remove the cause, such as a full disk, and make the call again.
 * - HUSK_INTERNAL: a fault of Husk, or memory was written outside of its buffer (husk/guard.h). Do not rely on any
 *   result of the context. Release its objects, and report the text.
 *
 * The exception: a call may consist of several kernels or parts. If the device refuses a later kernel, or a later part
 * finds no memory, the outputs are undefined. The error text names the refused kernel. The library does not start such
 * a call again with another variant.
 */
typedef enum husk_status {
#define HUSK_STATUS_ENUM(name, number, text) HUSK_##name = number,
    HUSK_STATUS_LIST(HUSK_STATUS_ENUM)
#undef HUSK_STATUS_ENUM
} husk_status;

/** Bytes of husk_error::text, with the terminating zero. */
#define HUSK_ERROR_TEXT_CAPACITY 2048

/**
 * A failure in full.
 *
 * The text names one of these:
 *
 * - the public call, the argument, and the rule that the argument breaks;
 * - the OpenCL call and its error;
 * - the kernel and its build log. The log is cut to fit; the context's log callback receives all of it.
 */
typedef struct husk_error {
    husk_status status;
    int32_t opencl_code; /**< The OpenCL error number; 0 if none was involved. */
    char text[HUSK_ERROR_TEXT_CAPACITY]; /**< The explanation, zero-terminated. */
} husk_error;

/** The name of a status, such as "HUSK_OUT_OF_MEMORY". "HUSK_UNKNOWN_STATUS" for any other number. Never NULL. */
HUSK_API const char *husk_status_name(husk_status status);

/** One sentence about the status in general. Never NULL. */
HUSK_API const char *husk_status_text(husk_status status);

HUSK_END_DECLS

#endif
