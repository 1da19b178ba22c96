// SPDX-License-Identifier: MIT
#include "train/error.h"

#include <stdio.h>
#include <string.h>

HUSK__TRAIN_PRINTF(4, 0)
static void record(const husk__train_scope *scope, husk_status status, const char *argument, const char *format,
                   va_list arguments)
{
    if (!scope || !scope->error)
        return;
    husk_error *error = scope->error;
    error->status = status;
    error->opencl_code = 0;
    size_t capacity = sizeof error->text;
    int used = snprintf(error->text, capacity, "%s: ", scope->call);
    if (argument && used >= 0 && (size_t)used < capacity)
        used += snprintf(error->text + used, capacity - (size_t)used, "%s: ", argument);
    if (used >= 0 && (size_t)used < capacity)
        vsnprintf(error->text + used, capacity - (size_t)used, format, arguments);
}

husk_status husk__train_fail(const husk__train_scope *scope, husk_status status, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    record(scope, status, NULL, format, arguments);
    va_end(arguments);
    return status;
}

husk_status husk__train_reject(const husk__train_scope *scope, const char *argument, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    record(scope, HUSK_INVALID_ARGUMENT, argument, format, arguments);
    va_end(arguments);
    return HUSK_INVALID_ARGUMENT;
}

husk_status husk__train_no_memory(const husk__train_scope *scope)
{
    return husk__train_fail(scope, HUSK_OUT_OF_HOST_MEMORY, "host memory does not suffice");
}

husk_status husk__train_size(uint32_t size, uint32_t wanted, const char *made_by, const char *argument,
                             const husk__train_scope *scope)
{
    if (size == wanted)
        return HUSK_OK;
    return husk__train_reject(scope, argument, HUSK__TRAIN_SIZE_RULE, (unsigned)size, (unsigned)wanted, made_by);
}

husk_status husk__train_struct(void *own, uint32_t own_size, const char *made_by, const void *given,
                               const char *argument, const husk__train_scope *scope)
{
    memset(own, 0, own_size);
    if (!given)
        return HUSK_OK;
    uint32_t size;
    memcpy(&size, given, sizeof size);
    husk_status status = husk__train_size(size, own_size, made_by, argument, scope);
    if (!status)
        memcpy(own, given, own_size);
    return status;
}
