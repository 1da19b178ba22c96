// SPDX-License-Identifier: MIT
// A log in columns.
#include "train/loop/log.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "train/error.h"

enum { MOST_COLUMNS = 64, MOST_NAME = 60, NUMBER = 32 };

struct husk_log {
    int descriptor;
    off_t torn_at; // where a row begins that was written in part and is there still; -1: none is
    size_t count;
    char *path;
};

// ---- what it begins with ----

static husk_status check_columns(const husk_log_params *own, const husk__train_scope *scope)
{
    if (own->count < 1 || own->count > MOST_COLUMNS)
        return husk__train_reject(scope, "params", "%zu columns; 1 to %d are possible", own->count, MOST_COLUMNS);
    if (!own->columns)
        return husk__train_reject(scope, "params", "columns is NULL");
    for (size_t c = 0; c < own->count; c++) {
        const char *name = own->columns[c];
        size_t length = 0;
        while (name && name[length] > 0x20 && name[length] < 0x7f && length <= MOST_NAME)
            length++;
        if (length < 1 || length > MOST_NAME || name[length])
            return husk__train_reject(scope, "params", "the name of column %zu has to be 1 to %d printable characters",
                                      c, MOST_NAME);
    }
    return HUSK_OK;
}

// "# step loss\n"
static char *header_of(const husk_log_params *own)
{
    size_t room = 3;
    for (size_t c = 0; c < own->count; c++)
        room += strlen(own->columns[c]) + 1;
    char *header = malloc(room), *at = header;
    if (!header)
        return NULL;
    *at++ = '#';
    for (size_t c = 0; c < own->count; c++) {
        size_t length = strlen(own->columns[c]);
        *at++ = ' ';
        memcpy(at, own->columns[c], length);
        at += length;
    }
    *at++ = '\n';
    *at = 0;
    return header;
}

// ---- what is there already ----

// A number as husk_log_write makes them. strtod would want the locale's decimal point.
static const char *read_number(const char *at, double *number)
{
    const char *digits = at + (*at == '-');
    double value = 0;
    int scale = 0, exponent = 0;
    bool has_digit = false;
    if (strncmp(digits, "nan", 3) == 0 || strncmp(digits, "inf", 3) == 0) {
        *number = digits[0] == 'n' ? (double)NAN : *at == '-' ? (double)-INFINITY : (double)INFINITY;
        return digits + 3;
    }
    const char *from = digits;
    for (bool behind = false; (*from >= '0' && *from <= '9') || (*from == '.' && !behind); from++)
        if (*from == '.') {
            behind = true;
        } else {
            const bool counts = value < 1e18; // more digits than a double has only move the point
            value = counts ? value * 10 + (*from - '0') : value;
            scale += counts ? -behind : !behind;
            has_digit = true;
        }
    if (!has_digit)
        return NULL;
    if (*from == 'e') {
        bool is_less = from[1] == '-';
        from += from[1] == '-' || from[1] == '+' ? 2 : 1;
        if (*from < '0' || *from > '9')
            return NULL;
        for (; *from >= '0' && *from <= '9' && exponent < 1000; from++)
            exponent = exponent * 10 + (*from - '0');
        exponent = is_less ? -exponent : exponent;
    }
    exponent += scale;
    for (; exponent < -300; exponent += 300) // 10^324 is infinite, and what it divides is not always 0
        value /= 1e300;
    value = exponent < 0 ? value / pow(10, -exponent) : value > 0 ? value * pow(10, exponent) : value;
    *number = *at == '-' ? -value : value;
    return from;
}

// One line: as many numbers as there are columns.
static bool read_row(const char *line, const char *end, size_t count, double *first)
{
    double number;
    for (size_t c = 0; c < count; c++) {
        line = line && (c == 0 || *line++ == ' ') ? read_number(line, &number) : NULL;
        if (c == 0 && line)
            *first = number;
    }
    return line == end;
}

husk_status husk__log_end(const char *text, uint64_t bytes, const char *header, const husk_log_params *own,
                          uint64_t *stays, const husk__source *source)
{
    size_t length = strlen(header);
    *stays = 0;
    if (bytes < length && memcmp(text, header, bytes) == 0) // it was killed very early
        return HUSK_OK;
    if (bytes < length || memcmp(text, header, length) != 0)
        return husk__source_fail(source, HUSK_INVALID_ARGUMENT, "its first line is not \"%.*s\"",
                                 (int)(length - 1 < 400 ? length - 1 : 400), header);
    const char *at = text + length, *past = text + bytes, *end;
    bool drops = false;
    *stays = length;
    for (long row = 2; at < past && (end = memchr(at, '\n', (size_t)(past - at))); at = end + 1, row++) {
        double first = 0;
        if (!read_row(at, end, own->count, &first))
            return husk__source_fail(source, HUSK_INVALID_ARGUMENT, "line %ld has not got %zu numbers", row,
                                     own->count);
        drops = drops || (own->mode == HUSK_LOG_RESUME && !(first < own->resume_at));
        if (!drops)
            *stays = (uint64_t)(end + 1 - text);
    }
    return HUSK_OK;
}

// ---- the file ----

static husk_status write_all(int descriptor, const char *text, size_t bytes, const husk__source *source)
{
    while (bytes) {
        ssize_t written = write(descriptor, text, bytes);
        if (written < 0 && errno == EINTR)
            continue;
        if (written < 0)
            return husk__source_fail_system(source, "it cannot be written");
        text += written;
        bytes -= (size_t)written;
    }
    return HUSK_OK;
}

static husk_status resume(const husk_log_params *own, const char *header, int *descriptor, const husk__source *source)
{
    unsigned char *text = NULL;
    uint64_t bytes = 0, stays = 0;
    husk_status status = husk__file_load(source, &text, &bytes);
    if (!status)
        status = husk__log_end((const char *)text, bytes, header, own, &stays, source);
    free(text);
    if (status)
        return status;
    *descriptor = open(source->path, O_WRONLY | O_APPEND | O_CLOEXEC);
    if (*descriptor < 0)
        return husk__source_fail_system(source, "it cannot be opened for writing");
    if (ftruncate(*descriptor, (off_t)stays) != 0)
        return husk__source_fail_system(source, "it cannot be cut off");
    return stays ? HUSK_OK : write_all(*descriptor, header, strlen(header), source);
}

static husk_status begin_anew(const char *header, int *descriptor, const husk__source *source)
{
    *descriptor = open(source->path, O_WRONLY | O_APPEND | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    if (*descriptor < 0)
        return husk__source_fail_system(source, "it cannot be opened for writing");
    return write_all(*descriptor, header, strlen(header), source);
}

static husk_status open_log(const char *path, const husk_log_params *own, husk_log *log, const husk__train_scope *scope)
{
    const husk__source source = {scope->call, path, scope->error};
    char *header = header_of(own);
    log->path = strdup(path);
    if (!header || !log->path) {
        free(header);
        return husk__train_no_memory(scope);
    }
    struct stat about;
    bool is_there = stat(path, &about) == 0;
    husk_status status = own->mode != HUSK_LOG_ANEW && is_there ? resume(own, header, &log->descriptor, &source)
                                                                : begin_anew(header, &log->descriptor, &source);
    free(header);
    return status;
}

husk_status husk_log_open(const char *path, const husk_log_params *params, husk_log **log, husk_error *error)
{
    const husk__train_scope scope = {"husk_log_open", error};
    husk_log_params own;
    if (!log)
        return husk__train_reject(&scope, "log", "it is NULL");
    *log = NULL;
    if (!path)
        return husk__train_reject(&scope, "path", "it is NULL");
    if (!params)
        return husk__train_reject(&scope, "params", "it is NULL");
    husk_status status = husk__train_struct(&own, sizeof own, "HUSK_LOG_PARAMS", params, "params", &scope);
    if (!status)
        status = check_columns(&own, &scope);
    if (!status && (unsigned)own.mode > HUSK_LOG_RESUME)
        status = husk__train_reject(&scope, "params", "mode %u does not exist", (unsigned)own.mode);
    if (!status && own.mode == HUSK_LOG_RESUME && isnan(own.resume_at))
        status = husk__train_reject(&scope, "params", "resume_at is NaN");
    if (status)
        return status;
    husk_log *made = calloc(1, sizeof *made);
    if (!made)
        return husk__train_no_memory(&scope);
    made->descriptor = -1;
    made->torn_at = -1;
    made->count = own.count;
    status = open_log(path, &own, made, &scope);
    if (status) {
        husk_log_close(made);
        return status;
    }
    *log = made;
    return HUSK_OK;
}

// Whole numbers are whole; the decimal point is one in every locale.
static size_t number_text(double number, char text[NUMBER])
{
    bool is_whole = number == floor(number) && fabs(number) < 9007199254740992.0;
    if (isnan(number))
        snprintf(text, NUMBER, "nan");
    else
        snprintf(text, NUMBER, is_whole ? "%.0f" : "%.9g", number);
    char *to = text;
    for (const char *from = text; *from; from++)
        if (strchr("0123456789+-einfa", *from))
            *to++ = *from;
        else if (to > text && to[-1] != '.')
            *to++ = '.';
    *to = 0;
    return (size_t)(to - text);
}

// All of it or nothing: what is left of a row would be read as the beginning of the next one. What has no length, as a
// pipe, is not cut off.
static husk_status write_row(husk_log *log, const char *row, size_t bytes, const husk__source *source)
{
    if (log->torn_at >= 0 && ftruncate(log->descriptor, log->torn_at) != 0)
        return husk__source_fail_system(source, "a row that was written in part cannot be cut off");
    log->torn_at = -1;
    const off_t begin = lseek(log->descriptor, 0, SEEK_END);
    const husk_status status = write_all(log->descriptor, row, bytes, source);
    if (status && begin >= 0 && ftruncate(log->descriptor, begin) != 0)
        log->torn_at = begin;
    return status;
}

husk_status husk_log_write(husk_log *log, const double *values, husk_error *error)
{
    const husk__train_scope scope = {"husk_log_write", error};
    if (!log)
        return husk__train_reject(&scope, "log", "it is NULL");
    if (!values)
        return husk__train_reject(&scope, "values", "it is NULL");
    const husk__source source = {scope.call, log->path, error};
    char line[MOST_COLUMNS * NUMBER];
    size_t used = 0;
    for (size_t c = 0; c < log->count; c++) {
        used += number_text(values[c], line + used);
        line[used++] = c + 1 < log->count ? ' ' : '\n';
    }
    return write_row(log, line, used, &source);
}

void husk_log_close(husk_log *log)
{
    if (!log)
        return;
    if (log->descriptor >= 0)
        close(log->descriptor);
    free(log->path);
    free(log);
}
