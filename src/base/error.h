/* SPDX-License-Identifier: MIT */
/*
 * base/error.h: how the inside of the library says what went wrong.
 *
 * A public function makes a scope: its own name and the husk_error that is to receive the text. Everything
 * beneath takes the scope and calls husk__fail, which writes "call: text" and returns the status, so that
 * `return husk__fail(scope, ...)` is the whole of error handling in a leaf.
 */
#ifndef HUSK_BASE_ERROR_H
#define HUSK_BASE_ERROR_H

#include <stdarg.h>

#include <husk/context.h>
#include <husk/status.h>

typedef struct husk__scope {
    const char *call;  /* "husk_conv" */
    husk_error *error; /* may be NULL: nobody wants the text */
} husk__scope;

#if defined(__GNUC__)
#define HUSK__PRINTF(format_index, first) __attribute__((format(printf, format_index, first)))
#else
#define HUSK__PRINTF(format_index, first)
#endif

/* Records "call: text" and returns status. */
husk_status husk__fail(const husk__scope *scope, husk_status status, const char *format, ...) HUSK__PRINTF(3, 4);

/* The same with the OpenCL error number kept beside the text. */
husk_status husk__fail_opencl(const husk__scope *scope, husk_status status, int32_t opencl_code, const char *format,
                              ...) HUSK__PRINTF(4, 5);

/* INVALID_ARGUMENT with "call: argument: rule". The rule may be formatted. */
husk_status husk__reject(const husk__scope *scope, const char *argument, const char *format, ...) HUSK__PRINTF(3, 4);

/* A call inside this one has failed, and the text of its error begins with that call's name: now with both. */
void husk__name_outer(const husk__scope *scope);

/* The log callback of a context, and where it may be absent. */
typedef struct husk__log {
    husk_log_callback callback;
    void *user;
    int verbosity; /* HUSK_VERBOSE: 0 to 2 */
} husk__log;

void husk__log_write(const husk__log *log, husk_log_level level, const char *format, ...) HUSK__PRINTF(3, 4);
/* A line that HUSK_VERBOSE asks for, of the level INFORMATION: where there is no callback it goes to stderr. */
void husk__log_verbose(const husk__log *log, const char *line);

#endif
