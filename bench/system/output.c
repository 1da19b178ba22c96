// SPDX-License-Identifier: MIT
#define _XOPEN_SOURCE 700 // realpath
#include "system/output.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/text.h"
#include "system/terminal.h"

bool bench_output_is_stream(const char *path)
{
    struct stat about;
    if (!strcmp(path, "/dev/stdout") || !strcmp(path, "/dev/stderr") || !strncmp(path, "/dev/fd/", 8))
        return true;
    return stat(path, &about) == 0 && !S_ISREG(about.st_mode) && !S_ISDIR(about.st_mode);
}

// Opened by its name it would lose what it has, were it a file that is added to.
FILE *bench_output_file(const char *path)
{
    int number = !strcmp(path, "/dev/stdout") ? STDOUT_FILENO : !strcmp(path, "/dev/stderr") ? STDERR_FILENO : -1;
    if (number < 0 && (strncmp(path, "/dev/fd/", 8) || sscanf(path + 8, "%d", &number) != 1))
        return fopen(path, "w");
    const int own = fcntl(number, F_DUPFD_CLOEXEC, 3);
    FILE *file = own >= 0 ? fdopen(own, "w") : NULL;
    if (!file && own >= 0)
        close(own);
    return file;
}

FILE *bench_output_temporary(char *pattern)
{
    const int descriptor = mkstemp(pattern);
    FILE *file = descriptor >= 0 ? fdopen(descriptor, "w") : NULL;
    if (file) {
        fcntl(descriptor, F_SETFD, FD_CLOEXEC);
    } else if (descriptor >= 0) {
        close(descriptor);
        unlink(pattern);
    }
    return file;
}

bool bench_output_sync(FILE *file)
{
    return !ferror(file) && fflush(file) == 0 && fsync(fileno(file)) == 0;
}

bool bench_output_place(const char *temporary, const char *path, bool replaces)
{
    if (replaces)
        return rename(temporary, path) == 0;
    if (link(temporary, path) == 0)
        return unlink(temporary) == 0;
    if (errno == EEXIST)
        return false;
    if (access(path, F_OK) != 0) // a file system without links
        return rename(temporary, path) == 0;
    errno = EEXIST;
    return false;
}

static mode_t usual_mode(void)
{
    const mode_t mask = umask(0);
    umask(mask);
    return 0666 & ~mask;
}

// Of a link what it names is replaced, not the link; and who may read what was there may read what comes.
static void open_beside(bench_writing *w, const char *path)
{
    struct stat about;
    const bool is_there = stat(path, &about) == 0;
    char *place = is_there ? realpath(path, NULL) : NULL;
    const size_t length = (size_t)snprintf(w->place, sizeof w->place, "%s", place ? place : path);
    free(place);
    if (is_there && S_ISDIR(about.st_mode))
        errno = EISDIR;
    if (is_there && (S_ISDIR(about.st_mode) || access(path, W_OK) != 0))
        return;
    snprintf(w->temporary, sizeof w->temporary, "%s.XXXXXX", w->place);
    errno = ENAMETOOLONG;
    w->file = length < sizeof w->place ? bench_output_temporary(w->temporary) : NULL;
    const int why = errno;
    if (w->file) {
        fchmod(fileno(w->file), is_there ? about.st_mode & 0777 : usual_mode());
        return;
    }
    w->temporary[0] = '\0';
    errno = why;
    if (is_there && (why == EACCES || why == EPERM || why == ENAMETOOLONG)) // the file may be written, its folder not
        w->file = bench_output_file(path);
}

static bool is_link_to_nothing(const char *path)
{
    struct stat about;
    return lstat(path, &about) == 0 && S_ISLNK(about.st_mode) && stat(path, &about) != 0;
}

FILE *bench_output_begin(bench_writing *w, const char *path)
{
    *w = (bench_writing){.file = NULL};
    if (bench_output_is_stream(path) || is_link_to_nothing(path))
        w->file = bench_output_file(path);
    else
        open_beside(w, path);
    return w->file;
}

FILE *bench_output_open(bench_writing *w, const char *path)
{
    if (!bench_output_begin(w, path))
        bench_say("clbench: %s cannot be written: %s", path, strerror(errno));
    return w->file;
}

bool bench_output_end(bench_writing *w)
{
    const bool is_beside = w->temporary[0] != '\0';
    bool good = !ferror(w->file) && fflush(w->file) == 0 && (!is_beside || bench_output_sync(w->file));
    int why = errno;
    if (fclose(w->file) != 0 && good) {
        why = errno;
        good = false;
    }
    if (good && is_beside && !bench_output_place(w->temporary, w->place, true)) {
        why = errno;
        good = false;
    }
    if (!good && is_beside)
        unlink(w->temporary);
    w->file = NULL;
    errno = why;
    return good;
}

bool bench_output_close(bench_writing *w, const char *path)
{
    const bool good = bench_output_end(w);
    if (!good)
        bench_say("clbench: %s could not be written: %s", path, strerror(errno));
    return good;
}

bool bench_output_write_json(const json_t *document, const char *path)
{
    bench_writing writing;
    FILE *file = bench_output_open(&writing, path);
    if (file) {
        json_dumpf(document, file, JSON_INDENT(1));
        fputc('\n', file);
    }
    return file && bench_output_close(&writing, path);
}

void bench_output_drop(bench_writing *w)
{
    if (w->file)
        fclose(w->file);
    if (w->file && w->temporary[0])
        unlink(w->temporary);
    w->file = NULL;
}

bool bench_output_is_same(const char *a, const char *b)
{
    struct stat one, other;
    return !bench_output_is_stream(a) && stat(a, &one) == 0 && stat(b, &other) == 0 && S_ISREG(one.st_mode) &&
           one.st_dev == other.st_dev && one.st_ino == other.st_ino;
}

bool bench_output_is_apart(const char *output, const char *input, char reason[BENCH_REASON_TEXT])
{
    if (!output || !input || !strcmp(output, "-") || !bench_output_is_same(output, input))
        return true;
    return bench_explain(reason, BENCH_REASON_TEXT,
                         "%.300s is read, and would be lost if it were written: name another file", output);
}

bool bench_output_check(const char *path)
{
    struct stat about;
    if (!path || !strcmp(path, "-") || bench_output_is_stream(path)) // a pipe must not be opened and closed
        return true;
    const bool was_there = lstat(path, &about) == 0;
    FILE *file = fopen(path, "a");
    if (!file)
        bench_say("clbench: %s cannot be written: %s", path, strerror(errno));
    else if (!was_there)
        unlink(path);
    return file && fclose(file) == 0;
}
