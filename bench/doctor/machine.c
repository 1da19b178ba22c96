// SPDX-License-Identifier: MIT
#include "doctor/machine.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

void bench_doctor_path(const bench_doctor *d, char path[BENCH_DOCTOR_PATH], const char *format, ...)
{
    va_list arguments;
    const size_t used = (size_t)snprintf(path, BENCH_DOCTOR_PATH, "%.300s", d->root);
    va_start(arguments, format);
    vsnprintf(path + used, BENCH_DOCTOR_PATH - used, format, arguments);
    va_end(arguments);
}

char *bench_doctor_read(const bench_doctor *d, const char *path, size_t *size)
{
    char full[BENCH_DOCTOR_PATH];
    bench_doctor_path(d, full, "%s", path);
    FILE *file = fopen(full, "rb");
    size_t used = 0, capacity = 4096, got = 0;
    char *text = file ? malloc(capacity + 1) : NULL;
    while (text && (got = fread(text + used, 1, capacity - used, file)) > 0) {
        used += got;
        if (used < capacity)
            continue;
        char *larger = realloc(text, 2 * capacity + 1);
        if (!larger)
            break;
        text = larger;
        capacity *= 2;
    }
    if (file)
        fclose(file);
    if (text)
        text[used] = '\0';
    if (size)
        *size = used;
    return text;
}

bool bench_doctor_exists(const bench_doctor *d, const char *path)
{
    char full[BENCH_DOCTOR_PATH];
    struct stat status;
    bench_doctor_path(d, full, "%s", path);
    return stat(full, &status) == 0;
}
