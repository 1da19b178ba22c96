// SPDX-License-Identifier: MIT
#include "doctor/findings.h"

#include <stdarg.h>
#include <stdio.h>

const char *bench_finding_level_text(bench_finding_level level)
{
    static const char *const names[] = {"ok", "note", "problem"};
    return names[level];
}

json_t *bench_doctor_find(bench_doctor *d, bench_finding_level level, const char *id, const char *format, ...)
{
    char text[2048];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    bench_clean_line(text); // a driver's words may be no UTF-8, or cut within a character
    json_t *finding = json_pack("{s:s, s:s, s:s, s:n, s:n}", "level", bench_finding_level_text(level), "id", id, "text",
                                text, "todo", "reproduce");
    json_array_append_new(d->findings, finding);
    return finding;
}

void bench_doctor_advise(json_t *finding, const char *format, ...)
{
    char text[1024];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    bench_clean_line(text);
    json_object_set_new(finding, "todo", json_string(text));
}
