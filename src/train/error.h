/* SPDX-License-Identifier: MIT */
/*
 * train/error.h: how the inside of libhusk_train says what went wrong, as base/error.h does in libhusk: a public
 * function makes a scope, and a leaf answers `return husk__train_fail(scope, status, "...")`.
 */
#ifndef HUSK_TRAIN_ERROR_H
#define HUSK_TRAIN_ERROR_H

#include <stdarg.h>
#include <stdbool.h>

#include <husk/status.h>

typedef struct husk__train_scope {
    const char *call;  /* "husk_graph_compile" */
    husk_error *error; /* may be NULL: nobody wants the text */
} husk__train_scope;

#if defined(__GNUC__)
#define HUSK__TRAIN_PRINTF(format_index, first) __attribute__((format(printf, format_index, first)))
#else
#define HUSK__TRAIN_PRINTF(format_index, first)
#endif

/* Records "call: text" and returns status. */
husk_status husk__train_fail(const husk__train_scope *scope, husk_status status, const char *format, ...)
    HUSK__TRAIN_PRINTF(3, 4);
/* INVALID_ARGUMENT with "call: argument: rule". */
husk_status husk__train_reject(const husk__train_scope *scope, const char *argument, const char *format, ...)
    HUSK__TRAIN_PRINTF(3, 4);
/* OUT_OF_HOST_MEMORY. */
husk_status husk__train_no_memory(const husk__train_scope *scope);

/* The OpenCL error that cause tells of is that of this failure, too. error may be NULL. Returns status. */
static inline husk_status husk__caused_by(husk_error *error, const husk_error *cause, husk_status status)
{
    if (error)
        error->opencl_code = cause->opencl_code;
    return status;
}

/* Of a struct's size, the wanted one, and what sets it: a macro or a function. */
#define HUSK__TRAIN_SIZE_RULE "size is %u, not %u: %s of this library's header sets it"

/* A struct begins with its size: any other, 0 among them, is INVALID_ARGUMENT. made_by is what sets it. */
husk_status husk__train_size(uint32_t size, uint32_t wanted, const char *made_by, const char *argument,
                             const husk__train_scope *scope);
/* Fill own, of own_size bytes, from a caller's struct that begins with its size; NULL gives zeros. */
husk_status husk__train_struct(void *own, uint32_t own_size, const char *made_by, const void *given,
                               const char *argument, const husk__train_scope *scope);

#endif
