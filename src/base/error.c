// SPDX-License-Identifier: MIT
#include "base/error.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "os/standard_error.h"

const char *husk_status_name(husk_status status)
{
    switch (status) {
#define NAME(name, number, text)                                                                    \
    case HUSK_##name:                                                                               \
        return "HUSK_" #name;
        HUSK_STATUS_LIST(NAME)
#undef NAME
    }
    return "HUSK_UNKNOWN_STATUS";
}

const char *husk_status_text(husk_status status)
{
    switch (status) {
#define TEXT(name, number, text)                                                                    \
    case HUSK_##name:                                                                               \
        return text;
        HUSK_STATUS_LIST(TEXT)
#undef TEXT
    }
    return "no such status";
}

HUSK__PRINTF(5, 0)
static void record(const husk__scope *scope, husk_status status, int32_t opencl_code, const char *argument,
                   const char *format, va_list arguments)
{
    if (!scope || !scope->error)
        return;
    husk_error *error = scope->error;
    error->status = status;
    error->opencl_code = opencl_code;
    size_t capacity = sizeof error->text;
    int used = snprintf(error->text, capacity, "%s: ", scope->call);
    if (argument && used >= 0 && (size_t)used < capacity)
        used += snprintf(error->text + used, capacity - (size_t)used, "%s: ", argument);
    if (used >= 0 && (size_t)used < capacity)
        vsnprintf(error->text + used, capacity - (size_t)used, format, arguments);
}

husk_status husk__fail(const husk__scope *scope, husk_status status, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    record(scope, status, 0, NULL, format, arguments);
    va_end(arguments);
    return status;
}

husk_status husk__fail_opencl(const husk__scope *scope, husk_status status, int32_t opencl_code, const char *format,
                              ...)
{
    va_list arguments;
    va_start(arguments, format);
    record(scope, status, opencl_code, NULL, format, arguments);
    va_end(arguments);
    return status;
}

husk_status husk__reject(const husk__scope *scope, const char *argument, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    record(scope, HUSK_INVALID_ARGUMENT, 0, argument, format, arguments);
    va_end(arguments);
    return HUSK_INVALID_ARGUMENT;
}

void husk__name_outer(const husk__scope *scope)
{
    husk_error *error = scope->error;
    const size_t length = strlen(scope->call);
    if (!error || (strncmp(error->text, scope->call, length) == 0 && error->text[length] == ':'))
        return;
    const size_t before = length + 2, most = sizeof error->text - 1 - before, now = strlen(error->text);
    const size_t kept = now < most ? now : most;
    memmove(error->text + before, error->text, kept);
    error->text[before + kept] = 0;
    memcpy(error->text, scope->call, length);
    memcpy(error->text + length, ": ", 2);
}

void husk__log_verbose(const husk__log *log, const char *line)
{
    if (log->callback)
        log->callback(log->user, HUSK_LOG_INFORMATION, line);
    else
        husk__print_line(line);
}

void husk__log_write(const husk__log *log, husk_log_level level, const char *format, ...)
{
    if (!log || !log->callback)
        return;
    va_list arguments;
    va_start(arguments, format);
    va_list again;
    va_copy(again, arguments);
    int length = vsnprintf(NULL, 0, format, arguments);
    va_end(arguments);
    char *text = length >= 0 ? malloc((size_t)length + 1) : NULL;
    if (text) {
        vsnprintf(text, (size_t)length + 1, format, again);
        log->callback(log->user, level, text);
        free(text);
    }
    va_end(again);
}
