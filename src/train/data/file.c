// SPDX-License-Identifier: MIT
#define _DEFAULT_SOURCE // flock
#include "train/data/file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define PART ".part"

enum { MOST_AT_ONCE = 1 << 30, ROOM_FOR_OWN = 40, ATTEMPTS = 100 };

// ---- texts ----

husk_status husk__source_fail(const husk__source *source, husk_status status, const char *format, ...)
{
    husk_error *error = source->error;
    if (!error)
        return status;
    error->status = status;
    error->opencl_code = 0;
    size_t used = 0;
    const size_t capacity = sizeof error->text;
    // A path of any length leaves room for the rule.
    const int begun = snprintf(error->text, capacity, "%s: %.1024s%s", source->call, source->path ? source->path : "",
                               source->path ? ": " : "");
    if (begun > 0)
        used = (size_t)begun < capacity ? (size_t)begun : capacity - 1;
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(error->text + used, capacity - used, format, arguments);
    va_end(arguments);
    for (char *at = error->text; *at; ++at)
        if ((unsigned char)*at < 0x20 || *at == 0x7f)
            *at = '?';
    return status;
}

husk_status husk__source_fail_system(const husk__source *source, const char *what)
{
    const int code = errno;
    char text[256] = "";
    if (strerror_r(code, text, sizeof text) != 0)
        snprintf(text, sizeof text, "error %d", code);
    return husk__source_fail(source, code == ENOMEM ? HUSK_OUT_OF_HOST_MEMORY : HUSK_IO, "%s: %s", what, text);
}

// ---- reading ----

husk_status husk__file_open(const husk__source *source, int *descriptor, uint64_t *size)
{
    *descriptor = open(source->path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    if (*descriptor < 0)
        return husk__source_fail_system(source, "it cannot be opened");
    struct stat about;
    husk_status status = HUSK_OK;
    if (fstat(*descriptor, &about) != 0)
        status = husk__source_fail_system(source, "it cannot be looked at");
    else if (!S_ISREG(about.st_mode))
        status = husk__source_fail(source, HUSK_INVALID_ARGUMENT, "it is no plain file");
    if (status) {
        close(*descriptor);
        *descriptor = -1;
        return status;
    }
    *size = (uint64_t)about.st_size;
    return HUSK_OK;
}

husk_status husk__file_read(const husk__source *source, int descriptor, uint64_t offset, void *bytes, uint64_t size)
{
    char *to = bytes;
    while (size) {
        const size_t most = size < MOST_AT_ONCE ? (size_t)size : MOST_AT_ONCE;
        const ssize_t got = pread(descriptor, to, most, (off_t)offset);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return husk__source_fail_system(source, "it cannot be read");
        if (got == 0)
            return husk__source_fail(source, HUSK_IO, "it has become shorter while it was read");
        to += got;
        offset += (uint64_t)got;
        size -= (uint64_t)got;
    }
    return HUSK_OK;
}

husk_status husk__file_load(const husk__source *source, unsigned char **bytes, uint64_t *size)
{
    int descriptor;
    husk_status status = husk__file_open(source, &descriptor, size);
    if (status)
        return status;
    *bytes = *size < SIZE_MAX ? malloc((size_t)*size + 1) : NULL;
    if (!*bytes)
        status = husk__source_fail(source, HUSK_OUT_OF_HOST_MEMORY, "there is no memory for its %llu bytes",
                                   (unsigned long long)*size);
    else
        status = husk__file_read(source, descriptor, 0, *bytes, *size);
    close(descriptor);
    if (status) {
        free(*bytes);
        *bytes = NULL;
        return status;
    }
    (*bytes)[*size] = 0;
    return HUSK_OK;
}

// ---- writing ----

static void end(husk__part *part)
{
    if (part->descriptor >= 0)
        close(part->descriptor);
    free(part->path);
    part->path = NULL;
    part->descriptor = -1;
}

void husk__part_drop(husk__part *part)
{
    if (part->descriptor >= 0)
        unlink(part->path);
    end(part);
}

static husk_status fail(husk__part *part, const char *what)
{
    const husk_status status = husk__source_fail_system(part->source, what);
    husk__part_drop(part);
    return status;
}

// Whether the open file is still what its name stands for: another writer may have renamed it before it was locked.
static bool is_current(const husk__part *part, const struct stat *ours)
{
    struct stat named;
    return stat(part->path, &named) == 0 && ours->st_dev == named.st_dev && ours->st_ino == named.st_ino;
}

static int open_part(const char *path, bool *is_new)
{
    const int flags = O_WRONLY | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC;
    const int descriptor = open(path, flags | O_EXCL, 0666);
    *is_new = descriptor >= 0;
    return *is_new || errno != EEXIST ? descriptor : open(path, flags, 0666);
}

// Some network file systems have no locks.
static bool has_no_locks(int code)
{
    return code == ENOSYS || code == ENOLCK || code == EOPNOTSUPP || code == EINVAL;
}

// Without a lock: under a name that no other writer has, so that the last one's whole file stays.
static husk_status begin_unlocked(husk__part *part, bool is_new)
{
    char *const behind = part->path + strlen(part->path);
    if (is_new)
        unlink(part->path);
    close(part->descriptor);
    part->descriptor = -1;
    for (unsigned i = 0; i < ATTEMPTS && part->descriptor < 0 && (i == 0 || errno == EEXIST); i++) {
        struct timespec now;
        clock_gettime(CLOCK_REALTIME, &now);
        snprintf(behind, ROOM_FOR_OWN, ".%x-%lx-%x", (unsigned)getpid(), (unsigned long)now.tv_nsec, i);
        part->descriptor = open(part->path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
    }
    return part->descriptor < 0 ? fail(part, "\"" PART "\" cannot be made beside it") : HUSK_OK;
}

husk_status husk__part_begin(husk__part *part, const husk__source *source)
{
    const size_t length = strlen(source->path);
    *part = (husk__part){.source = source, .path = malloc(length + sizeof PART + ROOM_FOR_OWN), .descriptor = -1};
    if (!part->path)
        return husk__source_fail(source, HUSK_OUT_OF_HOST_MEMORY, "there is no memory for its name");
    memcpy(part->path, source->path, length);
    memcpy(part->path + length, PART, sizeof PART);
    bool is_new;
    part->descriptor = open_part(part->path, &is_new);
    if (part->descriptor < 0)
        return fail(part, "\"" PART "\" cannot be made beside it");
    struct stat ours;
    int locked;
    while ((locked = flock(part->descriptor, LOCK_EX | LOCK_NB)) != 0 && errno == EINTR)
        ;
    if (locked != 0 && has_no_locks(errno))
        return begin_unlocked(part, is_new);
    if (locked != 0 && errno != EWOULDBLOCK) {
        const husk_status status = husk__source_fail_system(source, "\"" PART "\" beside it cannot be locked");
        if (is_new)
            unlink(part->path);
        end(part); // whose an older one is nobody knows
        return status;
    }
    const bool is_locked = locked == 0;
    if (is_locked && fstat(part->descriptor, &ours) != 0)
        return fail(part, "\"" PART "\" beside it cannot be looked at");
    if (!is_locked || !is_current(part, &ours)) {
        end(part); // it is another one's
        return husk__source_fail(source, HUSK_IO, "another process is writing it");
    }
    if (ftruncate(part->descriptor, 0) != 0)
        return fail(part, "\"" PART "\" beside it cannot be written");
    return HUSK_OK;
}

// At offset, or where the last one ended for -1.
static husk_status write_bytes(husk__part *part, int64_t offset, const void *bytes, uint64_t size)
{
    const char *from = bytes;
    while (size) {
        const size_t most = size < MOST_AT_ONCE ? (size_t)size : MOST_AT_ONCE;
        const ssize_t done =
            offset < 0 ? write(part->descriptor, from, most) : pwrite(part->descriptor, from, most, (off_t)offset);
        if (done < 0 && errno == EINTR)
            continue;
        if (done < 0)
            return fail(part, "it cannot be written; what was there stays");
        from += done;
        size -= (uint64_t)done;
        if (offset >= 0)
            offset += done;
    }
    return HUSK_OK;
}

husk_status husk__part_write(husk__part *part, const void *bytes, uint64_t size)
{
    return write_bytes(part, -1, bytes, size);
}

husk_status husk__part_write_at(husk__part *part, uint64_t offset, const void *bytes, uint64_t size)
{
    return write_bytes(part, (int64_t)offset, bytes, size);
}

// A renamed file is there after a power cut only when its folder was synced, too. Cuts path off behind it.
static bool sync_folder(char *path)
{
    char *slash = strrchr(path, '/');
    if (slash)
        slash[slash == path] = '\0';
    const int descriptor = open(slash ? path : ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    // A folder that may be written and not read cannot be opened, and some file systems do not sync folders.
    if (descriptor < 0)
        return errno == EACCES;
    const bool done = fsync(descriptor) == 0 || errno == EINVAL;
    const int code = errno;
    close(descriptor);
    errno = code;
    return done;
}

husk_status husk__part_commit(husk__part *part)
{
    // Renamed before it is closed: until then nobody else may write it.
    if (fsync(part->descriptor) != 0)
        return fail(part, "it cannot be synced; what was there stays");
    if (rename(part->path, part->source->path) != 0)
        return fail(part, "it cannot take its place; what was there stays");
    const husk__source *source = part->source;
    const int descriptor = part->descriptor;
    part->descriptor = -1;
    const bool is_synced = close(descriptor) == 0 && sync_folder(part->path); // the same folder
    const int code = errno;
    end(part);
    errno = code;
    return is_synced ? HUSK_OK : husk__source_fail_system(source, "it is written, but its folder cannot be synced");
}
