/* SPDX-License-Identifier: MIT */
/*
 * dist/error.h: how libhusk_dist says what went wrong, as train/error.h does in libhusk_train.
 */
#ifndef HUSK_DIST_ERROR_H
#define HUSK_DIST_ERROR_H

#include <husk/dist.h>

typedef struct husk__dist_scope {
    const char *call;
    husk_error *error; /* may be NULL */
} husk__dist_scope;

#if defined(__GNUC__)
#define HUSK__DIST_PRINTF(format_index, first) __attribute__((format(printf, format_index, first)))
#else
#define HUSK__DIST_PRINTF(format_index, first)
#endif

/* Records "call: text" and returns status. */
husk_status husk__dist_refuse(const husk__dist_scope *scope, husk_status status, const char *format, ...)
    HUSK__DIST_PRINTF(3, 4);
/* What a call of libhusk or libhusk_train has said, in this one's name. */
husk_status husk__dist_pass(const husk__dist_scope *scope, husk_status status, const husk_error *cause);
/* A struct begins with its size: any other, 0 among them, is INVALID_ARGUMENT. made_by is the macro that sets it. */
husk_status husk__dist_size(uint32_t size, uint32_t wanted, const char *made_by, const char *argument,
                            const husk__dist_scope *scope);
/* A caller's struct that begins with its size into own; NULL gives zeros. */
husk_status husk__dist_struct(void *own, uint32_t own_size, const char *made_by, const void *given,
                              const char *argument, const husk__dist_scope *scope);
husk_status husk__dist_no_memory(const husk__dist_scope *scope);
/* What MPI has answered to this call, where that is a failure. */
husk_status husk__mpi_failed(int code, const char *call, husk_error *error);

#endif
