// SPDX-License-Identifier: MIT
#include "os/write_file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

// Behind it are the six characters that mkstemp chooses.
#define TEMPORARY ".tmp."
enum { TEMPORARY_ENDING = sizeof TEMPORARY - 1 + 6, OLD_SECONDS = 3600 };

static bool write_all(int descriptor, const char *bytes, size_t size)
{
    size_t done = 0;
    while (done < size) {
        ssize_t put = write(descriptor, bytes + done, size - done);
        if (put < 0 && errno == EINTR)
            continue;
        if (put <= 0)
            return false;
        done += (size_t)put;
    }
    return true;
}

// A new file, which gets its name when it is whole and on the disk. Takes over the descriptor.
static bool place(int descriptor, const char *temporary, const char *path, const void *bytes, size_t size)
{
    if (descriptor < 0)
        return false;
    bool done = write_all(descriptor, bytes, size) && fsync(descriptor) == 0;
    done = close(descriptor) == 0 && done;
    done = done && rename(temporary, path) == 0;
    if (!done)
        unlink(temporary);
    return done;
}

bool husk__write_file_atomically(const char *path, const void *bytes, size_t size)
{
    char temporary[4096];
    int length = snprintf(temporary, sizeof temporary, "%s" TEMPORARY "XXXXXX", path);
    if (length < 0 || (size_t)length >= sizeof temporary)
        return false;
    return place(mkstemp(temporary), temporary, path, bytes, size);
}

// Into what is there: a device, a pipe, what a link leads to.
static bool write_in_place(const char *path, const void *bytes, size_t size)
{
    const int descriptor = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    const bool done = descriptor >= 0 && write_all(descriptor, bytes, size);
    return descriptor >= 0 && close(descriptor) == 0 && done;
}

bool husk__write_named_file(const char *path, const void *bytes, size_t size)
{
    enum { TRIES = 100 };
    struct stat before;
    char temporary[4096];
    const bool is_there = lstat(path, &before) == 0;
    if (is_there && !S_ISREG(before.st_mode))
        return write_in_place(path, bytes, size);
    int descriptor = -1;
    errno = EEXIST;
    for (unsigned i = 0; i < TRIES && descriptor < 0 && errno == EEXIST; ++i) {
        const int length =
            snprintf(temporary, sizeof temporary, "%s" TEMPORARY "%06x", path, ((unsigned)getpid() + i) & 0xffffff);
        if (length < 0 || (size_t)length >= sizeof temporary)
            return false;
        descriptor = open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666); // less what the umask forbids
    }
    if (descriptor >= 0 && is_there)
        (void)!fchmod(descriptor, before.st_mode & 0777);
    return place(descriptor, temporary, path, bytes, size);
}

static bool is_as_old(const struct stat *status, int64_t seconds)
{
    const int64_t age = (int64_t)time(NULL) - (int64_t)status->st_mtime;
    return age > seconds || age < -seconds;
}

bool husk__is_old(const char *path, int64_t seconds)
{
    struct stat status;
    return lstat(path, &status) != 0 || is_as_old(&status, seconds);
}

static bool is_temporary(const char *name, bool is_ours(const char *name, size_t length))
{
    size_t length = strlen(name);
    return length > TEMPORARY_ENDING &&
           strncmp(name + length - TEMPORARY_ENDING, TEMPORARY, sizeof TEMPORARY - 1) == 0 &&
           is_ours(name, length - TEMPORARY_ENDING);
}

void husk__remove_old_temporaries(const char *folder, bool is_ours(const char *name, size_t length))
{
    DIR *directory = opendir(folder);
    for (struct dirent *entry; directory && (entry = readdir(directory));) {
        struct stat status;
        if (is_temporary(entry->d_name, is_ours) &&
            fstatat(dirfd(directory), entry->d_name, &status, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(status.st_mode) &&
            is_as_old(&status, OLD_SECONDS))
            unlinkat(dirfd(directory), entry->d_name, 0);
    }
    if (directory)
        closedir(directory);
}
