// SPDX-License-Identifier: MIT
#include "output.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "terminal.h"

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
    const int own = dup(number);
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

FILE *bench_output_open(const char *path)
{
    FILE *file = bench_output_file(path);
    if (!file)
        bench_say("clbench: %s cannot be written", path);
    return file;
}

bool bench_output_close(FILE *file, const char *path)
{
    bool good = !ferror(file) && fflush(file) == 0;
    good = fclose(file) == 0 && good;
    if (!good)
        bench_say("clbench: %s could not be written", path);
    return good;
}

bool bench_output_check(const char *path)
{
    if (!path || bench_output_is_stream(path)) // a pipe must not be opened and closed
        return true;
    FILE *file = fopen(path, "a");
    if (!file)
        bench_say("clbench: %s cannot be written: %s", path, strerror(errno));
    return file && fclose(file) == 0;
}

void bench_output_take_stdout(bench_options *options, char path[32])
{
    const char **const paths[] = {&options->json_path, &options->csv_path, &options->md_path,
                                  &options->plain_path};
    for (size_t i = 0; i < sizeof paths / sizeof *paths; i++) {
        if (!*paths[i] || strcmp(*paths[i], "-"))
            continue;
        if (!path[0]) {
            fflush(stdout);
            snprintf(path, 32, "/dev/fd/%d", dup(STDOUT_FILENO));
            dup2(STDERR_FILENO, STDOUT_FILENO);
        }
        *paths[i] = path;
    }
}
