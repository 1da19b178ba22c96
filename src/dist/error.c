// SPDX-License-Identifier: MIT
#include "dist/error.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <mpi.h>

husk_status husk__dist_refuse(const husk__dist_scope *scope, husk_status status, const char *format, ...)
{
    if (!scope->error)
        return status;
    husk_error *error = scope->error;
    error->status = status;
    error->opencl_code = 0;
    int used = snprintf(error->text, sizeof error->text, "%s: ", scope->call);
    if (used < 0 || (size_t)used >= sizeof error->text)
        return status;
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(error->text + used, sizeof error->text - (size_t)used, format, arguments);
    va_end(arguments);
    return status;
}

husk_status husk__dist_pass(const husk__dist_scope *scope, husk_status status, const husk_error *cause)
{
    husk__dist_refuse(scope, status, "%s", cause->text);
    if (scope->error)
        scope->error->opencl_code = cause->opencl_code;
    return status;
}

husk_status husk__dist_no_memory(const husk__dist_scope *scope)
{
    return husk__dist_refuse(scope, HUSK_OUT_OF_HOST_MEMORY, "host memory does not suffice");
}

husk_status husk__dist_size(uint32_t size, uint32_t wanted, const char *made_by, const char *argument,
                            const husk__dist_scope *scope)
{
    if (size == wanted)
        return HUSK_OK;
    return husk__dist_refuse(scope, HUSK_INVALID_ARGUMENT,
                             "%s: size is %u, not %u: %s of this library's header sets it", argument, (unsigned)size,
                             (unsigned)wanted, made_by);
}

husk_status husk__dist_struct(void *own, uint32_t own_size, const char *made_by, const void *given,
                              const char *argument, const husk__dist_scope *scope)
{
    memset(own, 0, own_size);
    if (!given)
        return HUSK_OK;
    uint32_t size;
    memcpy(&size, given, sizeof size);
    husk_status status = husk__dist_size(size, own_size, made_by, argument, scope);
    if (!status)
        memcpy(own, given, own_size);
    return status;
}

husk_status husk__mpi_failed(int code, const char *call, husk_error *error)
{
    if (code == MPI_SUCCESS)
        return HUSK_OK;
    char text[MPI_MAX_ERROR_STRING] = "";
    int length = 0;
    MPI_Error_string(code, text, &length);
    error->status = HUSK_IO;
    snprintf(error->text, sizeof error->text, "%s: %s", call, text);
    return HUSK_IO;
}
