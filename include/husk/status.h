/* SPDX-License-Identifier: MIT */
/*
 * husk/status.h: what a call answers, and the text that explains a failure.
 *
 * Everything that can fail returns a husk_status. The explanation is a husk_error: objects' creators
 * fill the one that the caller passes (NULL if it does not care); calls on a queue leave theirs on the
 * queue, where husk_queue_error finds it. There is no global error state.
 */
#ifndef HUSK_STATUS_H
#define HUSK_STATUS_H

#include <stdint.h>

#include <husk/export.h>

HUSK_BEGIN_DECLS

/*
 * Code, number, text. Numbers are part of the ABI: a new one goes to the end.
 *
 * After INVALID_ARGUMENT, UNSUPPORTED and OUT_OF_MEMORY nothing was enqueued, nothing has changed, and
 * every object is usable; but where the device refused a later kernel of a call that has several (the text
 * names it), or a part of it found no memory, outputs are undefined. What has begun is not begun
 * again by another variant. After OPENCL the queue's contents are undefined but the objects are usable.
 * After DEVICE_LOST the context answers DEVICE_LOST for good; release it and create another.
 */
#define HUSK_STATUS_LIST(X)                                                                         \
    X(OK, 0, "success")                                                                             \
    X(INVALID_ARGUMENT, 1, "an argument breaks a documented rule")                                  \
    X(UNSUPPORTED, 2, "the arguments are valid, but nothing here can do this")                      \
    X(OUT_OF_MEMORY, 3, "device memory, or the budget set for it, does not suffice")                \
    X(OUT_OF_HOST_MEMORY, 4, "host memory does not suffice")                                        \
    X(NO_PLATFORM, 5, "no OpenCL platform is installed")                                            \
    X(NO_DEVICE, 6, "no OpenCL device fits the wish")                                               \
    X(BUILD_FAILED, 7, "a kernel does not build on this device")                                    \
    X(OPENCL, 8, "an OpenCL call failed")                                                           \
    X(DEVICE_LOST, 9, "the device no longer answers; its context is lost")                          \
    X(TIMEOUT, 10, "the wait ended before the work did")                                            \
    X(IO, 11, "a file could not be read or written")                                                \
    X(INTERNAL, 12, "a rule inside the library was broken; please report it")

typedef enum husk_status {
#define HUSK_STATUS_ENUM(name, number, text) HUSK_##name = number,
    HUSK_STATUS_LIST(HUSK_STATUS_ENUM)
#undef HUSK_STATUS_ENUM
} husk_status;

#define HUSK_ERROR_TEXT_CAPACITY 2048

/*
 * A failure in full: which public call, which argument and the rule it broke; or which OpenCL call with
 * which error; or which kernel with its build log (cut to fit; the log callback gets it whole).
 */
typedef struct husk_error {
    husk_status status;
    int32_t opencl_code; /* the OpenCL error number, 0 where none was involved */
    char text[HUSK_ERROR_TEXT_CAPACITY];
} husk_error;

/* "HUSK_OUT_OF_MEMORY"; "HUSK_UNKNOWN_STATUS" for a number that is no status. Never NULL. */
HUSK_API const char *husk_status_name(husk_status status);

/* One sentence about the status in general. Never NULL. */
HUSK_API const char *husk_status_text(husk_status status);

HUSK_END_DECLS

#endif
