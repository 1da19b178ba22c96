// SPDX-License-Identifier: MIT
#include "runtime/kernel_source.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "os/environment.h"
#include "os/read_file.h"

enum { MAX_INCLUDE_DEPTH = 8 };

/*
 * What stands before every program. In C99 an inline function that is not static has no definition for a call that
 * stays a call, and AMD's linker then refuses the program ("undefined hidden symbol"). Other compilers inline all of
 * them, or define them; and PoCL 3.1 makes wrong code of some work-group kernels when their functions are static.
 *
 * On x86 clang warns of every vector of more bits than the CPU's registers that is handed to a function, the language's
 * own among them: caller and callee have to be compiled for the same CPU. In OpenCL they are; and each warning is
 * counted on the stderr of the user's process ("9 warnings generated."). The pragma is there twice for PoCL 7, which
 * goes through a program twice with one clang: in its second turn that takes a pragma that stands where the first
 * turn's last one did for known, and does not obey it.
 */
static const char prelude[] = "#ifdef __AMDGCN__\n"
                              "#define inline static inline\n"
                              "#endif\n"
                              "#if defined(__x86_64__) && defined(__has_warning)\n"
                              "#if __has_warning(\"-Wpsabi\")\n"
                              "#pragma clang diagnostic ignored \"-Wpsabi\"\n"
                              "#pragma clang diagnostic ignored \"-Wpsabi\"\n"
                              "#endif\n"
                              "#endif\n";

static husk_status append_file(const char *file, int depth, husk__text *source, const husk__scope *scope);

// The file's own text: from disk while developing, else as embedded. *owned is to be freed. NULL with errno, or 0.
static const char *find_text(const char *file, char **owned)
{
    const char *directory = husk__environment("HUSK_KERNEL_DIR");
    *owned = NULL;
    errno = 0;
    if (directory) {
        husk__text path = {0};
        husk__text_format(&path, "%s/%s", directory, file);
        if (path.failed)
            errno = ENOMEM;
        else
            *owned = husk__read_file(path.bytes, NULL);
        const int why = errno;
        husk__text_free(&path);
        errno = why;
        return *owned;
    }
    for (size_t i = 0; i < husk__kernel_file_count; ++i)
        if (strcmp(husk__kernel_files[i].name, file) == 0)
            return husk__kernel_files[i].text;
    return NULL;
}

// #include "lib/x.clh" -> "lib/x.clh" into name; false for any other line.
static bool parse_include(const char *line, size_t length, char *name, size_t capacity)
{
    static const char directive[] = "#include \"";
    size_t start = sizeof directive - 1;
    if (length <= start || strncmp(line, directive, start) != 0)
        return false;
    const char *end = memchr(line + start, '"', length - start);
    if (!end || (size_t)(end - line) - start >= capacity)
        return false;
    memcpy(name, line + start, (size_t)(end - line) - start);
    name[(size_t)(end - line) - start] = 0;
    return true;
}

static husk_status append_text(const char *file, const char *text, int depth, husk__text *source,
                               const husk__scope *scope)
{
    husk__text_format(source, "#line 1 \"%s\"\n", file);
    int number = 0;
    for (const char *line = text; *line;) {
        const char *end = strchr(line, '\n');
        size_t length = end ? (size_t)(end - line) : strlen(line);
        char included[256];
        ++number;
        if (parse_include(line, length, included, sizeof included)) {
            husk_status status = append_file(included, depth + 1, source, scope);
            if (status != HUSK_OK)
                return status;
            husk__text_format(source, "#line %d \"%s\"\n", number + 1, file);
        } else {
            husk__text_append(source, line, length);
            husk__text_append(source, "\n", 1);
        }
        line += length + (end ? 1 : 0);
    }
    return HUSK_OK;
}

// Want of file descriptors, and a disk that does not answer, are no verdict on the program, as want of memory is none.
static bool may_be_read_later(int why)
{
    return why == EMFILE || why == ENFILE || why == EIO || why == EAGAIN || why == EINTR;
}

static husk_status append_file(const char *file, int depth, husk__text *source, const husk__scope *scope)
{
    if (depth > MAX_INCLUDE_DEPTH)
        return husk__fail(scope, HUSK_BUILD_FAILED, "kernel file %s: includes go round in a circle", file);
    char *owned;
    const char *text = find_text(file, &owned);
    const int why = errno;
    if (!text && why == ENOMEM)
        return husk__fail(scope, HUSK_OUT_OF_HOST_MEMORY, "no host memory for kernel file %s", file);
    if (!text && may_be_read_later(why)) {
        char reason[128];
        if (strerror_r(why, reason, sizeof reason) != 0)
            snprintf(reason, sizeof reason, "error %d", why);
        return husk__fail(scope, HUSK_IO, "kernel file %s cannot be read in HUSK_KERNEL_DIR: %s", file, reason);
    }
    if (!text) {
        const char *directory = husk__environment("HUSK_KERNEL_DIR");
        return husk__fail(scope, HUSK_BUILD_FAILED, "kernel file %s is not %s%s", file,
                          directory ? "readable in HUSK_KERNEL_DIR=" : "embedded in the library",
                          directory ? directory : "");
    }
    husk_status status = append_text(file, text, depth, source, scope);
    free(owned);
    return status;
}

husk_status husk__kernel_source(const char *file, husk__text *source, const husk__scope *scope)
{
    husk__text_append(source, prelude, sizeof prelude - 1);
    husk_status status = append_file(file, 0, source, scope);
    if (status == HUSK_OK && source->failed)
        status = husk__fail(scope, HUSK_OUT_OF_HOST_MEMORY, "no memory for the source of %s", file);
    return status;
}

// ---- places in build logs ----

// The file, "" where none is known, and its line, which the program's line `number` is.
static long place_of(const husk__text *source, long number, const char **file, int *file_length)
{
    long line = 0;
    *file = "";
    *file_length = 0;
    for (const char *at = source->bytes; *at && number > 0; --number) {
        int name = 0, end = 0;
        long next;
        if (sscanf(at, "#line %ld \"%n%*[^\"\n]%n", &next, &name, &end) == 1 && end > name) {
            line = next - 1;
            *file = at + name;
            *file_length = end - name;
        } else {
            ++line;
        }
        at += strcspn(at, "\n");
        at += *at == '\n';
    }
    return line;
}

char *husk__kernel_log_by_files(const husk__text *source, char *log)
{
    static const char mark[] = "<kernel>:";
    husk__text placed = {0};
    const char *rest = log, *at;
    while (rest && (at = strstr(rest, mark)) != NULL) {
        char *end;
        const char *file;
        int length;
        const long number = strtol(at + sizeof mark - 1, &end, 10);
        const long line = place_of(source, number, &file, &length);
        husk__text_append(&placed, rest, (size_t)(at - rest));
        if (length > 0)
            husk__text_format(&placed, "%.*s:%ld", length, file, line);
        else
            husk__text_append(&placed, at, (size_t)(end - at));
        rest = end;
    }
    if (rest == log) // no place, or no log
        return log;
    husk__text_append(&placed, rest, strlen(rest));
    if (placed.failed) {
        husk__text_free(&placed);
        return log;
    }
    free(log);
    return placed.bytes;
}
